package engine

import "testing"

// What the engine reads from the text of a statement.
func TestStatementText(t *testing.T) {
	for _, c := range []struct {
		sql     string
		name    string
		session bool
		empty   bool
	}{
		{"-- name: Take\nselect 1", "Take", false, false},
		{"\n\t-- name:  Pay  (guarded)\nupdate x", "Pay", false, false},
		{"select  *\n\tfrom x", "select * from x", false, false},
		{"-- ping", "-- ping", false, true},
		{"", "", false, true},
		{"set application_name = 'x'", "set application_name = 'x'", true, false},
		{"-- name: Set\nSET x = 1", "Set", true, false},
		{"set local x = 1", "set local x = 1", false, false},
		{"set transaction isolation level serializable",
			"set transaction isolation level serializable", false, false},
		{"create temporary table x ()", "create temporary table x ()", true, false},
		{"create table x ()", "create table x ()", false, false},
		{"select pg_advisory_lock(1)", "select pg_advisory_lock(1)", true, false},
		{"listen x", "listen x", true, false},
	} {
		if got := statementName(c.sql); got != c.name {
			t.Errorf("%q: name %q", c.sql, got)
		}
		if got := changesSession(c.sql); got != c.session {
			t.Errorf("%q: session %t", c.sql, got)
		}
		if got := isEmptyQuery(c.sql); got != c.empty {
			t.Errorf("%q: empty %t", c.sql, got)
		}
	}
}
