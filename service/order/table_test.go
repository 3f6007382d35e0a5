package order_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// row is one case of a text table.
type row struct {
	table  string
	number int // of its line, from 1
	text   string
	fields []string
}

// readTable returns the rows of a table in testdata; empty lines and prose (#) are none.
func readTable(t *testing.T, name string) []row {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		rows = append(rows, row{name, i + 1, line, strings.Fields(line)})
	}
	return rows
}

// errorf reports that a row does not hold.
func (r row) errorf(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Errorf("%s:%d: %s\n\t"+format, append([]any{r.table, r.number, r.text}, args...)...)
}

// arrow splits the fields of a row at its arrow; without one, expected is empty.
func (r row) arrow() (given, expected []string) {
	for i, f := range r.fields {
		if f == "→" {
			return r.fields[:i], r.fields[i+1:]
		}
	}
	return r.fields, nil
}

// attributes reads name=value fields, and bare names as names with an empty value.
func attributes(fields []string) map[string]string {
	values := map[string]string{}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		values[name] = value
	}
	return values
}

// coverage counts how often each case of a closed list was seen.
type coverage map[string]int

// expect adds a case that must be seen exactly once.
func (c coverage) expect(parts ...string) { c[strings.Join(parts, " ")] += 0 }

// see records that a row covers a case, which must be one of the expected and new.
func (c coverage) see(t *testing.T, r row, parts ...string) {
	t.Helper()
	key := strings.Join(parts, " ")
	seen, expected := c[key]
	if !expected {
		r.errorf(t, "no such case: %s", key)
		return
	}
	if seen > 0 {
		r.errorf(t, "a second row for: %s", key)
	}
	c[key]++
}

// complete reports the cases that no row covers.
func (c coverage) complete(t *testing.T, table string) {
	t.Helper()
	for key, seen := range c {
		if seen == 0 {
			t.Errorf("%s: no row for: %s", table, key)
		}
	}
}
