package pgserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// connectBound limits one attempt to connect.
const connectBound = 10 * time.Second

// dropBound limits how long Close works on the databases of a server that stays.
const dropBound = time.Minute

// names counts the names given by UniqueName in this process.
var names atomic.Int64

// UniqueName is a database name that starts with prefix (cut where the whole would be longer
// than the 63 bytes that PostgreSQL allows) and that no other call returns, in this process
// or another, even if they share one server.
func UniqueName(prefix string) string {
	tail := fmt.Sprintf("_%d_%d_%s", os.Getpid(), names.Add(1), token())
	if room := 63 - len(tail); len(prefix) > room {
		prefix = prefix[:room]
	}
	return prefix + tail
}

// CreateDatabase creates an empty database, UTF-8 with the order of bytes (locale C)
// whatever the server's default is. An old one of that name is dropped first, with its
// connections. On a server that was named by a URL, one that this Server did not create
// is left alone and is an error.
func (s *Server) CreateDatabase(ctx context.Context, name string) error {
	const as = " TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C' LOCALE_PROVIDER libc"
	if err := s.create(ctx, name, as); err != nil {
		return fmt.Errorf("pgserver: create database %s: %w", name, err)
	}
	return nil
}

// CloneDatabase creates a database as a copy of template, to which nobody may be connected.
// An old one of that name is treated as CreateDatabase treats it.
func (s *Server) CloneDatabase(ctx context.Context, name, template string) error {
	as := " TEMPLATE " + pgx.Identifier{template}.Sanitize()
	if err := s.create(ctx, name, as); err != nil {
		return fmt.Errorf("pgserver: clone database %s as %s: %w", template, name, err)
	}
	return nil
}

// DropDatabase drops a database and cuts its connections. One that does not exist is no
// error. On a server that was named by a URL, one that this Server did not create is an error.
func (s *Server) DropDatabase(ctx context.Context, name string) error {
	err := s.onServer(ctx, func(conn *pgx.Conn) error { return s.drop(ctx, conn, name) })
	if err != nil {
		return fmt.Errorf("pgserver: drop database %s: %w", name, err)
	}
	return nil
}

func (s *Server) create(ctx context.Context, name, as string) error {
	return s.onServer(ctx, func(conn *pgx.Conn) error {
		if err := s.drop(ctx, conn, name); err != nil {
			return err
		}
		s.note(name, true)
		_, err := conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()+as)
		if err != nil {
			s.note(name, false)
		}
		return err
	})
}

func (s *Server) drop(ctx context.Context, conn *pgx.Conn, name string) error {
	if err := s.mayDrop(ctx, conn, name); err != nil {
		return err
	}
	drop := "DROP DATABASE IF EXISTS " + pgx.Identifier{name}.Sanitize() + " WITH (FORCE)"
	if _, err := conn.Exec(ctx, drop); err != nil {
		return err
	}
	s.note(name, false)
	return nil
}

// errForeign is the refusal to drop what somebody else created.
var errForeign = errors.New("exists, and was not created by this process")

// mayDrop protects the databases of a server that is not ours.
func (s *Server) mayDrop(ctx context.Context, conn *pgx.Conn, name string) error {
	if s.way != wayURL || s.noted(name) {
		return nil
	}
	var exists bool
	err := conn.QueryRow(ctx, `
		SELECT EXISTS (
			SELECT
			FROM pg_database
			WHERE datname = $1
		)`, name).Scan(&exists)
	if err != nil {
		return fmt.Errorf("look for it: %w", err)
	}
	if exists {
		return errForeign
	}
	return nil
}

// note remembers which databases Close has to drop.
func (s *Server) note(name string, created bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.created == nil {
		s.created = make(map[string]bool)
	}
	s.created[name] = created
}

func (s *Server) noted(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.created[name]
}

// leftOver are the databases that were created and not dropped.
func (s *Server) leftOver() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var left []string
	for name, created := range s.created {
		if created {
			left = append(left, name)
		}
	}
	return left
}

// dropCreated cleans a server that stays; one that is ours ends as a whole.
func (s *Server) dropCreated() error {
	left := s.leftOver()
	if s.way != wayURL || len(left) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), dropBound)
	defer cancel()
	return s.onServer(ctx, func(conn *pgx.Conn) error {
		var failed []error
		for _, name := range left {
			if err := s.drop(ctx, conn, name); err != nil {
				failed = append(failed, fmt.Errorf("drop database %s: %w", name, err))
			}
		}
		return errors.Join(failed...)
	})
}

// onServer calls use with a connection to the maintenance database.
func (s *Server) onServer(ctx context.Context, use func(*pgx.Conn) error) error {
	conn, err := connect(ctx, s.dsn)
	if err != nil {
		return err
	}
	return errors.Join(use(conn), conn.Close(ctx))
}

func connect(ctx context.Context, to dsn) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(string(to))
	if err != nil {
		return nil, fmt.Errorf("read the connection string: %w", err)
	}
	config.ConnectTimeout = connectBound
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return conn, nil
}
