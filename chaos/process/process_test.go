package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// asStarter makes the test binary a starter that is to be killed.
const asStarter = "CHAOS_PROCESS_TEST_STARTER"

func TestMain(m *testing.M) {
	if os.Getenv(asStarter) != "" {
		beStarter()
		return
	}
	goleak.VerifyTestMain(m)
}

// beStarter starts a program that stops itself, tells its pid and waits to be killed.
func beStarter() {
	p, err := Start(Command{Path: "/bin/sleep", Args: []string{"600"}, Env: os.Environ()})
	if err == nil {
		err = p.Signal(syscall.SIGSTOP)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(p.Pid())
	time.Sleep(10 * time.Minute)
}

type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func sh(t *testing.T, script string) (*Process, *journal) {
	t.Helper()
	var out journal
	p, err := Start(Command{Path: "/bin/sh", Args: []string{"-c", script}, Env: os.Environ(),
		Out: &out, Err: &out})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p, &out
}

func TestStatusAndOutput(t *testing.T) {
	p, out := sh(t, "echo one; echo two >&2; exit 7")
	if got := p.Status(); got != 7 {
		t.Errorf("got status %d, want 7", got)
	}
	if text := out.text.String(); !strings.Contains(text, "one") || !strings.Contains(text, "two") {
		t.Errorf("got output %q", text)
	}
	if err := p.Signal(syscall.SIGTERM); !errors.Is(err, ErrEnded) {
		t.Errorf("got %v, want %v", err, ErrEnded)
	}
}

func TestSignalsReachTheProgram(t *testing.T) {
	for signal, want := range map[syscall.Signal]int{
		syscall.SIGKILL: 128 + 9,
		syscall.SIGTERM: 128 + 15,
	} {
		p, _ := sh(t, "exec sleep 600")
		if err := p.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if got := p.Status(); got != want {
			t.Errorf("%s: got status %d, want %d", signal, got, want)
		}
	}
}

func TestStopAndContinue(t *testing.T) {
	p, out := sh(t, "sleep 0.3; echo awake")
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Ended():
		t.Fatal("a stopped program went on")
	case <-time.After(time.Second):
	}
	if err := p.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if got := p.Status(); got != 0 || !strings.Contains(out.text.String(), "awake") {
		t.Errorf("got status %d and %q", got, out.text.String())
	}
}

func TestCloseKillsAStoppedProgram(t *testing.T) {
	p, _ := sh(t, "exec sleep 600")
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if alive(p.Pid()) {
		t.Errorf("pid %d lives", p.Pid())
	}
}

func TestMissingProgram(t *testing.T) {
	p, out := sh(t, "exec /nowhere/at/all")
	if got := p.Status(); got != 127 {
		t.Errorf("got status %d (%s), want 127", got, out.text.String())
	}
}

// A starter that is killed leaves nothing behind, not even a stopped program.
func TestNothingOutlivesAKilledStarter(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	starter := exec.Command(self)
	starter.Env = append(os.Environ(), asStarter+"=1")
	out, err := starter.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := starter.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 32)
	n, err := out.Read(line)
	if err != nil && err != io.EOF {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
	if err != nil || !alive(pid) {
		t.Fatalf("the starter told %q (%v)", line[:n], err)
	}
	if err := starter.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = starter.Wait() // it was killed
	for deadline := time.Now().Add(10 * time.Second); alive(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("pid %d outlived its starter", pid)
		}
	}
}

// alive reports whether a process exists and is no zombie.
func alive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(rest, "Z")
}
