package integration_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"ordeal/sim/pgserver"
)

// named starts a private server and gives it to the test by its URL, as somebody else's.
func named(t *testing.T, url func(*pgserver.Server) string) (*pgserver.Server, *pgserver.Server) {
	t.Helper()
	owner := private(t, pgserver.Options{})
	t.Setenv("ORDEAL_POSTGRES", "")
	t.Setenv("ORDEAL_DATABASE_URL", url(owner))
	guest, err := pgserver.Start(context.Background(), pgserver.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, guest.Close()) })
	return owner, guest
}

// keywords is the keyword form of a server's connection string.
func keywords(s *pgserver.Server) string {
	config, err := pgx.ParseConfig(s.URL())
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("host=%s port=%d user=%s dbname=%s",
		config.Host, config.Port, config.User, config.Database)
}

// On a server of somebody else we touch only what we created, and leave none of it.
func TestURL(t *testing.T) {
	for name, url := range map[string]func(*pgserver.Server) string{
		"url":      (*pgserver.Server).URL,
		"keywords": keywords,
	} {
		t.Run(name, func(t *testing.T) {
			owner, guest := named(t, url)
			if guest.Way() != "url" || guest.CanSignal() {
				t.Fatalf("way %s, can signal %t", guest.Way(), guest.CanSignal())
			}
			ctx := context.Background()
			must(t, owner.CreateDatabase(ctx, "theirs"))
			if guest.CreateDatabase(ctx, "theirs") == nil {
				t.Error("replaced a database of somebody else")
			}
			if guest.DropDatabase(ctx, "theirs") == nil {
				t.Error("dropped a database of somebody else")
			}
			must(t, guest.CreateDatabase(ctx, "ours"))
			must(t, guest.CloneDatabase(ctx, "ours too", "ours"))
			must(t, guest.CreateDatabase(ctx, "ours"))
			got := ask(t, open(t, guest.DatabaseURL("ours too")), `SELECT current_database()`)
			if got != "ours too" {
				t.Fatalf("connected to %q", got)
			}
			if err := guest.Restart(ctx, true); !errors.Is(err, pgserver.ErrNotOurs) {
				t.Fatalf("restart: %v", err)
			}
			must(t, guest.Close())
			const names = `
				SELECT string_agg(datname, ' ' ORDER BY datname)
				FROM pg_database
				WHERE NOT datistemplate`
			if got := ask(t, open(t, owner.URL()), names); got != "postgres theirs" {
				t.Fatalf("databases %q", got)
			}
		})
	}
}

// A server named by a URL is not replaced by another one when it cannot be used.
func TestURLDoesNotFallBack(t *testing.T) {
	owner := private(t, pgserver.Options{})
	ctx := context.Background()
	conn := open(t, owner.URL())
	_, err := conn.Exec(ctx, `CREATE ROLE modest LOGIN`)
	must(t, err)
	t.Setenv("ORDEAL_POSTGRES", "")
	for url, want := range map[string]string{
		strings.Replace(owner.URL(), "postgres@", "modest@", 1): "may not create databases",
		"postgres://nobody@127.0.0.1:1/none":                    "connect",
		"not a connection string":                               "connection string",
	} {
		t.Setenv("ORDEAL_DATABASE_URL", url)
		s, err := pgserver.Start(ctx, pgserver.Options{})
		if err == nil {
			t.Errorf("%s: started %s", url, s.Way())
			s.Close()
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", url, err)
		}
	}
}
