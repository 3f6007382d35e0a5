package service

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
)

// leaseConnections are reserved for renewals, so that load cannot make leases expire.
const leaseConnections = 2

// Pools are the connections of a process to its database.
type Pools struct {
	// Work is for everything but the renewal of leases, which has Leases to itself.
	Work, Leases *pgxpool.Pool
}

// OpenPools opens both pools and proves that the database answers. Size is the largest number of
// connections of Work; Leases adds two. Close gives them back.
func OpenPools(ctx context.Context, databaseURL string, size int) (Pools, error) {
	work, err := openPool(ctx, databaseURL, "orderd", size)
	if err != nil {
		return Pools{}, err
	}
	leases, err := openPool(ctx, databaseURL, "orderd-leases", leaseConnections)
	if err != nil {
		work.Close()
		return Pools{}, err
	}
	return Pools{Work: work, Leases: leases}, nil
}

// Size is the largest number of connections of both.
func (p Pools) Size() int {
	return int(p.Work.Config().MaxConns + p.Leases.Config().MaxConns)
}

// Close waits until all connections are given back and closes them.
func (p Pools) Close() {
	p.Leases.Close()
	p.Work.Close()
}

// openPool opens one pool that has answered once.
func openPool(
	ctx context.Context, databaseURL, application string, size int,
) (*pgxpool.Pool, error) {
	config, err := PoolConfig(databaseURL, application, size)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open database pool: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("database does not answer: %w", err)
	}
	return pool, nil
}
