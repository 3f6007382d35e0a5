package pgserver

import (
	"errors"
	"os/user"
	"testing"
)

// accounts looks up users among the given names, with user id 70 and group id 71.
func accounts(names ...string) func(string) (*user.User, error) {
	return func(name string) (*user.User, error) {
		for _, known := range names {
			if known == name {
				return &user.User{Username: name, Uid: "70", Gid: "71"}, nil
			}
		}
		return nil, errors.New("unknown")
	}
}

func TestAccountForRoot(t *testing.T) {
	for want, known := range map[string][]string{
		"postgres": {"nobody", "postgres"},
		"nobody":   {"daemon", "nobody"},
	} {
		as, err := accountFor(0, accounts(known...))
		if err != nil {
			t.Fatal(err)
		}
		lent := as.lent
		if as.name != want || lent == nil || lent.Uid != 70 || lent.Gid != 71 {
			t.Errorf("account %+v with %+v, want %s", as, lent, want)
		}
	}
	if as, err := accountFor(0, accounts("root")); err == nil {
		t.Errorf("root runs the server as %+v", as)
	}
}

func TestAccountForUser(t *testing.T) {
	as, err := accountFor(1000, accounts("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	if as.lent != nil {
		t.Errorf("a user runs the server as %+v", as)
	}
}
