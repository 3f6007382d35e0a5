// Package process runs programs that must not outlive whoever started them.
//
// A starter can be killed at any instant, and then cleans nothing up. So it does not start the
// program itself. It starts a guard, a shell in a session of its own which does not see Ctrl-C,
// and holds the only writing end of a pipe, the lifeline:
//
//	starter ── lifeline ──> watcher ─┐ kills the group when the lifeline ends
//	   │                             v
//	   └── starts ──> guard (sh) ──> program
//
//	      start            program ends
//	  ───────────> running ──────────────> ended (the guard ends with its status)
//	                 │  ^ SIGCONT
//	         SIGSTOP v  │
//	               stopped
//	                 │ lifeline ends: Close, or the starter's exit, panic or death
//	  running ───────┴───────────────────> ended
//
// Signals go to the program alone. Tying children to the thread that started them
// (Pdeathsig) is no way in Go, whose threads come and go.
package process

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

//go:embed guard.sh
var guardScript string

// startBound limits how long the guard may take to start the program.
const startBound = 10 * time.Second

// Command says what to run.
type Command struct {
	// Path is the program, Args its arguments, Env its whole environment.
	Path string
	Args []string
	Env  []string
	// Out and Err get what the program writes; nil is nobody. They must not block.
	Out, Err io.Writer
}

// Process is a running program. Its methods may be called concurrently.
type Process struct {
	pid      int
	lifeline *os.File
	ended    chan struct{}
	status   int

	mu   sync.Mutex // guards against signals to a pid that is no longer ours
	gone bool
}

// ErrEnded is the answer to a signal for a program that has ended.
var ErrEnded = errors.New("the program has ended")

// Start starts the program. Close gives everything back.
func Start(c Command) (*Process, error) {
	p, err := start(c)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	return p, nil
}

func start(c Command) (*Process, error) {
	watched, lifeline, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = watched.Close() }()
	told, tell, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, lifeline.Close())
	}
	defer func() { _ = told.Close() }()
	guard := exec.Command("/bin/sh",
		append([]string{"-c", guardScript, "chaos-guard", c.Path}, c.Args...)...)
	guard.Env = c.Env
	guard.Stdout, guard.Stderr = c.Out, c.Err
	guard.ExtraFiles = []*os.File{watched, tell}
	guard.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = guard.Start()
	_ = tell.Close()
	if err != nil {
		return nil, errors.Join(err, lifeline.Close())
	}
	p := &Process{lifeline: lifeline, ended: make(chan struct{})}
	go p.await(guard)
	if p.pid, err = heard(told); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// heard reads the pid that the guard tells.
func heard(told *os.File) (int, error) {
	if err := told.SetReadDeadline(time.Now().Add(startBound)); err != nil {
		return 0, err
	}
	text, err := io.ReadAll(told)
	if err != nil {
		return 0, fmt.Errorf("wait for the guard: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		return 0, fmt.Errorf("the guard told no pid, but %q", text)
	}
	return pid, nil
}

// await waits for the guard, which ends as the program does.
func (p *Process) await(guard *exec.Cmd) {
	_ = guard.Wait() // the status says more than the error
	p.mu.Lock()
	p.gone = true
	p.mu.Unlock()
	p.status = guard.ProcessState.ExitCode()
	close(p.ended)
}

// Pid is the program's process id.
func (p *Process) Pid() int { return p.pid }

// Signal sends a signal to the program. SIGKILL has killed it when Ended is closed. The error
// wraps ErrEnded where there is nothing left to signal.
func (p *Process) Signal(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return fmt.Errorf("signal %s to pid %d: %w", s, p.pid, ErrEnded)
	}
	err := syscall.Kill(p.pid, s)
	if errors.Is(err, syscall.ESRCH) {
		err = ErrEnded
	}
	if err != nil {
		return fmt.Errorf("signal %s to pid %d: %w", s, p.pid, err)
	}
	return nil
}

// Ended is closed when the program has ended and all that it wrote has been passed on.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Status is the exit status of an ended program: 128 and the signal's number where a signal ended
// it, and -1 where Close did. It waits for the end.
func (p *Process) Status() int {
	<-p.ended
	return p.status
}

// Close kills the program if it still runs, and waits for its end. Closing again does nothing.
func (p *Process) Close() error {
	err := p.lifeline.Close()
	<-p.ended
	if err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("cut the lifeline of pid %d: %w", p.pid, err)
	}
	return nil
}
