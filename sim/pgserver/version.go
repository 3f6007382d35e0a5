package pgserver

import (
	"fmt"
	"strconv"
	"strings"
)

// The supported major versions, both included.
const (
	oldestMajor = 15
	newestMajor = 18
)

// version is that of a server: the major number and the whole as the server spells it.
type version struct {
	major int
	text  string
}

// parseVersion reads what `postgres --version` prints or what server_version holds:
// "postgres (PostgreSQL) 15.18 (Debian 15.18-0)", "17.2", "18beta1".
func parseVersion(text string) (version, error) {
	words := strings.Fields(text)
	for _, word := range words {
		digits := len(word) - len(strings.TrimLeft(word, "0123456789"))
		if digits == 0 {
			continue
		}
		major, err := strconv.Atoi(word[:digits])
		if err != nil {
			return version{}, fmt.Errorf("version %q: %w", text, err)
		}
		return version{major: major, text: word}, nil
	}
	return version{}, fmt.Errorf("version %q: no number in it", text)
}

// supported is nil for a version that the project supports.
func (v version) supported() error {
	if v.major < oldestMajor || v.major > newestMajor {
		return fmt.Errorf("version %s is not supported (PostgreSQL %d to %d are)",
			v.text, oldestMajor, newestMajor)
	}
	return nil
}
