package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"
)

// Process is a named process of the simulated service. Its memory lives in one [Incarnation] at
// a time; a crash ends that one, and a later start makes the next.
type Process struct {
	w        *World
	name     string
	start    func(context.Context, *Incarnation) error
	in       *Incarnation
	count    int
	exitErr  error
	skew     time.Duration
	driftPPM int64

	paused      bool
	pausedUntil time.Duration
	answers     []*op // performed while paused, delivered at resume
}

// Incarnation is one life of a process: what a service's wiring gets its seams from. All seams
// fail from the moment the process crashes.
type Incarnation struct {
	proc     *Process
	name     string
	number   int
	dead     atomic.Bool
	crashed  context.Context
	crash    context.CancelFunc
	stopping context.Context
	stop     context.CancelFunc
	handler  atomic.Pointer[http.Handler]
	requests []*op // requests of clients that this incarnation is answering
}

// Process returns the process of that name, making it where it does not exist. Driver.
func (w *World) Process(name string) *Process {
	p := w.procs[name]
	if p == nil {
		p = &Process{w: w, name: name}
		w.procs[name] = p
		w.procOrder = append(w.procOrder, p)
	}
	return p
}

// Name returns the name without incarnation.
func (p *Process) Name() string { return p.name }

// SetClock makes the process's clock skew ahead of virtual time and gain driftPPM microseconds
// a second (both may be negative). Driver.
func (p *Process) SetClock(skew time.Duration, driftPPM int64) {
	p.skew, p.driftPPM = skew, driftPPM
}

// Running reports whether an incarnation is alive. Driver.
func (p *Process) Running() bool { return p.in != nil && p.in.alive() }

// Paused reports whether the process is paused. Driver.
func (p *Process) Paused() bool { return p.paused }

// Incarnation returns the latest incarnation, nil before the first start. Driver.
func (p *Process) Incarnation() *Incarnation { return p.in }

// Err returns what the last start function that returned by itself returned. Driver.
func (p *Process) Err() error { return p.exitErr }

// Start begins a new incarnation: run is called on a goroutine of it with a context that ends
// at [Process.Stop] and at a crash. The same run is called again by automatic restarts, after a
// crash and after run returned an error by itself. Driver.
func (p *Process) Start(run func(ctx context.Context, in *Incarnation) error) {
	if p.Running() {
		panic("engine: process " + p.name + " is running already")
	}
	p.start = run
	p.count++
	in := &Incarnation{proc: p, number: p.count, name: fmt.Sprintf("%s#%d", p.name, p.count)}
	in.crashed, in.crash = context.WithCancel(context.Background())
	in.stopping, in.stop = context.WithCancel(in.crashed)
	p.in = in
	p.w.emit(Event{Kind: EventStart, Process: in.name})
	p.w.spawn(in.name, func() {
		err := run(in.stopping, in)
		p.w.after(0, "exit "+in.name, func() { p.exited(in, err) })
	})
}

// exited is the end of a start function, seen by the driver.
func (p *Process) exited(in *Incarnation, err error) {
	if !in.alive() {
		return
	}
	p.exitErr = err
	result := "ok"
	if err != nil {
		result = "error"
	}
	p.w.emit(Event{Kind: EventExit, Process: in.name, Result: result})
	p.cut(in)
	if err != nil && in.stopping.Err() == nil {
		p.restartLater()
	}
}

// Stop asks the process to end by itself, as SIGTERM does: the context of its start function is
// cancelled, its seams stay. Driver.
func (p *Process) Stop() {
	if p.Running() {
		p.in.stop()
	}
}

// Crash ends the incarnation at once: its seams are cut, its contexts cancelled, what it had
// sent is dropped or still arrives as the policy says. A restart follows after a delay drawn
// from Config.Restart. Driver.
func (p *Process) Crash() {
	if !p.Running() {
		return
	}
	p.w.emit(Event{Kind: EventCrash, Process: p.in.name, Fate: Crash})
	p.w.faults.fire(Crash)
	p.cut(p.in)
	p.restartLater()
}

// restartLater schedules the next incarnation.
func (p *Process) restartLater() {
	w := p.w
	if w.cfg.Restart.Max <= 0 || p.start == nil {
		return
	}
	d := w.Faults().Duration("restart", w.cfg.Restart)
	w.after(d, "restart "+p.name, func() {
		if !p.Running() && !w.closing {
			p.Start(p.start)
		}
	})
}

// cut ends all seams of an incarnation. Its contexts end first, so that its goroutines, woken by
// errors, find a reason to stop.
func (p *Process) cut(in *Incarnation) {
	in.dead.Store(true)
	in.crash()
	w := p.w
	p.paused, p.answers = false, nil
	w.releaseTimers(in)
	for _, o := range w.liveOps() {
		if o.in == in {
			w.giveUp(o, errReset)
		}
	}
	w.releaseConns(in)
	requests := in.requests
	in.requests = nil
	sortOps(requests)
	for _, o := range requests {
		w.finish(o, errReset)
		w.quiet()
	}
}

// Pause holds all seams and timers of the process for d: nothing it sent is answered, nothing
// it sends leaves. What it had written before may be in flight (drawn per operation) and be
// performed meanwhile. At the end, waits whose deadline has passed either time out or go on,
// also drawn: a stopped process may have been past its last check. Driver.
func (p *Process) Pause(d time.Duration) {
	if !p.Running() || p.paused {
		return
	}
	w, in := p.w, p.in
	w.emit(Event{Kind: EventPause, Process: in.name, Fate: Pause, Result: d.String()})
	w.faults.fire(Pause)
	p.paused, p.pausedUntil = true, w.Now()+d
	for _, o := range w.liveOps() {
		if o.in == in && o.state == opPending {
			o.inFlight = w.Faults().Choose("pause.written", 2) == 1
		}
	}
	w.after(d, "resume "+in.name, func() {
		if p.in == in && p.paused && w.Now() >= p.pausedUntil {
			p.resume()
		}
	})
}

// resume ends a pause.
func (p *Process) resume() {
	w := p.w
	p.paused = false
	w.releaseTimers(p.in)
	w.emit(Event{Kind: EventResume, Process: p.in.name})
	for _, o := range w.liveOps() {
		overdue := !o.deadline.IsZero() && !o.deadline.After(time.Now())
		if o.in == p.in && o.state == opPending && (overdue || o.cancelled != nil) {
			o.late = w.Faults().Choose("pause.late", 2) == 1
		}
	}
	answers := p.answers
	p.answers = nil
	sortOps(answers)
	for _, o := range answers {
		w.deliver(o)
		w.quiet()
	}
}

// Name returns the name with the number of the incarnation, such as "executor-1#2".
func (in *Incarnation) Name() string { return in.name }

// Process returns the process.
func (in *Incarnation) Process() *Process { return in.proc }

// Context is cancelled at the crash, and only then.
func (in *Incarnation) Context() context.Context { return in.crashed }

// Rand returns a new generator for a stream of this incarnation; see [World.Rand].
func (in *Incarnation) Rand(stream string) *rand.Rand {
	return in.proc.w.Rand(in.name + "/" + stream)
}

// Serve makes handler answer the requests of clients to this process, until its end.
func (in *Incarnation) Serve(handler http.Handler) { in.handler.Store(&handler) }

func (in *Incarnation) alive() bool { return !in.dead.Load() }
