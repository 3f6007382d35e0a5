package pgserver

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFolderIn(t *testing.T) {
	dir, err := folderIn("/tmp")
	if err != nil {
		t.Fatal(err)
	}
	other, err := folderIn("/tmp")
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(dir) != "/tmp" || dir == other {
		t.Fatalf("folders %s and %s", dir, other)
	}
	deep := "/" + strings.Repeat("deep/", 20)
	for _, parent := range []string{deep, "/with,comma", "/two\nlines"} {
		if dir, err := folderIn(parent); err == nil {
			t.Errorf("folder %q", dir)
		}
	}
}

func TestFolderParents(t *testing.T) {
	for temp, want := range map[string][]string{
		"/srv/me/tmp": {"/srv/me/tmp", "/tmp", "/var/tmp"},
		"/tmp":        {"/tmp", "/var/tmp"},
	} {
		if got := folderParents(temp); !slices.Equal(got, want) {
			t.Errorf("%s: %v", temp, got)
		}
	}
}

func TestInFolder(t *testing.T) {
	t.Setenv("TMPDIR", "/"+strings.Repeat("deep/", 20))
	var used []string
	err := inFolder(func(dir string) error {
		used = append(used, filepath.Dir(dir))
		if len(used) == 1 {
			return errors.New("closed")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(used, []string{"/tmp", "/var/tmp"}) {
		t.Fatalf("used %v", used)
	}
	full := errors.New("full")
	if err := inFolder(func(string) error { return full }); !errors.Is(err, full) {
		t.Fatal(err)
	}
}
