// Package migrations holds the schema of the service as goose SQL files, and applies them.
//
// Any number of processes may apply them at once: one of them gets the session lock, the others
// wait for it, for a bounded time, and find the work done. Each file is one transaction, so a
// process that dies leaves the database at one of the versions, and the next one goes on there.
package migrations

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// Files are the migrations, in the order of their numbers.
//
//go:embed *.sql
var Files embed.FS

// DefaultWait is how long Up waits while another process migrates.
const DefaultWait = 2 * time.Minute

// tableWait is how long a migration waits for a lock on a table; those who come after it wait for
// it meanwhile, so this is short.
const tableWait = "10s"

// Up is UpWithin with DefaultWait.
func Up(ctx context.Context, config *pgx.ConnConfig) (version int64, err error) {
	return UpWithin(ctx, config, DefaultWait)
}

// UpWithin applies every migration that the database lacks and returns the schema version reached.
// It waits for another process that migrates; when that takes longer than wait, the error is a
// *BusyError.
func UpWithin(
	ctx context.Context, config *pgx.ConnConfig, wait time.Duration,
) (version int64, err error) {
	db := stdlib.OpenDB(*patient(config))
	defer func() { err = errors.Join(err, db.Close()) }()
	p, err := goose.NewProvider(goose.DialectPostgres, db, Files,
		goose.WithSessionLocker(sessionLock{wait: wait}))
	if err != nil {
		return 0, fmt.Errorf("migrate: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return 0, fmt.Errorf("migrate: %w", explained(err))
	}
	version, err = p.GetDBVersion(ctx)
	if err != nil {
		return 0, fmt.Errorf("migrate: read version: %w", err)
	}
	return version, nil
}

// patient returns a configuration whose statements may take their time, but not wait long for
// tables, whatever the role's own settings are.
func patient(config *pgx.ConnConfig) *pgx.ConnConfig {
	c := config.Copy()
	for name, value := range map[string]string{
		"application_name":                    "orderd-migrate",
		"statement_timeout":                   "0",
		"lock_timeout":                        tableWait,
		"idle_in_transaction_session_timeout": "60s",
	} {
		c.RuntimeParams[name] = cmp.Or(c.RuntimeParams[name], value)
	}
	return c
}

// explained says in words what a lock timeout of the server means here.
func explained(err error) error {
	reported, ok := errors.AsType[*pgconn.PgError](err)
	if ok && reported.Code == "55P03" {
		return fmt.Errorf("a session holds a lock on a table for longer than %s "+
			"(pg_locks and pg_stat_activity tell which): %w", tableWait, err)
	}
	return err
}

// ApplyRoles creates the roles that the database lacks and gives each exactly its privileges, as
// the migrations do. It returns what the connection's own role may not do, one command a line with
// the reason; nothing: all of it is done.
func ApplyRoles(ctx context.Context, conn *pgx.Conn) (skipped []string, err error) {
	rows, err := conn.Query(ctx, "select apply_roles()")
	if err != nil {
		return nil, fmt.Errorf("apply roles: %w", err)
	}
	if skipped, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		return nil, fmt.Errorf("apply roles: %w", err)
	}
	return skipped, nil
}

// Latest is the schema version that these migrations lead to.
func Latest() (version int64) {
	names, err := fs.Glob(Files, "*.sql")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for _, name := range names {
		if n, err := goose.NumericComponent(name); err == nil {
			version = max(version, n)
		}
	}
	return version
}

// VersionError reports a database whose schema this program does not know.
type VersionError struct {
	// Found is the version of the database, 0 for an empty one, and Known that of the program.
	Found, Known int64
}

func (e *VersionError) Error() string {
	switch {
	case e.Found == 0:
		return "the database has no schema: migrate it"
	case e.Found < e.Known:
		return fmt.Sprintf("the database has schema version %d, older than version %d that this "+
			"program needs: migrate it", e.Found, e.Known)
	default:
		return fmt.Sprintf("the database has schema version %d, newer than version %d that this "+
			"program knows: run a newer program", e.Found, e.Known)
	}
}

// Querier runs a query for one row.
type Querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

const schemaVersion = `-- name: SchemaVersion
select coalesce(max(version_id), 0)
from goose_db_version
where is_applied`

// Check returns a *VersionError unless the database has exactly the latest schema.
func Check(ctx context.Context, db Querier) error {
	e := &VersionError{Known: Latest()}
	err := db.QueryRow(ctx, schemaVersion).Scan(&e.Found)
	if reported, ok := errors.AsType[*pgconn.PgError](err); ok && reported.Code == "42P01" {
		return e // no such table
	}
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	if e.Found != e.Known {
		return e
	}
	return nil
}
