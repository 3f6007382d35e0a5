package integration_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ordeal/reports"
)

// A worker that is killed is a finding of the seed that it played, and the sweep goes on.
func TestKilledWorker(t *testing.T) {
	s := start(t, "--budget", "12s")
	killed := s.workers()[0]
	if err := syscall.Kill(killed, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r := s.end(t, reports.ExitViolated)
	if len(r.Failures) != 1 || r.Seeds.Failed != 1 {
		t.Fatalf("%+v with failures %+v", r.Seeds, r.Failures)
	}
	f := r.Failures[0]
	if f.Invariant != reports.Broken || !strings.Contains(f.Message, "signal: killed") ||
		f.Repeats != "0 of 10" || f.Command == "" {
		t.Errorf("failure %+v", f)
	}
	if r.Seeds.Passed < int(f.Seed) {
		t.Errorf("%d runs passed, though seed %d was not the last", r.Seeds.Passed, f.Seed)
	}
}

// A worker that hangs in the runtime's sense, here one that quits with a dump of its goroutines,
// leaves the dump in the report.
func TestGoroutineDump(t *testing.T) {
	s := start(t, "--budget", "12s")
	if err := syscall.Kill(s.workers()[0], syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	r := s.end(t, reports.ExitViolated)
	if len(r.Failures) != 1 || !strings.Contains(r.Failures[0].Detail, "goroutine ") {
		t.Errorf("failures %+v", r.Failures)
	}
}

// Ctrl-C reaches the whole process group.
func TestInterrupted(t *testing.T) {
	s := start(t)
	if err := syscall.Kill(-s.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	r := s.end(t, reports.ExitInterrupted)
	if len(r.Failures) > 0 {
		t.Errorf("failures %+v", r.Failures)
	}
	s.says(t, "interrupted; the result is partial")
	if len(s.workers()) > 0 {
		t.Error("a worker is left")
	}
}

// A database that goes away ends the sweep; it is no finding about the service.
func TestDatabaseStopped(t *testing.T) {
	s := start(t)
	pid, err := os.ReadFile(filepath.Join(s.serverFolder(t), "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	postmaster, err := strconv.Atoi(strings.Fields(string(pid))[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(postmaster, syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	r := s.end(t, reports.ExitEnvironment)
	if len(r.Failures) > 0 {
		t.Errorf("failures %+v", r.Failures)
	}
	s.says(t, "the result is partial")
	s.says(t, "database")
}

// A result that cannot be written is an error with a message, after what was played is printed.
func TestNoRoomForTheResult(t *testing.T) {
	out := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(out, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(binary, "sweep", "--scenario", "happy", "--seeds", "1-2", "--out",
		filepath.Join(out, "below"))
	var stderr output
	c.Stderr = &stderr
	stdout, _ := c.Output()
	if c.ProcessState.ExitCode() != reports.ExitEnvironment {
		t.Errorf("exit code %d: %s", c.ProcessState.ExitCode(), &stderr)
	}
	if !strings.Contains(stderr.String(), "write result") {
		t.Errorf("message %s", &stderr)
	}
	if !strings.Contains(string(stdout), "0 failed, 0 nondeterministic") {
		t.Errorf("no summary: %s", stdout)
	}
}

// Shards merge into what one sweep would have told.
func TestMerge(t *testing.T) {
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(binary, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for _, shard := range []string{"1", "2"} {
		run("sweep", "--scenario", "happy", "--seeds", "1-6", "--shard", shard+"/2",
			"--out", filepath.Join(dir, shard))
	}
	run("merge", filepath.Join(dir, "1"), filepath.Join(dir, "2"), "--out",
		filepath.Join(dir, "all"))
	r, err := reports.Read(filepath.Join(dir, "all"))
	if err != nil || r.Seeds.Run < 6 || r.Config["shard"] != "1/2, 2/2" {
		t.Errorf("merged %+v of %v, %v", r.Seeds, r.Config, err)
	}
	if exec.Command(binary, "merge", filepath.Join(dir, "3")).Run() == nil {
		t.Error("a missing shard is no error")
	}
}
