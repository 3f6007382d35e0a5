package integration_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// runs tells which role runs which statement of the store. Those of the owner are its own.
var runs = map[string][]string{
	"ordeal_api": {
		"FindPrincipal", "CreateOrder", "FindAnswer", "LockOrder", "CancelOrder", "FindOrder",
		"ListOrders", "LockAnyOrder", "DecideCommand", "AuditRefusal", "OrderExists", "ListAudit",
		"CountOpen", "CountClosed", "CountFlagged", "CountDiscrepancies", "MeasureOutbox",
		"DescribeServer",
		"SchemaVersion",
	},
	"ordeal_worker": {
		"TakeSteps", "RenewLeases", "RecordResults", "ExpiredSteps", "ExpireReservations",
		"FlagUnknownVersions",
		"CountOpen", "CountClosed", "CountFlagged", "CountDiscrepancies", "MeasureOutbox",
		"DescribeServer",
		"SchemaVersion",
	},
	"ordeal_owner": {"SeedPrincipal"},
}

var named = regexp.MustCompile(`^-- name: (\w+)\n`)

// statements reads the named statements from the source of the service: they are constants, put
// together from others.
func statements(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, folder := range []string{"../../service/store", ".."} {
		fset := token.NewFileSet()
		paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
		must(t, err)
		var files []*ast.File
		for _, path := range paths {
			if !strings.HasSuffix(path, "_test.go") {
				file, err := parser.ParseFile(fset, path, nil, 0)
				must(t, err)
				files = append(files, file)
			}
		}
		info := types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
		// Imports are not resolved: the constants need none.
		unresolved := types.Config{Error: func(error) {}, Importer: nothing{}}
		_, _ = unresolved.Check(folder, fset, files, &info)
		for _, value := range info.Types {
			if value.Value == nil || value.Value.Kind() != constant.String {
				continue
			}
			sql := constant.StringVal(value.Value)
			if name := named.FindStringSubmatch(sql); name != nil &&
				len(sql) > len(found[name[1]]) {
				found[name[1]] = sql
			}
		}
	}
	delete(found, "MigrationLockHolder")
	return found
}

// nothing imports nothing.
type nothing struct{}

func (nothing) Import(string) (*types.Package, error) { return nil, errors.New("not there") }

// explainer plans statements as a role, which checks its privileges without running anything.
type explainer struct {
	*testing.T
	conn       *pgx.Conn
	statements map[string]string
}

// prepare makes the statements known to the session.
func (e explainer) prepare() {
	e.Helper()
	run(e.T, e.conn, "set plan_cache_mode = force_generic_plan")
	for name, sql := range e.statements {
		run(e.T, e.conn, fmt.Sprintf("prepare %q as %s", name, sql))
	}
}

// denied tells whether a role lacks a privilege for a statement.
func (e explainer) denied(role, name string) bool {
	e.Helper()
	var n int
	must(e.T, e.conn.QueryRow(e.Context(), `select coalesce(cardinality(parameter_types), 0)
		from pg_prepared_statements where name = $1`, name).Scan(&n))
	arguments := ""
	if n > 0 {
		arguments = "(null" + strings.Repeat(", null", n-1) + ")"
	}
	run(e.T, e.conn, "set role "+role)
	defer run(e.T, e.conn, "reset role")
	_, err := e.conn.Exec(e.Context(), fmt.Sprintf("explain execute %q%s", name, arguments))
	reported, ok := errors.AsType[*pgconn.PgError](err)
	if err != nil && (!ok || reported.Code != "42501") {
		e.Fatalf("%s: %v", name, err)
	}
	return err != nil
}

// newExplainer connects to a migrated database.
func newExplainer(t *testing.T) explainer {
	t.Helper()
	config := migrated(t)
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	e := explainer{T: t, conn: connect(t, config), statements: statements(t)}
	e.prepare()
	return e
}

// TestEveryStatementHasItsRole: each role can run its statements and no other's.
func TestEveryStatementHasItsRole(t *testing.T) {
	e := newExplainer(t)
	if len(e.statements) < 20 {
		t.Fatalf("only %d statements found", len(e.statements))
	}
	for role, names := range runs {
		for _, name := range names {
			if e.statements[name] == "" {
				t.Errorf("%s has no statement %s", role, name)
			}
		}
	}
	for name := range e.statements {
		owned := false
		for role, names := range runs {
			owned = owned || slices.Contains(names, name)
			if slices.Contains(names, name) && e.denied(role, name) {
				t.Errorf("%s may not run %s", role, name)
			}
		}
		if !owned {
			t.Errorf("no role runs %s", name)
		}
	}
	for role, names := range map[string][]string{
		"ordeal_api":      {"TakeSteps", "RecordResults", "SeedPrincipal"},
		"ordeal_worker":   {"FindPrincipal", "CreateOrder", "DecideCommand", "SeedPrincipal"},
		"ordeal_relay":    {"FindPrincipal", "CreateOrder", "TakeSteps", "RecordResults"},
		"ordeal_readonly": {"FindPrincipal", "FindAnswer", "CreateOrder", "TakeSteps"},
	} {
		for _, name := range names {
			if !e.denied(role, name) {
				t.Errorf("%s may run %s", role, name)
			}
		}
	}
}

// privileges lists what roles have been given on tables and columns, as grants.
const privileges = `
select format('%s on %I %s %I', lower(a.privilege_type), c.relname, 'ROLE', pg_get_userbyid(a.grantee))
from pg_class c
cross join lateral aclexplode(c.relacl) a
where c.relnamespace = 'public'::regnamespace
    and c.relkind = 'r'
    and pg_get_userbyid(a.grantee) = any ($1)
union all
select format('%s (%I) on %I %s %I',
    lower(a.privilege_type), x.attname, c.relname, 'ROLE', pg_get_userbyid(a.grantee))
from pg_class c
join pg_attribute x on x.attrelid = c.oid
cross join lateral aclexplode(x.attacl) a
where c.relnamespace = 'public'::regnamespace
    and pg_get_userbyid(a.grantee) = any ($1)
order by 1`

// TestNoPrivilegeIsIdle: of what the API and the workers have been given, each single privilege
// is needed by a statement.
func TestNoPrivilegeIsIdle(t *testing.T) {
	e := newExplainer(t)
	for _, role := range []string{"ordeal_api", "ordeal_worker"} {
		given := texts(t, e.conn, privileges, []string{role})
		if len(given) < 30 {
			t.Fatalf("%s has only %v", role, given)
		}
		for _, grant := range given {
			run(t, e.conn, "revoke "+strings.Replace(grant, "ROLE", "from", 1))
			needed := slices.ContainsFunc(runs[role], func(name string) bool {
				return e.denied(role, name)
			})
			run(t, e.conn, "grant "+strings.Replace(grant, "ROLE", "to", 1))
			if !needed {
				t.Errorf("nothing needs %s", strings.Replace(grant, "ROLE", "to", 1))
			}
		}
	}
}
