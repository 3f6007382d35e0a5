package integration_test

import (
	"archive/zip"
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ordeal/sim/pgserver"
)

// A user without root's rights downloads a server from a mirror, here one on the loopback
// address that offers the programs of this machine. Of two that start at once only one does.
func TestDownload(t *testing.T) {
	m := newMirror(t)
	binary, as := lend(t, "nobody")
	cache := publicFolder(t)
	env := []string{
		"ORDEAL_POSTGRES=download",
		"ORDEAL_DATABASE_URL=",
		"ORDEAL_POSTGRES_MIRROR=" + m.server.URL,
		"ORDEAL_POSTGRES_CACHE=" + cache,
	}
	temporary := publicFolder(t)
	env = append(env, "TMPDIR="+temporary)
	first, second := launch(t, binary, as, env...), launch(t, binary, as, env...)
	for _, p := range []*player{first, second} {
		p.await(t)
		at := placeOf(t, p.url)
		children := childrenOf(t, at.postmaster)
		must(t, p.command.Process.Kill())
		at.mustVanish(t, children)
	}
	if got := m.jars.Load(); got != 1 {
		t.Fatalf("downloaded %d times, want once", got)
	}
	left, err := os.ReadDir(temporary)
	must(t, err)
	if len(left) != 0 {
		t.Fatalf("left in the temporary folder: %v", left)
	}
}

// A user that is killed while the download is tried leaves nothing but the cache.
func TestDownloadGivenUp(t *testing.T) {
	m := newMirror(t)
	binary, as := lend(t, "nobody")
	temporary := publicFolder(t)
	p := launch(t, binary, as,
		"ORDEAL_POSTGRES=download",
		"ORDEAL_DATABASE_URL=",
		"ORDEAL_POSTGRES_MIRROR="+m.server.URL,
		"ORDEAL_POSTGRES_CACHE="+publicFolder(t),
		"TMPDIR="+temporary)
	deadline := time.Now().Add(time.Minute)
	for len(glob(t, filepath.Join(temporary, "*", "data", "base"))) == 0 {
		if time.Now().After(deadline) {
			t.Fatal("no download is tried")
		}
		time.Sleep(time.Millisecond)
	}
	must(t, p.command.Process.Kill())
	for len(glob(t, filepath.Join(temporary, "*"))) != 0 {
		if time.Now().After(deadline) {
			t.Fatalf("left behind: %v", glob(t, filepath.Join(temporary, "*")))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Root is told at once that a download is nothing for it.
func TestDownloadRefusesRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		return // only root is refused
	}
	t.Setenv("ORDEAL_POSTGRES", "download")
	s, err := pgserver.Start(context.Background(), pgserver.Options{})
	if err == nil {
		s.Close()
		t.Fatal("started")
	}
	if !strings.Contains(err.Error(), "root cannot use a download") {
		t.Fatal(err)
	}
}

// mirror serves one archive for every version and system that is asked for.
type mirror struct {
	server *httptest.Server
	jar    []byte
	jars   atomic.Int64
}

func newMirror(t *testing.T) *mirror {
	t.Helper()
	m := &mirror{jar: jar(t)}
	m.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, ".jar") {
			http.NotFound(w, r)
			return
		}
		m.jars.Add(1)
		w.Write(m.jar)
	}))
	t.Cleanup(m.server.Close)
	return m
}

// jar is a zip archive with a tar.xz archive with the server programs of this machine.
func jar(t *testing.T) []byte {
	t.Helper()
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
		must(t, err)
		initdb = found[len(found)-1]
	}
	initdb, err = filepath.EvalSymlinks(initdb)
	must(t, err)
	above := filepath.Dir(filepath.Dir(initdb))
	txz, err := exec.Command("tar", "-C", above, "-I", "xz -0", "-chf", "-",
		"bin/initdb", "bin/postgres", "bin/pg_ctl",
		"lib/dict_snowball.so", "lib/plpgsql.so", "lib/libpqwalreceiver.so").Output()
	must(t, err)
	var text bytes.Buffer
	archive := zip.NewWriter(&text)
	entry, err := archive.Create("postgres.txz")
	must(t, err)
	_, err = entry.Write(txz)
	must(t, err)
	must(t, archive.Close())
	return text.Bytes()
}
