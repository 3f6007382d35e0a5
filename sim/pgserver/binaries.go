package pgserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// versionedFolders are where distributions put the server programs of each version.
var versionedFolders = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/lib/postgresql*/bin",
	"/usr/libexec/postgresql*",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql@*/bin",
	"/usr/local/opt/postgresql@*/bin",
	"/usr/local/pgsql/bin",
}

// binaries are the server programs of one installation.
type binaries struct {
	folder  string
	version version
}

// binarySearch looks for server programs. Its fields are the machine.
type binarySearch struct {
	getenv   func(string) string
	lookPath func(string) (string, error)
	glob     func(string) ([]string, error)
	version  func(ctx context.Context, folder string) (version, error)
}

// thisMachine searches the machine that the process runs on.
func thisMachine() binarySearch {
	return binarySearch{
		getenv:   os.Getenv,
		lookPath: exec.LookPath,
		glob:     filepath.Glob,
		version:  binaryVersion,
	}
}

// find returns the first usable programs: those in ORDEAL_POSTGRES_BIN and no others if that
// is set; else those on the PATH; else the highest version in a distribution's folder.
func (b binarySearch) find(ctx context.Context) (binaries, error) {
	if named := b.getenv("ORDEAL_POSTGRES_BIN"); named != "" {
		found, err := b.usable(ctx, named)
		if err != nil {
			return binaries{}, fmt.Errorf("ORDEAL_POSTGRES_BIN: %w", err)
		}
		return found, nil
	}
	var refused []error
	for _, folder := range b.folders() {
		found, err := b.usable(ctx, folder)
		if err == nil {
			return found, nil
		}
		refused = append(refused, err)
	}
	if len(refused) == 0 {
		return binaries{}, errors.New("no initdb and postgres on the PATH or in a usual folder")
	}
	return binaries{}, errors.Join(refused...)
}

// folders are the folders with server programs, best first.
func (b binarySearch) folders() []string {
	var folders []string
	if initdb, err := b.lookPath("initdb"); err == nil {
		folders = append(folders, filepath.Dir(initdb))
	}
	var versioned []string
	for _, pattern := range versionedFolders {
		matches, err := b.glob(filepath.Join(pattern, "initdb"))
		if err != nil {
			continue
		}
		for _, initdb := range matches {
			versioned = append(versioned, filepath.Dir(initdb))
		}
	}
	slices.SortStableFunc(versioned, func(x, y string) int {
		return cmp.Compare(numberInPath(y), numberInPath(x))
	})
	return append(folders, versioned...)
}

// numberInPath is the last number in a path, 0 if there is none.
func numberInPath(path string) int {
	words := strings.FieldsFunc(path, func(r rune) bool { return r < '0' || r > '9' })
	if len(words) == 0 {
		return 0
	}
	n, err := strconv.Atoi(words[len(words)-1])
	if err != nil {
		return 0
	}
	return n
}

func (b binarySearch) usable(ctx context.Context, folder string) (binaries, error) {
	v, err := b.version(ctx, folder)
	if err != nil {
		return binaries{}, fmt.Errorf("%s: %w", folder, err)
	}
	if err := v.supported(); err != nil {
		return binaries{}, fmt.Errorf("%s: %w", folder, err)
	}
	return binaries{folder: folder, version: v}, nil
}

// binaryVersion asks the programs themselves; both must be there, and of one version.
func binaryVersion(ctx context.Context, folder string) (version, error) {
	var versions [2]version
	for i, program := range []string{"initdb", "postgres"} {
		out, err := exec.CommandContext(ctx, filepath.Join(folder, program), "--version").Output()
		if err != nil {
			return version{}, fmt.Errorf("%s --version: %w", program, err)
		}
		if versions[i], err = parseVersion(string(out)); err != nil {
			return version{}, err
		}
	}
	if versions[0] != versions[1] {
		return version{}, fmt.Errorf("initdb is %s but postgres %s",
			versions[0].text, versions[1].text)
	}
	return versions[1], nil
}
