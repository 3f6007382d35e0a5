package integration_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ordeal/sim/pgserver"
)

// The throw-away server waits for no disk; the durable one does; both take further settings.
func TestSettings(t *testing.T) {
	for _, c := range []struct {
		name    string
		options pgserver.Options
		want    map[string]string
	}{
		{
			name:    "throw-away",
			options: pgserver.Options{Settings: map[string]string{"deadlock_timeout": "1h"}},
			want: map[string]string{
				"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
				"autovacuum": "off", "wal_level": "minimal", "deadlock_timeout": "1h",
				"listen_addresses": "", "server_encoding": "UTF8", "lc_collate": "C",
			},
		},
		{
			name: "durable",
			options: pgserver.Options{
				Durable:  true,
				Settings: map[string]string{"application_name": `a 'quoted\' name`},
			},
			want: map[string]string{
				"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on",
				"autovacuum": "on", "wal_level": "replica",
				"application_name": `a 'quoted\' name`,
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn := open(t, private(t, c.options).URL())
			for name, want := range c.want {
				if name == "lc_collate" {
					name = "datcollate"
				}
				if got := ask(t, conn, show(name)); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
		})
	}
}

func show(name string) string {
	if name == "datcollate" {
		return `SELECT datcollate::text FROM pg_database WHERE datname = current_database()`
	}
	return `SHOW ` + pgx.Identifier{name}.Sanitize()
}

// What the caller is told about a private server is so.
func TestAboutItself(t *testing.T) {
	var log bytes.Buffer
	s := private(t, pgserver.Options{Log: &log})
	if s.Way() != "local" || !s.CanSignal() {
		t.Fatalf("way %s, can signal %t", s.Way(), s.CanSignal())
	}
	said := "postgres: local " + s.Version() + " "
	if !strings.HasPrefix(log.String(), said) || strings.Count(log.String(), "\n") != 1 {
		t.Fatalf("log %q", log.String())
	}
	conn := open(t, s.URL())
	if got := ask(t, conn, `SHOW server_version`); !strings.HasPrefix(got, s.Version()) {
		t.Fatalf("version %s, server says %s", s.Version(), got)
	}
	must(t, syscall.Kill(number(t, ask(t, conn, `SELECT pg_backend_pid()::text`)), 0))
	must(t, s.Close())
	must(t, s.Close())
}

// Several servers at once have nothing in common.
func TestServersAtOnce(t *testing.T) {
	t.Setenv("ORDEAL_POSTGRES", "local")
	var servers [3]*pgserver.Server
	var failed [3]error
	var all sync.WaitGroup
	for i := range servers {
		all.Go(func() {
			o := pgserver.Options{TCP: i > 0}
			servers[i], failed[i] = pgserver.Start(context.Background(), o)
		})
	}
	all.Wait()
	must(t, errors.Join(failed[:]...))
	seen := make(map[string]bool)
	for _, s := range servers {
		t.Cleanup(func() { must(t, s.Close()) })
		must(t, s.CreateDatabase(context.Background(), "same_name"))
		conn := open(t, s.DatabaseURL("same_name"))
		seen[ask(t, conn, `SELECT system_identifier::text FROM pg_control_system()`)] = true
	}
	if len(seen) != len(servers) {
		t.Fatalf("%d different servers, want %d", len(seen), len(servers))
	}
}

// A server on TCP is on the loopback address only and wants its password.
func TestTCP(t *testing.T) {
	s := private(t, pgserver.Options{TCP: true})
	config, err := pgx.ParseConfig(s.URL())
	must(t, err)
	if config.Host != "127.0.0.1" {
		t.Fatalf("host %s", config.Host)
	}
	conn := open(t, s.URL())
	if got := ask(t, conn, `SHOW listen_addresses`); got != "127.0.0.1" {
		t.Fatalf("listens on %q", got)
	}
	config.Password = "wrong"
	_, err = pgx.ConnectConfig(context.Background(), config)
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.Code != "28P01" {
		t.Fatalf("a wrong password: %v", err)
	}
	must(t, s.Close())
	l, err := net.Listen("tcp", net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))))
	must(t, err)
	must(t, l.Close())
}

