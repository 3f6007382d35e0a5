package integration_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ordeal/migrations"
	"ordeal/sim/pgserver"
)

// roles are those of the service.
var roles = []string{"ordeal_api", "ordeal_owner", "ordeal_readonly", "ordeal_relay",
	"ordeal_worker"}

// refused runs a statement and returns the SQLSTATE of its refusal, empty for none.
func refused(t *testing.T, conn *pgx.Conn, sql string) string {
	t.Helper()
	_, err := conn.Exec(t.Context(), sql)
	if reported, ok := errors.AsType[*pgconn.PgError](err); ok {
		return reported.Code
	}
	must(t, err)
	return ""
}

// allowed are the verbs that roles have on whole tables or on some columns; each other verb on
// each table must be refused.
var allowed = map[string]string{
	"ordeal_api": `workflow_states select; workflow_transitions select; workflow_takes select;
		orders select insert update; workflow_steps select insert update;
		order_history select insert; audit_events select insert; outbox select insert;
		refunds select insert; order_attention select delete; idempotency_keys select insert;
		principals select; discrepancies select; goose_db_version select`,
	"ordeal_worker": `workflow_states select; workflow_transitions select; workflow_takes select;
		refund_transitions select; orders select update; workflow_steps select insert update;
		step_attempts select insert update; order_history select insert;
		audit_events select insert; outbox select insert; refunds select update;
		order_attention select insert delete; discrepancies select insert;
		goose_db_version select`,
	"ordeal_relay": `outbox select update delete; goose_db_version select`,
	"ordeal_readonly": `workflow_states select; workflow_transitions select;
		workflow_takes select; refund_transitions select; orders select; workflow_steps select;
		step_attempts select; order_history select; audit_events select; outbox select;
		order_attention select; refunds select; discrepancies select; goose_db_version select`,
}

// TestVerbs: each role has exactly its verbs, on tables or columns, and the server refuses
// every other.
func TestVerbs(t *testing.T) {
	conn := connect(t, migrated(t))
	tables := texts(t, conn, `select relname::text from pg_class
		where relnamespace = 'public'::regnamespace and relkind = 'r'`)
	for role, text := range allowed {
		may := map[string][]string{}
		for row := range strings.SplitSeq(text, ";") {
			words := strings.Fields(row)
			may[words[0]] = words[1:]
		}
		for _, table := range tables {
			for _, verb := range []string{"select", "insert", "update", "delete", "truncate",
				"references", "trigger"} {
				check := fmt.Sprintf("has_table_privilege('%s', '%s', '%s')", role, table, verb)
				if verb != "delete" && verb != "truncate" && verb != "trigger" {
					check += fmt.Sprintf(" or has_any_column_privilege('%s', '%s', '%s')",
						role, table, verb)
				}
				var has bool
				must(t, conn.QueryRow(t.Context(), "select "+check).Scan(&has))
				if want := slices.Contains(may[table], verb); has != want {
					t.Errorf("%s: %s on %s is %t", role, verb, table, has)
				}
			}
		}
		run(t, conn, "set role "+role)
		for _, table := range tables {
			for _, verb := range []string{"delete from %s", "truncate %s",
				"alter table %s add x int", "drop table %s"} {
				sql := fmt.Sprintf(verb, table)
				lawful := strings.HasPrefix(verb, "delete") &&
					slices.Contains(may[table], "delete")
				if code := refused(t, conn, sql); !lawful && code != "42501" {
					t.Errorf("%s: %s: %q", role, sql, code)
				}
			}
		}
		for _, sql := range []string{"create table mine ()", "select apply_roles()",
			"alter table orders disable trigger all", "set session_replication_role = replica",
			"update orders set total = 1", "update orders set customer = ''",
			"update workflow_steps set request = ''", "update workflow_steps set provider_key = ''",
			"update step_attempts set executor = ''"} {
			if code := refused(t, conn, sql); code != "42501" {
				t.Errorf("%s: %s: %q", role, sql, code)
			}
		}
		run(t, conn, "reset role")
	}
}

// TestAppendOnly: what is never undone is refused to the owner, and to a superuser, by triggers.
func TestAppendOnly(t *testing.T) {
	conn := connect(t, migrated(t))
	run(t, conn, "set session_replication_role = replica",
		`insert into audit_events (order_id, audit_key, at, actor_type, actor_id, action, result)
		values (gen_random_uuid(), 'k', now(), 'a', 'a', 'a', 'a')`,
		`insert into order_history (order_id, version, from_state, to_state, event, at)
		values (gen_random_uuid(), 1, '', 'created', 'order_created', now())`,
		`insert into step_attempts (order_id, step_no, attempt_no, generation, executor, taken_at)
		values (gen_random_uuid(), 1, 1, 1, 'e', now())`,
		"set session_replication_role = origin")
	for _, role := range []string{"ordeal_owner", "none"} {
		run(t, conn, "set role "+role)
		for _, sql := range []string{
			"update audit_events set action = ''", "delete from audit_events",
			"truncate audit_events", "update order_history set event = ''",
			"delete from order_history", "truncate order_history", "truncate orders",
			"truncate workflow_steps", "delete from step_attempts", "truncate step_attempts",
		} {
			if code := refused(t, conn, sql); code != "23514" {
				t.Errorf("%s: %s: %q", role, sql, code)
			}
		}
		run(t, conn, "reset role")
	}
	// The first result of an attempt is the last.
	const record = "update step_attempts set outcome = 'succeeded', sent = true, recorded_at = now()"
	run(t, conn, record)
	if code := refused(t, conn, record); code != "23514" {
		t.Errorf("a second result: %q", code)
	}
}

