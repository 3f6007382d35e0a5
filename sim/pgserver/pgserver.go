package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// Options says which server is wanted. The zero value is a throw-away server on a socket.
type Options struct {
	// Durable keeps what is committed through a crash of the server or the machine (fsync,
	// synchronous_commit and full_page_writes on), as chaos and benchmarks need it. False
	// turns all that off, and with it everything else that costs time. A server that was
	// named by a URL keeps its own settings.
	Durable bool

	// Settings are further settings of postgresql.conf, such as {"deadlock_timeout": "1h"}.
	// They win over this package's own, except those that say where the server is found.
	// A server that was named by a URL does not get them.
	Settings map[string]string

	// TCP makes a private server listen on a free port of 127.0.0.1 too, behind a random
	// password, and URL name that address. False keeps it on a Unix socket that only the
	// caller (and root) can reach. Docker's is always on TCP.
	TCP bool

	// Log is told the chosen way and version, one line; nil is nobody.
	Log io.Writer
}

// The ways to a server, as ORDEAL_POSTGRES and Server.Way spell them.
const (
	wayURL      = "url"
	wayLocal    = "local"
	wayDocker   = "docker"
	wayDownload = "download"
)

const (
	// superuser owns the private servers.
	superuser = "postgres"

	// maintenance is the database of a private server that always exists.
	maintenance = "postgres"
)

// ErrNotOurs is what Restart returns for a server that this package did not start itself
// as a process.
var ErrNotOurs = errors.New("the server is not a process of ours")

// Server is a running PostgreSQL server. Its methods may be called concurrently.
type Server struct {
	way     string
	version version
	source  string // where it comes from, in words
	dsn     dsn
	cluster *cluster     // the process, where it is ours
	release func() error // gives back what the way took; nil: nothing

	mu      sync.Mutex
	created map[string]bool // false: dropped again

	closing sync.Once
	closed  error // what came of closing
}

// Start finds or starts a server, by the first way that works (see the package comment).
// It returns within about 3 s where initdb has to run, and when ctx ends. The error names
// every way, why it failed and how to enable it.
func Start(ctx context.Context, o Options) (*Server, error) {
	ways, err := choice(os.Getenv, allWays)
	if err != nil {
		return nil, fmt.Errorf("pgserver: %w", err)
	}
	s, err := firstOf(ctx, ways, o)
	if err != nil {
		return nil, fmt.Errorf("pgserver: %w", err)
	}
	if o.Log != nil {
		fmt.Fprintf(o.Log, "postgres: %s %s (%s)\n", s.way, s.version.text, s.source)
	}
	return s, nil
}

// URL is the connection string of the server's maintenance database, as pgx and libpq read
// it. It may hold a password.
func (s *Server) URL() string {
	return string(s.dsn)
}

// DatabaseURL is the connection string of another database of the same server.
func (s *Server) DatabaseURL(name string) string {
	return s.dsn.withDatabase(name)
}

// Way tells how the server was found: "url", "local", "docker" or "download".
func (s *Server) Way() string {
	return s.way
}

// Version is the version of the server, such as "15.18".
func (s *Server) Version() string {
	return s.version.text
}

// CanSignal tells whether the server's processes run on this machine under an account that
// the caller may send signals to, so that a backend's pid can be stopped and continued.
func (s *Server) CanSignal() bool {
	return s.cluster != nil
}

// Restart stops the server and starts it again with the same data and address. Immediate
// cuts everything at once, as a crash would; otherwise the server ends open transactions
// and checkpoints first. The error is ErrNotOurs where CanSignal is false.
func (s *Server) Restart(ctx context.Context, immediate bool) error {
	if s.cluster == nil {
		return fmt.Errorf("pgserver: restart: %w", ErrNotOurs)
	}
	if err := s.cluster.restart(ctx, immediate); err != nil {
		return fmt.Errorf("pgserver: restart: %w", err)
	}
	return nil
}

// Close stops the server and removes all its files. Of a server that was named by a URL it
// drops the databases that this Server created and nothing else. Closing again does nothing
// and returns what the first time did.
func (s *Server) Close() error {
	s.closing.Do(func() {
		if err := errors.Join(s.dropCreated(), s.giveBack()); err != nil {
			s.closed = fmt.Errorf("pgserver: close: %w", err)
		}
	})
	return s.closed
}

func (s *Server) giveBack() error {
	if s.release == nil {
		return nil
	}
	return s.release()
}