// Databases are created anew, cloned with their content, and dropped under their users.
func TestDatabases(t *testing.T) {
	s := private(t, pgserver.Options{})
	ctx := context.Background()
	must(t, s.CreateDatabase(ctx, "template"))
	conn := open(t, s.DatabaseURL("template"))
	_, err := conn.Exec(ctx, `CREATE TABLE witness AS SELECT 'here' AS text`)
	must(t, err)
	must(t, conn.Close(ctx))
	for range 2 {
		must(t, s.CloneDatabase(ctx, "Copy 'n' \"quote\"", "template"))
		copied := open(t, s.DatabaseURL("Copy 'n' \"quote\""))
		if got := ask(t, copied, `SELECT text FROM witness`); got != "here" {
			t.Fatalf("witness %q", got)
		}
	}
	must(t, s.CreateDatabase(ctx, "template"))
	if got := ask(t, open(t, s.DatabaseURL("template")),
		`SELECT count(*)::text FROM pg_class WHERE relname = 'witness'`); got != "0" {
		t.Fatal("the old database is still there")
	}
	must(t, s.DropDatabase(ctx, "template"))
	must(t, s.DropDatabase(ctx, "template"))
	_, err = pgx.Connect(ctx, s.DatabaseURL("template"))
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.Code != "3D000" {
		t.Fatalf("a dropped database: %v", err)
	}
}

// A restart keeps the data and the address.
func TestRestart(t *testing.T) {
	const started = `SELECT pg_postmaster_start_time()::text`
	for _, tcp := range []bool{false, true} {
		s := private(t, pgserver.Options{Durable: true, TCP: tcp})
		ctx := context.Background()
		_, err := open(t, s.URL()).Exec(ctx, `CREATE TABLE witness AS SELECT 'here' AS text`)
		must(t, err)
		for _, immediate := range []bool{true, false} {
			before := ask(t, open(t, s.URL()), started)
			must(t, s.Restart(ctx, immediate))
			if ask(t, open(t, s.URL()), started) == before {
				t.Fatal("the same server")
			}
			if got := ask(t, open(t, s.URL()), `SELECT text FROM witness`); got != "here" {
				t.Fatalf("witness %q", got)
			}
		}
	}
}

// A setting that the server refuses is an error with the server's own words, at once, and
// nothing is left.
func TestRefusedSetting(t *testing.T) {
	temporary := publicFolder(t)
	t.Setenv("TMPDIR", temporary)
	t.Setenv("ORDEAL_POSTGRES", "local")
	o := pgserver.Options{Settings: map[string]string{"no_such_setting": "1"}}
	s, err := pgserver.Start(context.Background(), o)
	if err == nil {
		s.Close()
		t.Fatal("started")
	}
	if !strings.Contains(err.Error(), `unrecognized configuration parameter "no_such_setting"`) {
		t.Fatal(err)
	}
	mustBeEmpty(t, temporary)
}

// A start that is given up ends soon and leaves nothing.
func TestGivenUp(t *testing.T) {
	temporary := publicFolder(t)
	t.Setenv("TMPDIR", temporary)
	t.Setenv("ORDEAL_POSTGRES", "local")
	ctx, cancel := context.WithCancel(context.Background())
	started := make(chan error, 1)
	go func() {
		_, err := pgserver.Start(ctx, pgserver.Options{})
		started <- err
	}()
	for len(glob(t, filepath.Join(temporary, "*", "data", "base"))) == 0 {
		select {
		case err := <-started:
			t.Fatalf("over before it could be given up: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	cancel()
	if err := <-started; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	mustBeEmpty(t, temporary)
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	must(t, err)
	return found
}

func mustBeEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	must(t, err)
	if len(left) != 0 {
		t.Fatalf("left behind: %v", left)
	}
}

// private starts a server from the programs of this machine; it ends with the test.
func private(t *testing.T, o pgserver.Options) *pgserver.Server {
	t.Helper()
	t.Setenv("ORDEAL_POSTGRES", "local")
	s, err := pgserver.Start(context.Background(), o)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

func parentOf(t *testing.T, pid int) int {
	t.Helper()
	out, err := exec.Command("ps", "-o", "ppid=", "-p", strconv.Itoa(pid)).Output()
	must(t, err)
	return number(t, strings.TrimSpace(string(out)))
}