// TestTimeouts: a role that is given a login has its timeouts.
func TestTimeouts(t *testing.T) {
	conn := connect(t, migrated(t))
	got := texts(t, conn, `select format('%s %s', r.rolname, array_to_string(setconfig, ' '))
		from pg_db_role_setting s
		join pg_database d on d.oid = s.setdatabase
		join pg_roles r on r.oid = s.setrole
		where d.datname = current_database()
		order by 1`)
	want := []string{}
	for _, row := range []string{"api 3s 3s 3s", "owner 0 10s 60s", "readonly 30s 1s 30s",
		"relay 3s 3s 3s", "worker 3s 3s 3s"} {
		w := strings.Fields(row)
		want = append(want, fmt.Sprintf("ordeal_%s statement_timeout=%s lock_timeout=%s "+
			"idle_in_transaction_session_timeout=%s", w[0], w[1], w[2], w[3]))
	}
	if !slices.Equal(got, want) {
		t.Errorf("settings %q", got)
	}
}

// member creates a role for the time of the test.
func member(t *testing.T, root *pgx.Conn, attributes string) (name string) {
	t.Helper()
	name = pgserver.UniqueName("migrator")
	run(t, root, fmt.Sprintf("create role %s %s", name, attributes))
	t.Cleanup(func() {
		_, err := root.Exec(context.Background(), "drop role "+name)
		if err != nil {
			t.Error(err)
		}
	})
	return name
}

// owned creates a database of a role and returns how to connect to it as that role.
func owned(t *testing.T, s *pgserver.Server, root *pgx.Conn, owner string) *pgx.ConnConfig {
	t.Helper()
	config := database(t, s)
	run(t, root, fmt.Sprintf("alter database %s owner to %s", config.Database, owner))
	config.RuntimeParams["role"] = owner
	return config
}

// TestLesserMigrators, on a server that has no roles yet (unless it is not ours): one who may not
// create them migrates all the same and is told what is missing; databases of one who may create
// them are migrated at once; and what was missing is made up for later.
func TestLesserMigrators(t *testing.T) {
	fresh, err := pgserver.Start(t.Context(), pgserver.Options{Log: os.Stderr})
	must(t, err)
	t.Cleanup(func() { must(t, fresh.Close()) })
	root, err := pgx.Connect(t.Context(), fresh.URL())
	must(t, err)
	t.Cleanup(func() { _ = root.Close(context.Background()) })
	const ours = "select rolname::text from pg_roles where rolname ~ '^ordeal_' order by 1"
	before := texts(t, root, ours)
	plain := owned(t, fresh, root, member(t, root, ""))
	maker := member(t, root, "createrole")

	_, err = migrations.Up(t.Context(), plain)
	must(t, err)
	skipped := apply(t, plain)
	if len(skipped) == 0 || !strings.Contains(strings.Join(skipped, ""), "permission denied") {
		t.Errorf("skipped %q", skipped)
	}
	if got := texts(t, root, ours); !slices.Equal(got, before) {
		t.Errorf("roles %v", got)
	}

	var all sync.WaitGroup
	for range 5 {
		config := owned(t, fresh, root, maker)
		all.Go(func() {
			if _, err := migrations.Up(t.Context(), config); err != nil {
				t.Errorf("at once: %v", err)
			}
		})
	}
	all.Wait()
	if got := texts(t, root, ours); !slices.Equal(got, roles) {
		t.Errorf("roles %v", got)
	}

	delete(plain.RuntimeParams, "role")
	skipped = apply(t, plain)
	given := texts(t, connect(t, plain), privileges, roles)
	if len(skipped) > 0 || len(given) < 60 {
		t.Errorf("later: %d privileges, skipped %q", len(given), skipped)
	}
}

// TestRoleMaker: who may create roles, and is no superuser, gets everything done, hands the
// tables to the owner, and can go on from there.
func TestRoleMaker(t *testing.T) {
	root, err := pgx.Connect(t.Context(), server.URL())
	must(t, err)
	t.Cleanup(func() { _ = root.Close(context.Background()) })
	maker := member(t, root, "createrole")
	if len(texts(t, root, "select rolname::text from pg_roles where rolname = 'ordeal_owner'")) > 0 {
		run(t, root, fmt.Sprintf("grant %s to %s with admin option",
			strings.Join(roles, ", "), maker))
	}
	config := owned(t, server, root, maker)
	_, err = migrations.Up(t.Context(), config)
	must(t, err)
	if skipped := apply(t, config); len(skipped) > 0 {
		t.Errorf("skipped %q", skipped)
	}
	conn := connect(t, config)
	owners := texts(t, conn, `select distinct pg_get_userbyid(relowner)::text from pg_class
		where relnamespace = 'public'::regnamespace and relkind = 'r'`)
	if !slices.Equal(owners, []string{"ordeal_owner"}) {
		t.Errorf("owners %v", owners)
	}
	run(t, conn, "alter table orders add later text")
}

// apply applies the roles and returns what was skipped.
func apply(t *testing.T, config *pgx.ConnConfig) []string {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), config)
	must(t, err)
	defer func() { must(t, conn.Close(t.Context())) }()
	skipped, err := migrations.ApplyRoles(t.Context(), conn)
	must(t, err)
	return skipped
}
