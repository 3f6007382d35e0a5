package store

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Store runs the service's statements.
type Store struct {
	work   *pgxpool.Pool
	leases *pgxpool.Pool
}

// New returns a store. Lease renewal has a pool of its own, so that load on the other one cannot
// make leases expire; a process that takes no steps may pass nil for it.
func New(work, leases *pgxpool.Pool) *Store {
	return &Store{work: work, leases: leases}
}

// Ping asks the database for an answer.
func (s *Store) Ping(ctx context.Context) error { return s.work.Ping(ctx) }

// batch sends statements in one pipelined round trip and one implicit transaction, and collects
// their rows in order.
func (s *Store) batch(ctx context.Context, b *pgx.Batch) error {
	return s.work.SendBatch(ctx, b).Close()
}
