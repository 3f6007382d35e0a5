package engine

import (
	"context"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/multitracer"
	"github.com/jackc/pgx/v5/pgxpool"
)

// never is a duration that no run reaches.
const never = time.Duration(math.MaxInt64 / 4)

// Sizes that ConfigurePool sets.
const (
	maxConns           = 1024
	cachedStatements   = 64
	cachedDescriptions = 8
)

// ConfigurePool points a pool's configuration at the simulated database and switches off what
// depends on global randomness or on which connection a goroutine happens to get: lifetimes,
// idle times, health checks, pings, and the limit of connections, since which of several
// goroutines gets the last one is a race. It also tells the engine the deadline of each statement's
// context, so that the driver can end a statement's wait just before it. A tracer that is set
// already stays; set it before.
func (in *Incarnation) ConfigurePool(config *pgxpool.Config, pool string) {
	conn := config.ConnConfig
	conn.DialFunc = in.DialFunc(pool)
	conn.LookupFunc = func(_ context.Context, host string) ([]string, error) {
		return []string{host}, nil
	}
	// pgx makes room for all of its caches with each connection; most runs are short.
	conn.StatementCacheCapacity = min(conn.StatementCacheCapacity, cachedStatements)
	conn.DescriptionCacheCapacity = min(conn.DescriptionCacheCapacity, cachedDescriptions)
	conn.TLSConfig, conn.Fallbacks, conn.ConnectTimeout = nil, nil, 0
	if conn.Tracer != nil {
		conn.Tracer = multitracer.New(conn.Tracer, deadlineTracer{})
	} else {
		conn.Tracer = deadlineTracer{}
	}
	config.MaxConns = max(config.MaxConns, maxConns)
	config.MinConns, config.MinIdleConns = 0, 0
	config.MaxConnLifetime, config.MaxConnLifetimeJitter = never, 0
	config.MaxConnIdleTime, config.HealthCheckPeriod = never, never
	if config.ShouldPing == nil {
		config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	}
}

// deadlineTracer tells a virtual connection the deadline of the statement about to be sent.
type deadlineTracer struct{}

func (deadlineTracer) set(ctx context.Context, pg *pgx.Conn) context.Context {
	if c, ok := pg.PgConn().Conn().(*conn); ok {
		deadline, _ := ctx.Deadline()
		c.w.mu.Lock()
		c.deadline = deadline
		c.w.mu.Unlock()
	}
	return ctx
}

func (t deadlineTracer) TraceQueryStart(ctx context.Context, c *pgx.Conn,
	_ pgx.TraceQueryStartData) context.Context {
	return t.set(ctx, c)
}

func (deadlineTracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (t deadlineTracer) TraceBatchStart(ctx context.Context, c *pgx.Conn,
	_ pgx.TraceBatchStartData) context.Context {
	return t.set(ctx, c)
}

func (deadlineTracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (deadlineTracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
