// Package integration_test runs the built command against what can happen to a sweep: a killed
// worker, a lost database, a full disk, Ctrl-C. It fails without a PostgreSQL server on the
// machine.
package integration_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ordeal/reports"
)

// binary is the command under test.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "simulate")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "simulate")
	build := exec.Command("go", "build", "-o", binary, "ordeal/cmd/simulate")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// sweep is a sweep of the built command on its way.
type sweep struct {
	*exec.Cmd
	out    string
	stderr output
}

// output collects what a process writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start starts an endless sweep in a process group of its own and waits until it plays.
func start(t *testing.T, args ...string) *sweep {
	t.Helper()
	s := &sweep{out: filepath.Join(t.TempDir(), "out")}
	args = append([]string{"sweep", "--scenario", "happy", "--seeds", "1-1000000",
		"--workers", "1", "--out", s.out}, args...)
	s.Cmd = exec.Command(binary, args...)
	s.Stderr = &s.stderr
	s.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Process.Kill() })
	s.eventually(t, "a worker", func() bool { return len(s.workers()) > 0 })
	time.Sleep(2 * time.Second) // some runs
	return s
}

// eventually waits for a condition.
func (s *sweep) eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 600 {
		if holds() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("no %s: %s", what, &s.stderr)
}

// workers lists the worker processes of the sweep.
func (s *sweep) workers() (pids []int) {
	processes, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range processes {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if fields[1] == strconv.Itoa(s.Process.Pid) && bytes.Contains(command, []byte("\x00worker\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// serverFolder is the folder of the server that the sweep has started.
func (s *sweep) serverFolder(t *testing.T) string {
	t.Helper()
	found := regexp.MustCompile(`in (/\S+)\)`).FindStringSubmatch(s.stderr.String())
	if found == nil {
		t.Fatalf("no server was started: %s", &s.stderr)
	}
	return found[1]
}

// end waits for the end of the sweep and checks its exit code; it returns the result.
func (s *sweep) end(t *testing.T, code int) reports.Result {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- s.Wait() }()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		_ = s.Process.Kill()
		t.Fatalf("the sweep did not end: %s", &s.stderr)
	}
	if got := s.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d, want %d: %s", got, code, &s.stderr)
	}
	r, err := reports.Read(s.out)
	if err != nil {
		t.Fatalf("no partial result: %v: %s", err, &s.stderr)
	}
	if r.Seeds.Run == 0 {
		t.Errorf("the partial result is empty")
	}
	return r
}

// says checks what the sweep told on standard error.
func (s *sweep) says(t *testing.T, text string) {
	t.Helper()
	if !strings.Contains(s.stderr.String(), text) {
		t.Errorf("the message does not say %q: %s", text, &s.stderr)
	}
}
