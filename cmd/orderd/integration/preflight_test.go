package integration_test

import (
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestPreflight: a process does not start on a database that it must not work with, says what to
// do, and all of it at once.
func TestPreflight(t *testing.T) {
	database := emptyDatabase(t)
	env := append(os.Environ(), "ORDERD_DATABASE_URL="+database,
		"ORDERD_LISTEN=127.0.0.1:0", "ORDERD_WAREHOUSE_URL=http://127.0.0.1:1",
		"ORDERD_PAYMENT_URL=http://127.0.0.1:1", "ORDERD_SHIPPING_URL=http://127.0.0.1:1")
	conn, err := pgx.Connect(t.Context(), database)
	must(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	refuse := func(words []string, args ...string) {
		t.Helper()
		_, errs, code := orderd(t, env, append([]string{"serve"}, args...)...)
		if code != 1 {
			t.Errorf("code %d\n%s", code, errs)
		}
		for _, word := range words {
			if !strings.Contains(errs, word) {
				t.Errorf("no word of %s in\n%s", word, errs)
			}
		}
	}
	run := func(sql string) {
		t.Helper()
		_, err := conn.Exec(t.Context(), sql)
		must(t, err)
	}
	name := pgx.Identifier{conn.Config().Database}.Sanitize()
	run("alter database " + name + " set synchronous_commit = off")
	refuse([]string{"no schema", "migrate", "synchronous_commit", "--dev", "1002 connections"},
		"--pool-size=1000")
	refuse([]string{"no schema"}, "--dev")
	if _, errs, code := orderd(t, env, "migrate"); code != 0 {
		t.Fatal(errs)
	}
	refuse([]string{"synchronous_commit"})
	refuse([]string{"connections"}, "--dev", "--pool-size=1000")
	run("update goose_db_version set version_id = 90000 where version_id = 1")
	refuse([]string{"version 90000, newer"}, "--dev")
	run("delete from goose_db_version where version_id > 2")
	refuse([]string{"version 2, older", "migrate"}, "--dev")
}
