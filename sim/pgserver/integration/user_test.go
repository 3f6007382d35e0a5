package integration_test

import (
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Root and a normal user both get a server. Run as root, this lends accounts to the players;
// run as anybody else, it is such a user itself.
func TestEveryUserGetsAServer(t *testing.T) {
	for _, name := range []string{"postgres", "nobody"} {
		t.Run(name, func(t *testing.T) {
			binary, as := lend(t, name)
			p := start(t, binary, as, "ORDEAL_POSTGRES=local", "ORDEAL_DATABASE_URL=")
			at := placeOf(t, p.url)
			children := childrenOf(t, at.postmaster)
			must(t, p.command.Process.Kill())
			at.mustVanish(t, children)
		})
	}
}

// A temporary folder too deep for a socket's path is not used.
func TestDeepTemporaryFolder(t *testing.T) {
	deep := filepath.Join(publicFolder(t), strings.Repeat("much-too-long-", 8))
	must(t, os.Mkdir(deep, 0o777))
	must(t, os.Chmod(deep, 0o777))
	p := start(t, self(t), nil, "ORDEAL_POSTGRES=local", "ORDEAL_DATABASE_URL=", "TMPDIR="+deep)
	at := placeOf(t, p.url)
	if filepath.Dir(at.dir) == deep {
		t.Fatalf("folder %s", at.dir)
	}
	p.order(t, "close")
	at.mustVanish(t, nil)
}

// A temporary folder that the server's account cannot enter is not used either.
func TestClosedTemporaryFolder(t *testing.T) {
	closed := filepath.Join(t.TempDir(), "closed")
	must(t, os.Mkdir(closed, 0o700))
	mode := os.FileMode(0o700) // to root's other account that is closed already
	if os.Geteuid() != 0 {
		mode = 0
	}
	must(t, os.Chmod(closed, mode))
	p := start(t, self(t), nil, "ORDEAL_POSTGRES=local", "ORDEAL_DATABASE_URL=", "TMPDIR="+closed)
	config, err := pgx.ParseConfig(p.url)
	must(t, err)
	if filepath.Dir(config.Host) == closed {
		t.Fatalf("folder %s", config.Host)
	}
	p.order(t, "close")
}

// lend returns a copy of the test binary that the account may run, and its credential; for
// who is not root, both are its own.
func lend(t *testing.T, name string) (string, *syscall.Credential) {
	t.Helper()
	if os.Geteuid() != 0 {
		return self(t), nil
	}
	account, err := user.Lookup(name)
	must(t, err)
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	must(t, err)
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	must(t, err)
	dir := publicFolder(t)
	binary := filepath.Join(dir, "player")
	copyFile(t, self(t), binary)
	return binary, &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// publicFolder is a temporary folder that everybody may enter and write to.
func publicFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pgserver-test-")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	must(t, os.Chmod(dir, 0o777))
	return dir
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	must(t, err)
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	must(t, err)
	_, err = io.Copy(out, in)
	must(t, err)
	must(t, out.Close())
}
