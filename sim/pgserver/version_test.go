package pgserver

import "testing"

func TestParseVersion(t *testing.T) {
	for _, c := range []struct {
		text      string
		want      string
		major     int
		supported bool
	}{
		{"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n", "15.18", 15, true},
		{"initdb (PostgreSQL) 17.2", "17.2", 17, true},
		{"16.4 (Homebrew)", "16.4", 16, true},
		{"18beta1", "18beta1", 18, true},
		{"postgres (PostgreSQL) 14.9", "14.9", 14, false},
		{"9.6.24", "9.6.24", 9, false},
		{"19devel", "19devel", 19, false},
	} {
		t.Run(c.text, func(t *testing.T) {
			got, err := parseVersion(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if got != (version{major: c.major, text: c.want}) {
				t.Fatalf("version %+v", got)
			}
			if err := got.supported(); (err == nil) != c.supported {
				t.Fatalf("supported: %v", err)
			}
		})
	}
}

func TestParseNoVersion(t *testing.T) {
	for _, text := range []string{"", "PostgreSQL", "99999999999999999999.1"} {
		if v, err := parseVersion(text); err == nil {
			t.Errorf("%q is version %+v", text, v)
		}
	}
}
