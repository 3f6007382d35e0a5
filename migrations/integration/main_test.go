// Package integration_test migrates real databases: many processes at once, from every version,
// with and without the right to create roles; and holds the privileges of each role against the
// statements of the service. It fails without a PostgreSQL.
package integration_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"ordeal/migrations"
	"ordeal/sim/pgserver"
)

var server *pgserver.Server

func TestMain(m *testing.M) {
	var err error
	server, err = pgserver.Start(context.Background(), pgserver.Options{Log: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := server.Close(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// database creates an empty database and returns how to connect to it.
func database(t *testing.T, s *pgserver.Server) *pgx.ConnConfig {
	t.Helper()
	name := pgserver.UniqueName("migrations")
	must(t, s.CreateDatabase(t.Context(), name))
	t.Cleanup(func() { must(t, s.DropDatabase(context.Background(), name)) })
	config, err := pgx.ParseConfig(s.DatabaseURL(name))
	must(t, err)
	return config
}

// migrated creates a database with the whole schema.
func migrated(t *testing.T) *pgx.ConnConfig {
	t.Helper()
	config := database(t, server)
	_, err := migrations.Up(t.Context(), config)
	must(t, err)
	return config
}

// connect opens a connection for the time of the test.
func connect(t *testing.T, config *pgx.ConnConfig) *pgx.Conn {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), config)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// run runs statements, which must succeed.
func run(t *testing.T, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// texts reads a column of text.
func texts(t *testing.T, conn *pgx.Conn, sql string, args ...any) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql, args...)
	must(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	return all
}
