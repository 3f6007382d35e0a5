package pgserver

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestUniqueName(t *testing.T) {
	seen := make(map[string]bool)
	for _, prefix := range []string{"a", "a", "", strings.Repeat("long", 30)} {
		name := UniqueName(prefix)
		if len(name) > 63 {
			t.Errorf("%s has %d bytes", name, len(name))
		}
		if seen[name] {
			t.Errorf("%s twice", name)
		}
		seen[name] = true
		if !strings.HasPrefix(name, prefix[:min(len(prefix), 20)]) {
			t.Errorf("%s does not start with %s", name, prefix)
		}
		if !strings.Contains(name, "_"+strconv.Itoa(os.Getpid())+"_") {
			t.Errorf("%s does not name this process", name)
		}
	}
}
