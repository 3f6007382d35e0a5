package api

import (
	"strings"
	"testing"
)

func TestKnows(t *testing.T) {
	const tag = `"abc"`
	rows := []struct {
		fields []string
		want   bool
	}{
		{nil, false},
		{[]string{""}, false},
		{[]string{"*"}, true},
		{[]string{" * "}, true},
		{[]string{`"abc"`}, true},
		{[]string{`W/"abc"`}, true},
		{[]string{`"x", "abc"`}, true},
		{[]string{`"x","abc"`}, true},
		{[]string{`"x"`, `W/"abc"`}, true},
		{[]string{`, ,"abc"`}, true},
		{[]string{`"a,b", "abc"`}, true},
		{[]string{`"x, abc"`}, false},
		{[]string{"abc"}, false},
		{[]string{`abc"`}, false},
		{[]string{`"abc`}, false},
		{[]string{`"ABC"`}, false},
		{[]string{`w/"abc"`}, false},
		{[]string{`"x", *`}, false},
		{[]string{`""`}, false},
		{[]string{`"`}, false},
	}
	for _, row := range rows {
		if knows(row.fields, tag) != row.want {
			t.Errorf("%q: %v", row.fields, !row.want)
		}
	}
}

// FuzzKnows: a list that has the tag between two other fields has it.
func FuzzKnows(f *testing.F) {
	f.Add(`"x"`)
	f.Add(`W/"`)
	f.Add(`*`)
	f.Fuzz(func(t *testing.T, field string) {
		tag := tagOf([]byte(field))
		if !knows([]string{tag, field}, tag) {
			t.Errorf("%q hides %s", field, tag)
		}
		if knows([]string{field}, tag) && strings.Trim(field, " \t") != "*" {
			t.Errorf("%q has %s", field, tag) // a hash of the field is not in the field
		}
	})
}
