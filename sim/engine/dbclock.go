package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// installClock creates the functions. Outside a run, without the setting, they tell real time.
const installClock = `
create schema if not exists sim_clock;

create or replace function sim_clock.now() returns timestamptz
language sql stable parallel safe as $$
	select coalesce(
		nullif(pg_catalog.current_setting('sim_clock.now', true), '')::timestamptz,
		pg_catalog.now())
$$;

create or replace function sim_clock.transaction_timestamp() returns timestamptz
language sql stable parallel safe as $$
	select sim_clock.now()
$$;

create or replace function sim_clock.statement_timestamp() returns timestamptz
language sql stable parallel safe as $$
	select coalesce(
		nullif(pg_catalog.current_setting('sim_clock.statement', true), '')::timestamptz,
		nullif(pg_catalog.current_setting('sim_clock.now', true), '')::timestamptz,
		pg_catalog.statement_timestamp())
$$;

create or replace function sim_clock.clock_timestamp() returns timestamptz
language sql volatile parallel safe as $$
	select coalesce(
		nullif(pg_catalog.current_setting('sim_clock.statement', true), '')::timestamptz,
		nullif(pg_catalog.current_setting('sim_clock.now', true), '')::timestamptz,
		pg_catalog.clock_timestamp())
$$;

grant usage on schema sim_clock to public;
`

// InstallClock creates the schema [ClockSchema] with now() and its siblings. Install it in a
// template database before the service's migrations run there, with [DefaultSearchPath], so that
// column defaults bind to it. clock_timestamp() stands still within a statement. CURRENT_TIMESTAMP
// and its kin are syntax and cannot be replaced: code under simulation must not use them.
func InstallClock(ctx context.Context, conn *pgconn.PgConn) error {
	if _, err := conn.Exec(ctx, installClock).ReadAll(); err != nil {
		return fmt.Errorf("install clock: %w", err)
	}
	return nil
}

// SetDatabaseClock makes the database's clock skew ahead of virtual time and gain driftPPM
// microseconds a second (both may be negative), as [Config].DatabaseSkew does. Use it while
// building the world.
func (w *World) SetDatabaseClock(skew time.Duration, driftPPM int64) {
	w.cfg.DatabaseSkew, w.cfg.DatabaseDriftPPM = skew, driftPPM
}

// DatabaseTime returns what the database's clock shows when so much virtual time has passed.
func (w *World) DatabaseTime(elapsed time.Duration) time.Time {
	return w.start.Add(elapsed + w.cfg.DatabaseSkew + drifted(elapsed, w.cfg.DatabaseDriftPPM)).UTC()
}

// databaseTime is what the database's clock shows now.
func (w *World) databaseTime() time.Time { return w.DatabaseTime(w.Now()) }
