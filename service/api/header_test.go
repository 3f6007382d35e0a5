package api

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestIdempotencyKey(t *testing.T) {
	long := strings.Repeat("k", 255)
	rows := []struct {
		name   string
		fields []string
		key    string
		code   code
	}{
		{"none", nil, "", codeKeyMissing},
		{"bare", []string{"abc"}, "abc", ""},
		{"quoted", []string{`"abc"`}, "abc", ""},
		{"white space around", []string{" \tabc\t "}, "abc", ""},
		{"space inside", []string{"a b"}, "a b", ""},
		{"spaces in quotes", []string{`" a "`}, " a ", ""},
		{"escapes", []string{`"a\"b\\c"`}, `a"b\c`, ""},
		{"bare backslash", []string{`a\b`}, `a\b`, ""},
		{"bare quote inside", []string{`a"b`}, `a"b`, ""},
		{"all of ASCII", []string{"!#$%&'()*+,-./:;<=>?@[]^_`{|}~"},
			"!#$%&'()*+,-./:;<=>?@[]^_`{|}~", ""},
		{"255", []string{long}, long, ""},
		{"255 quoted", []string{`"` + long + `"`}, long, ""},
		{"255 escaped", []string{`"` + strings.Repeat(`\"`, 255) + `"`},
			strings.Repeat(`"`, 255), ""},
		{"256", []string{long + "k"}, "", codeKeyInvalid},
		{"256 quoted", []string{`"` + long + `k"`}, "", codeKeyInvalid},
		{"empty", []string{""}, "", codeKeyInvalid},
		{"blank", []string{"  "}, "", codeKeyInvalid},
		{"empty quoted", []string{`""`}, "", codeKeyInvalid},
		{"two fields", []string{"abc", "abc"}, "", codeKeyInvalid},
		{"two in one", []string{`"abc", "abc"`}, "", codeKeyInvalid},
		{"parameters", []string{`"abc";a=1`}, "", codeKeyInvalid},
		{"open quote", []string{`"abc`}, "", codeKeyInvalid},
		{"lone quote", []string{`"`}, "", codeKeyInvalid},
		{"escaped end", []string{`"abc\"`}, "", codeKeyInvalid},
		{"bad escape", []string{`"a\bc"`}, "", codeKeyInvalid},
		{"tab inside", []string{"a\tb"}, "", codeKeyInvalid},
		{"NUL", []string{"a\x00b"}, "", codeKeyInvalid},
		{"DEL", []string{"a\x7f"}, "", codeKeyInvalid},
		{"not ASCII", []string{"ключ"}, "", codeKeyInvalid},
		{"not UTF-8", []string{"a\xff"}, "", codeKeyInvalid},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			key, err := requiredKey(http.Header{"Idempotency-Key": row.fields})
			if row.code != "" {
				if err == nil || err.(*refusal).code != row.code {
					t.Fatalf("%q %v, want %s", key, err, row.code)
				}
				return
			}
			if err != nil || key != row.key {
				t.Fatalf("%q %v, want %q", key, err, row.key)
			}
		})
	}
}

