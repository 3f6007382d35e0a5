package sim

import (
	"bufio"
	"context"
	"encoding/json"
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

	"ordeal/reports"
)

// worker is a worker process with a database of its own. Whatever becomes of the process, the
// sweep goes on:
//
//	                 job                    answer
//	idle process ---------> working ---------------------> idle
//	     ^                     |  dies (panic, kill, ...)
//	     |  next job           |  or does not answer: asked for its goroutines, then killed
//	     +------ no process <--+--> a finding of that seed, with what it left on stderr
//
// Only a process that says that its surroundings failed (exit code 5, or an answer that says so)
// ends the sweep.
type worker struct {
	url       string
	canSignal bool
	command   WorkerCommand
	// procs is its GOMAXPROCS, gc its GOGC; zero means defaultGC.
	procs, gc int
	// plans are settings of the server with which it plans other than usual.
	plans string

	process *exec.Cmd
	in      io.WriteCloser
	out     *json.Decoder
	stderr  *excerpt
}

// defaultGC is a worker's GOGC. Its heap is small, so that fewer collections cost little memory.
const defaultGC = 400

// otherPlans make the server plan most statements differently: which plan it chooses must not show
// in any answer, since tables grow and statistics change between the runs of a process.
const otherPlans = "-c enable_nestloop=off -c enable_mergejoin=off -c enable_sort=off " +
	"-c enable_indexscan=off"

// A run has a minute of its own watchdog. A worker that says nothing for longer is asked for its
// goroutines, by SIGQUIT, and then killed.
const (
	answerPatience = 3 * time.Minute
	quitPatience   = 10 * time.Second
)

// WorkerCommand returns the command that runs Work on the database of a URL in a new process.
type WorkerCommand func(ctx context.Context, url string, canSignal bool) *exec.Cmd

// start starts the process.
func (w *worker) start(ctx context.Context) error {
	gc := w.gc
	if gc == 0 {
		gc = defaultGC
	}
	w.process = w.command(ctx, w.url, w.canSignal)
	w.process.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(w.procs),
		"GOGC="+strconv.Itoa(gc), "GOTRACEBACK=all")
	if w.plans != "" {
		w.process.Env = append(w.process.Env, "PGOPTIONS="+w.plans)
	}
	w.stderr = &excerpt{}
	w.process.Stderr = w.stderr
	w.process.WaitDelay = 5 * time.Second
	var err error
	if w.in, err = w.process.StdinPipe(); err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	out, err := w.process.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	w.out = json.NewDecoder(bufio.NewReaderSize(out, 1<<16))
	if err := w.process.Start(); err != nil {
		w.process = nil
		return fmt.Errorf("start worker: %w", err)
	}
	return nil
}

// errSurroundings says that a worker could not work, which is no finding.
var errSurroundings = errors.New("the surroundings failed")

// play has one job done. A worker that dies over it is a finding of that seed: the verdict is
// broken and holds what the process left on stderr. The next job gets a new process.
func (w *worker) play(ctx context.Context, j job) (Verdict, error) {
	if w.process == nil {
		if err := w.start(ctx); err != nil {
			return Verdict{}, err
		}
	}
	a, err := w.ask(j)
	if err != nil {
		death, err := w.bury()
		switch {
		case ctx.Err() != nil:
			return Verdict{}, ctx.Err()
		case err != nil:
			return Verdict{}, fmt.Errorf("seed %d of %s: %w", j.Seed, j.Scenario, err)
		}
		return Verdict{Scenario: j.Scenario, Seed: j.Seed, Replay: j.Replay,
			Broken: "worker died: " + death}, nil
	}
	if a.Failed != "" {
		return Verdict{}, fmt.Errorf("seed %d of %s: %w: %s", j.Seed, j.Scenario,
			errSurroundings, a.Failed)
	}
	return a.Verdict, nil
}

// ask sends a job and waits for the answer, or for the end of the process.
func (w *worker) ask(j job) (a answer, err error) {
	process := w.process.Process
	quit := time.AfterFunc(answerPatience, func() { _ = process.Signal(syscall.SIGQUIT) })
	kill := time.AfterFunc(answerPatience+quitPatience, func() { _ = process.Kill() })
	defer quit.Stop()
	defer kill.Stop()
	if err := json.NewEncoder(w.in).Encode(j); err != nil {
		return a, err
	}
	return a, w.out.Decode(&a)
}

// bury waits for a dead process and tells what it left behind. The error says that it ended
// because its surroundings failed.
func (w *worker) bury() (string, error) {
	_ = w.in.Close()
	err := w.process.Wait()
	w.process = nil
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() == reports.ExitEnvironment {
		return "", fmt.Errorf("%w: %s", errSurroundings, strings.TrimSpace(w.stderr.text()))
	}
	return strings.TrimSpace(fmt.Sprintf("%v\n%s", err, w.stderr.text())), nil
}

// stop lets the process end.
func (w *worker) stop() {
	if w.process != nil {
		_, _ = w.bury()
	}
}

// excerpt keeps the beginning and the end of what is written to it: of a crash, the reason and
// the last goroutines.
type excerpt struct {
	mu         sync.Mutex
	head, tail []byte
	left       int // bytes left out between them
}

const excerptSize = 16 << 10

// Write implements io.Writer.
func (e *excerpt) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := min(len(p), excerptSize-len(e.head))
	e.head = append(e.head, p[:n]...)
	e.tail = append(e.tail, p[n:]...)
	if over := len(e.tail) - excerptSize; over > 0 {
		e.tail = append(e.tail[:0], e.tail[over:]...)
		e.left += over
	}
	return len(p), nil
}

func (e *excerpt) text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.left > 0 {
		return fmt.Sprintf("%s\n... %d bytes left out ...\n%s", e.head, e.left, e.tail)
	}
	return string(e.head) + string(e.tail)
}
