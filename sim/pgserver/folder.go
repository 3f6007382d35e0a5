package pgserver

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// socketPort names the socket file in the private folder; nobody else's can be there.
	socketPort = 5432

	// longestSocket is the most bytes that a socket's path may have on every system
	// (macOS: 104 with the closing NUL, Linux: 108).
	longestSocket = 103
)

// folderParents are the places for a private folder in order of preference: the user's
// temporary folder, then the usual ones, as the user's may be too deep for a socket or
// closed to the server's account.
func folderParents(temp string) []string {
	parents := []string{temp}
	for _, parent := range []string{"/tmp", "/var/tmp"} {
		if !slices.Contains(parents, parent) {
			parents = append(parents, parent)
		}
	}
	return parents
}

// folderIn names a new private folder below parent, or says why it cannot be there.
func folderIn(parent string) (string, error) {
	parent, err := filepath.Abs(parent)
	if err != nil {
		return "", fmt.Errorf("temporary folder: %w", err)
	}
	dir := filepath.Join(parent, "ordeal-pg-"+token())
	socket := filepath.Join(dir, fmt.Sprintf(".s.PGSQL.%d", socketPort))
	if len(socket) > longestSocket {
		return "", fmt.Errorf("%s is too deep for a socket (%d bytes, at most %d)",
			dir, len(socket), longestSocket)
	}
	if strings.ContainsAny(dir, ",\n") {
		return "", fmt.Errorf("%q: a comma or newline cannot be in a socket's folder", dir)
	}
	return dir, nil
}

// inFolder calls use with a new folder name in one place after the other until it succeeds.
func inFolder(use func(dir string) error) error {
	var failed []error
	for _, parent := range folderParents(os.TempDir()) {
		dir, err := folderIn(parent)
		if err == nil {
			err = use(dir)
		}
		if err == nil {
			return nil
		}
		failed = append(failed, err)
	}
	return fmt.Errorf("no place for a private folder: %w", errors.Join(failed...))
}

// token is 8 random hexadecimal digits.
func token() string {
	var b [4]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
