package pgserver

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// machine is a binarySearch over made-up folders, each with the version of its programs.
func machine(env map[string]string, path string, folders map[string]string) binarySearch {
	return binarySearch{
		getenv: environment(env),
		lookPath: func(program string) (string, error) {
			if path == "" {
				return "", errors.New("not found")
			}
			return filepath.Join(path, program), nil
		},
		glob: func(pattern string) ([]string, error) {
			var found []string
			for folder := range folders {
				file := filepath.Join(folder, "initdb")
				if ok, err := filepath.Match(pattern, file); err != nil || !ok {
					continue
				}
				found = append(found, file)
			}
			return found, nil
		},
		version: func(_ context.Context, folder string) (version, error) {
			text, ok := folders[folder]
			if !ok {
				return version{}, errors.New("no programs")
			}
			return parseVersion(text)
		},
	}
}

func TestFindBinaries(t *testing.T) {
	const debian = "/usr/lib/postgresql/"
	all := map[string]string{
		"/opt/pg/bin":                         "17.2",
		"/old/bin":                            "14.9",
		debian + "9.6/bin":                    "9.6.24",
		debian + "15/bin":                     "15.18",
		debian + "16/bin":                     "16.9",
		debian + "19/bin":                     "19.0",
		"/opt/homebrew/opt/postgresql@18/bin": "18.1",
	}
	only := func(folders ...string) map[string]string {
		some := make(map[string]string)
		for _, folder := range folders {
			some[folder] = all[folder]
		}
		return some
	}
	named := map[string]string{"ORDEAL_POSTGRES_BIN": "/opt/pg/bin"}
	for _, c := range []struct {
		name    string
		machine binarySearch
		want    string
	}{
		{"named", machine(named, debian+"15/bin", all), "/opt/pg/bin"},
		{"on the PATH", machine(nil, debian+"15/bin", all), debian + "15/bin"},
		{"too old on the PATH", machine(nil, "/old/bin", all),
			"/opt/homebrew/opt/postgresql@18/bin"},
		{"highest supported", machine(nil, "",
			only(debian+"9.6/bin", debian+"15/bin", debian+"16/bin", debian+"19/bin")),
			debian + "16/bin"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, err := c.machine.find(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if found.folder != c.want {
				t.Fatalf("found %s, want %s", found.folder, c.want)
			}
		})
	}
}

func TestFindNoBinaries(t *testing.T) {
	missing := map[string]string{"ORDEAL_POSTGRES_BIN": "/missing"}
	for _, c := range []struct {
		name    string
		machine binarySearch
		want    string
	}{
		{"none", machine(nil, "", nil), "no initdb and postgres on the PATH"},
		{"named but missing", machine(missing, "/usr/lib/postgresql/15/bin",
			map[string]string{"/usr/lib/postgresql/15/bin": "15.1"}),
			"ORDEAL_POSTGRES_BIN: /missing: no programs"},
		{"too old", machine(nil, "/old", map[string]string{"/old": "14.9"}),
			"/old: version 14.9 is not supported (PostgreSQL 15 to 18 are)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.machine.find(context.Background())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %s", err, c.want)
			}
		})
	}
}
