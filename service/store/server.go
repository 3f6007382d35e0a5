package store

import (
	"context"
	"fmt"
)

// Server is what the database server says about itself and this session.
type Server struct {
	// Version is that of the server, as a number: 150004 is 15.4.
	Version int
	// Fsync and SynchronousCommit are the settings of these names.
	Fsync, SynchronousCommit string
	// Connections is how many this role may open to this database: the server's limit without
	// the reserved ones, or that of the role or the database where it is lower.
	Connections int
	// Superuser tells whether the role is one, for whom no privilege is missing.
	Superuser bool
}

const describeServer = `-- name: DescribeServer
select
    current_setting('server_version_num')::int,
    current_setting('fsync'),
    current_setting('synchronous_commit'),
    least(
        current_setting('max_connections')::int
            - current_setting('superuser_reserved_connections')::int
            - coalesce(current_setting('reserved_connections', true), '0')::int,
        nullif(r.rolconnlimit, -1),
        nullif(d.datconnlimit, -1)),
    r.rolsuper
from pg_roles r
cross join pg_database d
where r.rolname = session_user
    and d.datname = current_database()`

// DescribeServer asks the server about itself.
func (s *Store) DescribeServer(ctx context.Context) (d Server, err error) {
	err = s.work.QueryRow(ctx, describeServer).
		Scan(&d.Version, &d.Fsync, &d.SynchronousCommit, &d.Connections, &d.Superuser)
	if err != nil {
		return Server{}, fmt.Errorf("describe server: %w", err)
	}
	return d, nil
}
