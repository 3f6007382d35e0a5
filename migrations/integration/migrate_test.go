package integration_test

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"ordeal/migrations"
)

// provider migrates by hand, to any version.
func provider(t *testing.T, config *pgx.ConnConfig) *goose.Provider {
	t.Helper()
	db := stdlib.OpenDB(*config)
	t.Cleanup(func() { _ = db.Close() })
	p, err := goose.NewProvider(goose.DialectPostgres, db, migrations.Files)
	must(t, err)
	return p
}

// structure describes the schema, to compare two databases.
const structure = `
select format('%s.%s %s %s', table_name, column_name, data_type, is_nullable)
from information_schema.columns
where table_schema = 'public'
union all
select pg_get_constraintdef(oid) from pg_constraint
where connamespace = 'public'::regnamespace
union all
select indexdef from pg_indexes
where schemaname = 'public'
union all
select pg_get_triggerdef(oid) from pg_trigger
where not tgisinternal
union all
select pg_get_functiondef(oid) from pg_proc
where pronamespace = 'public'::regnamespace
union all
select format('%s %s %s', relname, pg_get_userbyid(relowner), relacl) from pg_class
where relnamespace = 'public'::regnamespace
order by 1`

// TestFiveAtOnce: five processes find a database that is empty, or at any version between, and
// all of them end well with the same schema.
func TestFiveAtOnce(t *testing.T) {
	want := texts(t, connect(t, migrated(t)), structure)
	for _, from := range []int64{0, 2, 10} {
		config := database(t, server)
		if from > 0 {
			_, err := provider(t, config).UpTo(t.Context(), from)
			must(t, err)
		}
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				version, err := migrations.Up(t.Context(), config)
				if err != nil || version != migrations.Latest() {
					t.Errorf("from %d: version %d, %v", from, version, err)
				}
			})
		}
		all.Wait()
		if got := texts(t, connect(t, config), structure); !slices.Equal(got, want) {
			t.Errorf("from %d: another schema", from)
		}
	}
}

// TestDownAndUp: every migration can be taken back, and leaves nothing.
func TestDownAndUp(t *testing.T) {
	config := migrated(t)
	conn := connect(t, config)
	want := texts(t, conn, structure)
	_, err := provider(t, config).DownTo(t.Context(), 0)
	must(t, err)
	const left = `
select relname::text from pg_class
where relnamespace = 'public'::regnamespace and relname not like 'goose%'
union all
select proname::text from pg_proc where pronamespace = 'public'::regnamespace
union all
select unnest(setconfig) from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase
where d.datname = current_database()`
	if got := texts(t, conn, left); len(got) > 0 {
		t.Errorf("left behind: %v", got)
	}
	_, err = migrations.Up(t.Context(), config)
	must(t, err)
	if got := texts(t, conn, structure); !slices.Equal(got, want) {
		t.Error("another schema the second time")
	}
}

// TestStuckLock: a session that sits on the migration lock is named, in time, and nothing is
// changed. When it ends, migration goes on.
func TestStuckLock(t *testing.T) {
	config := database(t, server)
	holder := config.Copy()
	holder.RuntimeParams["application_name"] = "stuck"
	conn := connect(t, holder)
	if _, err := conn.Exec(t.Context(), "select pg_advisory_lock($1)",
		lock.DefaultLockID); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	_, err := migrations.UpWithin(t.Context(), config, time.Second)
	busy, ok := errors.AsType[*migrations.BusyError](err)
	if !ok || busy.Application != "stuck" || uint32(busy.PID) != conn.PgConn().PID() ||
		busy.Since.After(time.Now()) {
		t.Fatalf("error %v", err)
	}
	if took := time.Since(begun); took < time.Second || took > 10*time.Second {
		t.Errorf("took %s", took)
	}
	const orders = "select relname::text from pg_class where relname = 'orders'"
	if got := texts(t, conn, orders); len(got) > 0 {
		t.Error("migrated all the same")
	}
	must(t, conn.Close(t.Context()))
	_, err = migrations.UpWithin(t.Context(), config, time.Second)
	must(t, err)
}

// TestStuckTable: a transaction that sits on a table lets a migration fail in time, in words.
func TestStuckTable(t *testing.T) {
	config := database(t, server)
	_, err := provider(t, config).UpTo(t.Context(), 10)
	must(t, err)
	conn := connect(t, config)
	run(t, conn, "begin", "lock table orders in row exclusive mode")
	config.RuntimeParams["lock_timeout"] = "500ms"
	_, err = migrations.Up(t.Context(), config)
	reported, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || reported.Code != "55P03" || !strings.Contains(err.Error(), "pg_stat_activity") {
		t.Errorf("error %v", err)
	}
	run(t, conn, "rollback")
	_, err = migrations.Up(t.Context(), config)
	must(t, err)
}

// TestCheck: a program runs on exactly the schema that it knows.
func TestCheck(t *testing.T) {
	config := database(t, server)
	conn := connect(t, config)
	check := func(found int64, words string) {
		t.Helper()
		err := migrations.Check(t.Context(), conn)
		e, ok := errors.AsType[*migrations.VersionError](err)
		if !ok || e.Found != found || e.Known != migrations.Latest() ||
			!strings.Contains(err.Error(), words) {
			t.Errorf("error %v", err)
		}
	}
	check(0, "no schema")
	_, err := provider(t, config).UpTo(t.Context(), 2)
	must(t, err)
	check(2, "older")
	_, err = migrations.Up(t.Context(), config)
	must(t, err)
	must(t, migrations.Check(t.Context(), conn))
	run(t, conn, "insert into goose_db_version (version_id, is_applied) values (99999, true)")
	check(99999, "newer")
	run(t, conn, "drop table goose_db_version", "create table goose_db_version ()")
	if err := migrations.Check(t.Context(), conn); err == nil || errors.Is(err, sql.ErrNoRows) {
		t.Errorf("error %v", err)
	}
}
