package engine_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A plain program runs bubbles, keeps its flags and exit code, and dies loudly where the engine
// cannot catch what a service does.
func TestHost(t *testing.T) {
	program := filepath.Join(t.TempDir(), "host")
	if out, err := exec.Command("go", "build", "-o", program, "./testdata/host").
		CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for mode, want := range map[string]struct {
		code int
		text string
	}{
		"runs":  {7, "1000 runs"},
		"panic": {2, "boom"},
		"hang":  {2, "seed 4711: still running after 1s"},
	} {
		out, err := exec.Command(program, mode, "-flag").CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != want.code {
			t.Errorf("%s: %v", mode, err)
		}
		if !strings.Contains(string(out), want.text) {
			t.Errorf("%s: no %q in\n%s", mode, want.text, out)
		}
	}
}
