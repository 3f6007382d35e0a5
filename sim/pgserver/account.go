package pgserver

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// account is who the server runs as. PostgreSQL refuses to run as root, so root lends it an
// unprivileged account; everybody else runs it as themselves.
type account struct {
	name string
	lent *syscall.Credential // nil: the caller's own
}

// serverAccount picks the account for the current process.
func serverAccount() (*account, error) {
	return accountFor(os.Geteuid(), user.Lookup)
}

// accountFor picks the account for a caller with the effective user id uid.
func accountFor(uid int, lookup func(string) (*user.User, error)) (*account, error) {
	if uid != 0 {
		return &account{name: "uid " + strconv.Itoa(uid)}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := lookup(name)
		if err != nil {
			continue
		}
		return lend(found)
	}
	return nil, fmt.Errorf("the server does not run as root, " +
		"and there is no account postgres or nobody to run it as")
}

func lend(u *user.User) (*account, error) {
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("account %s: user id: %w", u.Username, err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("account %s: group id: %w", u.Username, err)
	}
	return &account{
		name: u.Username,
		lent: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)},
	}, nil
}