// TestQuotedKeyRoundTrip: every key can be sent quoted.
func TestQuotedKeyRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.StringMatching(`[ -~]{1,255}`).Draw(t, "key")
		key, ok := canonicalKey(quote(want))
		if !ok || key != want {
			t.Fatalf("%q %v, want %q", key, ok, want)
		}
	})
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// FuzzIdempotencyKey: a key is 1 to 255 printable ASCII characters and means itself when quoted.
func FuzzIdempotencyKey(f *testing.F) {
	for _, seed := range []string{"abc", `"abc"`, `"a\"b\\c"`, `"abc`, "", `"`, "a,b", `"\`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, field string) {
		key, ok := canonicalKey(field)
		if !ok {
			return
		}
		if len(key) < 1 || len(key) > 255 || !utf8.ValidString(key) || !printable(key) {
			t.Fatalf("%q gave %q", field, key)
		}
		if again, ok := canonicalKey(quote(key)); !ok || again != key {
			t.Fatalf("%q: %q %v", key, again, ok)
		}
	})
}

const (
	trace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	parent = "00f067aa0ba902b7"
)

func TestTraceID(t *testing.T) {
	valid := "00-" + trace + "-" + parent + "-01"
	rows := []struct {
		name   string
		fields []string
		ok     bool
	}{
		{"valid", []string{valid}, true},
		{"not sampled", []string{"00-" + trace + "-" + parent + "-00"}, true},
		{"later version", []string{"01-" + trace + "-" + parent + "-01"}, true},
		{"later version with more", []string{"cc-" + trace + "-" + parent + "-01-what"}, true},
		{"none", nil, false},
		{"empty", []string{""}, false},
		{"two", []string{valid, valid}, false},
		{"version 00 with more", []string{valid + "-what"}, false},
		{"later version run on", []string{"cc-" + trace + "-" + parent + "-01.what"}, false},
		{"version ff", []string{"ff-" + trace + "-" + parent + "-01"}, false},
		{"capitals", []string{strings.ToUpper(valid)}, false},
		{"zero trace", []string{"00-" + strings.Repeat("0", 32) + "-" + parent + "-01"}, false},
		{"zero parent", []string{"00-" + trace + "-" + strings.Repeat("0", 16) + "-01"}, false},
		{"short trace", []string{"00-" + trace[1:] + "-" + parent + "-011"}, false},
		{"no digit", []string{"00-" + trace[1:] + "g-" + parent + "-01"}, false},
		{"short", []string{valid[:54]}, false},
		{"white space", []string{" " + valid[:54]}, false},
		{"other separators", []string{strings.ReplaceAll(valid, "-", "_")}, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			id, ok := traceID(http.Header{"Traceparent": row.fields})
			if ok != row.ok || ok && id != trace {
				t.Errorf("%q %v", id, ok)
			}
		})
	}
}

// FuzzTraceparent: a trace id is 32 lower-case hexadecimal digits of the field, not all zero.
func FuzzTraceparent(f *testing.F) {
	f.Add("00-" + trace + "-" + parent + "-01")
	f.Add("cc-" + trace + "-" + parent + "-01-what")
	f.Add("")
	f.Fuzz(func(t *testing.T, field string) {
		id, ok := traceID(http.Header{"Traceparent": {field}})
		if !ok {
			return
		}
		if !digits(id, 32) || strings.Trim(id, "0") == "" || field[3:35] != id {
			t.Fatalf("%q gave %q", field, id)
		}
	})
}

func TestRequestID(t *testing.T) {
	rows := []struct {
		fields []string
		ok     bool
	}{
		{[]string{"a"}, true},
		{[]string{"Az09._-"}, true},
		{[]string{strings.Repeat("a", 64)}, true},
		{[]string{strings.Repeat("a", 65)}, false},
		{nil, false},
		{[]string{""}, false},
		{[]string{"a", "b"}, false},
		{[]string{"a b"}, false},
		{[]string{"a\nb"}, false},
		{[]string{`a"`}, false},
		{[]string{"é"}, false},
	}
	for _, row := range rows {
		id, ok := requestID(http.Header{"X-Request-Id": row.fields})
		if ok != row.ok || ok && id != row.fields[0] {
			t.Errorf("%q: %q %v", row.fields, id, ok)
		}
	}
}

func TestJSONByType(t *testing.T) {
	rows := []struct {
		types    []string
		encoding string
		ok       bool
	}{
		{[]string{"application/json"}, "", true},
		{[]string{"Application/JSON"}, "", true},
		{[]string{"application/json; charset=utf-8"}, "", true},
		{[]string{`application/json;charset="UTF-8"`}, "", true},
		{[]string{"application/json; charset=latin1"}, "", false},
		{[]string{"application/json; profile=x"}, "", false},
		{[]string{"application/problem+json"}, "", false},
		{[]string{"text/json"}, "", false},
		{[]string{"application/json", "application/json"}, "", false},
		{[]string{"application/json;;;="}, "", false},
		{[]string{""}, "", false},
		{nil, "", false},
		{[]string{"application/json"}, "gzip", false},
	}
	for _, row := range rows {
		h := http.Header{"Content-Type": row.types}
		if row.encoding != "" {
			h.Set("Content-Encoding", row.encoding)
		}
		if jsonByType(h) != row.ok {
			t.Errorf("%q %q: %v", row.types, row.encoding, !row.ok)
		}
	}
}
