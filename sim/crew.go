package sim

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"ordeal/sim/pgserver"
)

// Ground is the server that runs are played on: a template database, cloned for each worker.
type Ground struct {
	server   *pgserver.Server
	template string
	mu       sync.Mutex
	clones   []string
}

// OpenGround finds or starts a PostgreSQL server and prepares the template. Log is told which.
func OpenGround(ctx context.Context, log io.Writer) (*Ground, error) {
	server, err := pgserver.Start(ctx, pgserver.Options{
		Log: log,
		// The simulator finds deadlocks itself; the server must not choose the victim.
		Settings: map[string]string{"deadlock_timeout": "1h"},
	})
	if err != nil {
		return nil, err
	}
	g := &Ground{server: server, template: pgserver.UniqueName("ordeal_template")}
	err = server.CreateDatabase(ctx, g.template)
	if err == nil {
		err = Prepare(ctx, server.DatabaseURL(g.template))
	}
	if err != nil {
		_ = server.Close()
		return nil, err
	}
	return g, nil
}

// clone makes a database for a worker and returns its URL.
func (g *Ground) clone(ctx context.Context) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock() // a template can be cloned by one at a time
	name := pgserver.UniqueName("ordeal_worker")
	if err := g.server.CloneDatabase(ctx, name, g.template); err != nil {
		return "", err
	}
	g.clones = append(g.clones, name)
	return g.server.DatabaseURL(name), nil
}

// OpenLab opens a lab on a database of its own, in this process.
func (g *Ground) OpenLab(ctx context.Context) (*Lab, error) {
	url, err := g.clone(ctx)
	if err != nil {
		return nil, err
	}
	return OpenLab(ctx, url, g.server.CanSignal())
}

// Close stops the server, or drops what was made on one that is not ours.
func (g *Ground) Close() error { return g.server.Close() }

// worker is a worker process with a database of its own.
type worker struct {
	url       string
	canSignal bool
	command   WorkerCommand
	procs     int

	process *exec.Cmd
	in      io.WriteCloser
	out     *json.Decoder
	stderr  *tail
}

// WorkerCommand returns the command that runs Work on the database of a URL in a new process.
type WorkerCommand func(ctx context.Context, url string, canSignal bool) *exec.Cmd

// start starts the process. Procs is its GOMAXPROCS.
func (w *worker) start(ctx context.Context) error {
	w.process = w.command(ctx, w.url, w.canSignal)
	w.process.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(w.procs))
	w.stderr = &tail{}
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
		return fmt.Errorf("start worker: %w", err)
	}
	return nil
}

// play has one job done. A worker that dies over it is a finding of that seed: the verdict is
// broken and holds what the process left on stderr. The next job gets a new process.
func (w *worker) play(ctx context.Context, j job) (Verdict, error) {
	if w.process == nil {
		if err := w.start(ctx); err != nil {
			return Verdict{}, err
		}
	}
	var a answer
	err := json.NewEncoder(w.in).Encode(j)
	if err == nil {
		err = w.out.Decode(&a)
	}
	if err != nil {
		death := w.bury()
		if ctx.Err() != nil {
			return Verdict{}, ctx.Err()
		}
		return Verdict{Scenario: j.Scenario, Seed: j.Seed, Broken: "worker died: " + death}, nil
	}
	if a.Failed != "" {
		return Verdict{}, fmt.Errorf("seed %d of %s: %s", j.Seed, j.Scenario, a.Failed)
	}
	return a.Verdict, nil
}

// bury waits for a dead process and tells what it left behind.
func (w *worker) bury() string {
	_ = w.in.Close()
	err := w.process.Wait()
	w.process = nil
	return strings.TrimSpace(fmt.Sprintf("%v\n%s", err, w.stderr.text()))
}

// stop lets the process end.
func (w *worker) stop() {
	if w.process != nil {
		w.bury()
	}
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

const tailSize = 16 << 10

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - tailSize; over > 0 {
		t.kept = t.kept[over:]
	}
	return len(p), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}
