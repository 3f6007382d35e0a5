package service

import (
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ordeal/service/order"
)

// PoolConfig returns the configuration of a connection pool of the service. Size is the largest
// number of connections. Statement and lock timeouts are set on the server too, so a client that
// lost its connection leaves nothing running.
func PoolConfig(databaseURL, application string, size int) (*pgxpool.Config, error) {
	c, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	c.MaxConns = int32(size)
	c.MaxConnLifetime = time.Hour
	c.MaxConnIdleTime = 15 * time.Minute
	c.ConnConfig.ConnectTimeout = order.CallTimeout
	c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
	timeout := strconv.Itoa(int(order.CallTimeout.Milliseconds()))
	c.ConnConfig.RuntimeParams["application_name"] = application
	c.ConnConfig.RuntimeParams["statement_timeout"] = timeout
	c.ConnConfig.RuntimeParams["lock_timeout"] = timeout
	c.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = timeout
	return c, nil
}
