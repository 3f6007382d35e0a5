// Package migrations holds the schema of the service as goose SQL files, and applies them.
package migrations

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// Files are the migrations, in the order of their numbers.
//
//go:embed *.sql
var Files embed.FS

// While another process migrates, Up asks for the lock every second, for two minutes.
const (
	lockRetry   = 1 // seconds
	lockRetries = 120
)

// Up applies every migration that the database lacks, under a session lock, so that any number of
// processes may call it at once. It returns the schema version reached.
func Up(ctx context.Context, config *pgx.ConnConfig) (version int64, err error) {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(lockRetry, lockRetries))
	if err != nil {
		return 0, fmt.Errorf("migrate: %w", err)
	}
	db := stdlib.OpenDB(*config)
	defer func() { err = errors.Join(err, db.Close()) }()
	p, err := goose.NewProvider(goose.DialectPostgres, db, Files, goose.WithSessionLocker(locker))
	if err != nil {
		return 0, fmt.Errorf("migrate: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return 0, fmt.Errorf("migrate: %w", err)
	}
	version, err = p.GetDBVersion(ctx)
	if err != nil {
		return 0, fmt.Errorf("migrate: read version: %w", err)
	}
	return version, nil
}
