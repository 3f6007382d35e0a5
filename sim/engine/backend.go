package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
)

var errNoBackend = errors.New("the run has no database")

// ErrBackend says that the real server failed: it is gone, or has no room. A run that ends with it
// tells nothing about the service.
var ErrBackend = errors.New("the database server failed")

// failBackend ends the run because of the real server.
func (w *World) failBackend(err error) { w.Fail(fmt.Errorf("%w: %w", ErrBackend, err)) }

// serverFailed tells whether a SQLSTATE is a server's own trouble: no resources left (class 53),
// shutting down (57P), or a fault of its system (58).
func serverFailed(state string) bool {
	return len(state) == 5 && (state[:2] == "53" || state[:3] == "57P" || state[:2] == "58")
}

// ClockSchema is the schema that holds the database's clock, ahead of pg_catalog on every
// session's search path; see [InstallClock].
const ClockSchema = "sim_clock"

// DefaultSearchPath is the search path of simulated sessions, and of the migrations that create
// their tables, so that column defaults use the simulated clock. public comes first because that
// is where new tables go.
const DefaultSearchPath = "public, " + ClockSchema + ", pg_catalog"

// BackendOptions are the settings of a backend. The zero value is good.
type BackendOptions struct {
	// SearchPath defaults to [DefaultSearchPath].
	SearchPath string
	// Settings are further session settings.
	Settings map[string]string
	// CanSignal says that the server's processes run on this machine and may be stopped and
	// continued by this one; only then are runs with lock waits exact.
	CanSignal bool
}

// Backend is one database of a real server, with authenticated connections that are kept across
// runs, as are the statements prepared on them. One run uses it at a time.
type Backend struct {
	config     *pgconn.Config
	options    BackendOptions
	greeting   []byte
	statements statements
	idle       []*serverConn
	all        []*serverConn
	admin      *pgconn.PgConn
	monitor    *serverConn
	polls      map[string]remembered // by content; see Quiet
	moves      int                   // grows with everything that may release a lock
}

// OpenBackend connects to the database and installs the clock where it is missing.
func OpenBackend(ctx context.Context, dsn string, opts BackendOptions) (*Backend, error) {
	config, err := pgconn.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("open backend: %w", err)
	}
	if opts.SearchPath == "" {
		opts.SearchPath = DefaultSearchPath
	}
	b := &Backend{config: config, options: opts, polls: map[string]remembered{}}
	b.statements.byKey = map[string]*statement{}
	if b.admin, err = pgconn.ConnectConfig(ctx, config.Copy()); err != nil {
		return nil, fmt.Errorf("open backend: %w", err)
	}
	if err := InstallClock(ctx, b.admin); err != nil {
		b.Close()
		return nil, err
	}
	sc, err := b.borrow()
	if err != nil {
		b.Close()
		return nil, err
	}
	b.greeting = sc.greeting
	b.giveBack(sc)
	return b, nil
}

// Close closes all connections.
func (b *Backend) Close() error {
	for _, sc := range b.all {
		sc.close()
	}
	b.all, b.idle = nil, nil
	if b.monitor != nil {
		b.monitor.close()
	}
	return b.admin.Close(context.Background())
}

// Exec runs SQL text (several statements are one transaction) outside of any run, at real time,
// on a connection of its own: for resetting tables between runs.
func (b *Backend) Exec(ctx context.Context, sql string) error {
	if _, err := b.admin.Exec(ctx, sql).ReadAll(); err != nil {
		return fmt.Errorf("backend exec: %w", err)
	}
	return nil
}

// Connections returns how many server connections are kept.
func (b *Backend) Connections() int { return len(b.all) }

// borrow returns a free server connection, the one used last, whose caches are warm.
func (b *Backend) borrow() (*serverConn, error) {
	if n := len(b.idle); n > 0 {
		sc := b.idle[n-1]
		b.idle = b.idle[:n-1]
		return sc, nil
	}
	sc, err := b.dial()
	if err != nil {
		return nil, err
	}
	b.all = append(b.all, sc)
	return sc, nil
}

// giveBack frees a connection that is in no transaction.
func (b *Backend) giveBack(sc *serverConn) { b.idle = append(b.idle, sc) }

// release frees a connection in any state: it is rolled back, or thrown away where its session
// was changed or cannot be trusted.
func (b *Backend) release(sc *serverConn, changed bool) {
	if sc == nil {
		return
	}
	b.moves++
	if !changed && sc.status != 'I' {
		changed = sc.simple("rollback") != nil || sc.status != 'I'
	}
	if !changed {
		b.giveBack(sc)
		return
	}
	sc.close()
	b.all = slices.DeleteFunc(b.all, func(o *serverConn) bool { return o == sc })
}

// dial makes an authenticated connection with the session settings of the simulation.
func (b *Backend) dial() (*serverConn, error) {
	config := b.config.Copy()
	for name, value := range b.options.Settings {
		config.RuntimeParams[name] = value
	}
	config.RuntimeParams["search_path"] = b.options.SearchPath
	config.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	config.RuntimeParams["timezone"] = "UTC"
	pg, err := pgconn.ConnectConfig(context.Background(), config)
	if err != nil {
		return nil, fmt.Errorf("backend dial: %w", err)
	}
	hijacked, err := pg.Hijack()
	if err != nil {
		return nil, fmt.Errorf("backend dial: %w", err)
	}
	return newServerConn(hijacked)
}
