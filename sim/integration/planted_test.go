package integration_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A bug that is planted into the service (a charge that timed out is sent again) is found by a
// sweep and by exploring one order, shrunk to a handful of choices, and replayed from its file
// every time; on the service as it is, the same file holds.
func TestPlantedBugIsFoundShrunkAndReplayed(t *testing.T) {
	dir := t.TempDir()
	clean, planted := build(t, dir, "clean", ""), build(t, dir, "planted", overlay(t, dir))
	file := filepath.Join(dir, "shrunk.json")

	out := simulate(t, 1, planted, "sweep", "--scenario", "provider-faults", "--seeds", "1-50",
		"--stop-on-first", "--out", dir)
	seed := find(t, out, `--seed (\d+)`)
	out = simulate(t, 1, planted, "shrink", "--scenario", "provider-faults", "--seed", seed,
		"--out", file)
	left := find(t, out, `SHRUNK: (\d+) choices`)
	if n, err := strconv.Atoi(left); err != nil || n > 15 {
		t.Errorf("%s choices are left", left)
	}
	out = simulate(t, 1, planted, "replay", "--times", "20", file)
	find(t, out, `INV-07 failed in 20 of 20 replays \((exact)\)`)
	out = simulate(t, 0, clean, "replay", "--loose", file)
	find(t, out, `INV-07 (held) in 1 of 1 replays`)

	out = simulate(t, 1, planted, "explore", "--outcomes", "0", "--out", dir)
	find(t, out, `EXPLORED: (\d+) of`)
	found, err := filepath.Glob(filepath.Join(dir, "one-order-1-*.json"))
	if err != nil || len(found) == 0 {
		t.Fatalf("exploring has written no replay: %v\n%s", err, out)
	}
	simulate(t, 1, planted, "replay", found[0])
	simulate(t, 0, clean, "replay", "--loose", found[0])
}

// overlay plants the bug and returns the overlay file.
func overlay(t *testing.T, dir string) string {
	t.Helper()
	source, err := filepath.Abs("../../service/order/outcome.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(AnswerTimeout: *\{OutcomeTransient, )OutcomeUnknown`)
	bad := row.ReplaceAll(text, []byte("${1}OutcomeTransient"))
	if string(bad) == string(text) {
		t.Fatal("the line to be changed is gone")
	}
	replacement, name := filepath.Join(dir, "outcome.go"), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {source: replacement}})
	err = errors.Join(err, os.WriteFile(replacement, bad, 0o600), os.WriteFile(name, list, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// build builds simulate, with an overlay where one is named.
func build(t *testing.T, dir, name, overlay string) string {
	t.Helper()
	binary := filepath.Join(dir, name)
	out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay="+overlay, "-o", binary,
		"ordeal/cmd/simulate").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// simulate runs the command, expects an exit code, and returns what it printed.
func simulate(t *testing.T, want int, binary string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), binary, args...)
	var errors strings.Builder
	c.Stderr = &errors
	out, _ := c.Output()
	if got := c.ProcessState.ExitCode(); got != want {
		t.Fatalf("simulate %s: exit code %d, want %d\n%s\n%s", strings.Join(args, " "), got,
			want, out, errors.String())
	}
	return string(out)
}

// find returns what the pattern's group matches in the output.
func find(t *testing.T, out, pattern string) string {
	t.Helper()
	match := regexp.MustCompile(pattern).FindStringSubmatch(out)
	if match == nil {
		t.Fatalf("no %s in\n%s", pattern, out)
	}
	return match[1]
}
