package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"ordeal/migrations"
	"ordeal/service"
	"ordeal/service/store"
)

// The oldest server that the service is made for.
const (
	oldestServer     = 150000
	oldestServerName = "PostgreSQL 15"
)

// preflight refuses a database that the process must not work with, and names all that is wrong.
func (c *serveCmd) preflight(ctx context.Context, pools service.Pools, log *slog.Logger) error {
	unknown := migrations.Check(ctx, pools.Work)
	server, err := store.New(pools.Work, nil).DescribeServer(ctx)
	if err != nil {
		return errors.Join(unknown, err)
	}
	if server.Superuser && !c.Dev {
		log.Warn("the database role is a superuser, whom no privilege protects from mistakes",
			"see", "ordeal_api and ordeal_worker")
	}
	return errors.Join(unknown, c.judge(server, pools.Size()))
}

// judge holds the server against what the process needs.
func (c *serveCmd) judge(server store.Server, connections int) error {
	var found problems
	found.unless(server.Version >= oldestServer, "the server is older than %s", oldestServerName)
	found.unless(c.Dev || server.Fsync != "off",
		"the server has fsync off and can lose what was committed: turn it on, or serve with "+
			"--dev where nothing of value is at stake")
	found.unless(c.Dev || server.SynchronousCommit != "off",
		"synchronous_commit is off, so a crash loses what was committed: turn it on (postgresql."+
			"conf, or alter database or role), or serve with --dev where nothing of value is "+
			"at stake")
	found.unless(connections <= server.Connections,
		"this process may open %d connections, the server allows this role %d: lower "+
			"--pool-size or raise max_connections", connections, server.Connections)
	if len(found) > 0 {
		return fmt.Errorf("database: %w", errors.Join(found...))
	}
	return nil
}
