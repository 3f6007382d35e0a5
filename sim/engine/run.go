package engine

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Config describes one run.
type Config struct {
	// Seed names the run; all streams derive from it.
	Seed uint64
	// Source decides the choices, nil means Seeded(Seed).
	Source Source
	// Backend is the database, nil for worlds without one.
	Backend *Backend
	// Policy decides what goes wrong.
	Policy Policy
	// Hooks let the harness watch.
	Hooks Hooks
	// Quiet names the statements whose answers need not be asked for again and again.
	Quiet Quiet
	// Goal ends the run well. It is asked whenever all is quiet, so it should be cheap.
	Goal func(*World) bool
	// MaxEvents and MaxTime (virtual) bound the run; defaults 100,000 and 24 h.
	MaxEvents int
	MaxTime   time.Duration
	// Latency is how much virtual time passes after an operation; default 50 µs to 2 ms.
	Latency Range
	// Advance lets time pass although operations are pending.
	Advance Advance
	// Restart is the delay of automatic restarts; the zero value means there are none.
	Restart Range
	// DatabaseSkew and DatabaseDriftPPM set the database's clock against virtual time.
	DatabaseSkew     time.Duration
	DatabaseDriftPPM int64
	// Trace keeps the event log.
	Trace bool
	// Watchdog is how much real time a run may take before the program is ended with a panic
	// that names the seed; default one minute.
	Watchdog time.Duration
}

// Advance says how often time passes while operations wait: one step in OneIn, for a duration
// drawn from scales up to Max. The zero value never does.
type Advance struct {
	OneIn int
	Max   time.Duration
}

// Hooks are functions of the harness, called by the driver; they must not block.
type Hooks struct {
	// OnEvent sees every event, in the middle of what the driver is doing: it may call
	// [World.Fail] and [World.At], and leaves other changes to the events that it schedules.
	OnEvent func(Event)
}

// Outcome says how a run ended.
type Outcome string

// The outcomes.
const (
	GoalReached Outcome = "goal"
	EventLimit  Outcome = "event_limit"
	TimeLimit   Outcome = "time_limit"
	Failed      Outcome = "failed"
)

// Counters count what a run did.
type Counters struct {
	Statements int           `json:"statements"`
	RoundTrips int           `json:"round_trips"`
	Remembered int           `json:"remembered"` // of the round trips; see Quiet
	Calls      int           `json:"calls"`
	Requests   int           `json:"requests"`
	Events     int           `json:"events"`
	LockWaits  int           `json:"lock_waits"`
	Deadlocks  int           `json:"deadlocks"`
	Virtual    time.Duration `json:"virtual_ns"`
}

// Result is what a run left behind.
type Result struct {
	Seed    uint64
	Outcome Outcome
	// Err is set for Failed, and where the run could not be taken down cleanly.
	Err error
	// EventHash is the SHA-256 of the event log, in hex.
	EventHash string
	// Trace holds the lines of the event log where Config.Trace was set.
	Trace    []string
	Choices  []Choice
	Faults   map[FaultKind]FaultCount
	Counters Counters
}

// LeakError says that goroutines of the run could not be ended.
type LeakError struct {
	Seed   uint64
	Reason string
	Stacks string
}

func (e *LeakError) Error() string {
	return fmt.Sprintf("seed %d: %s\n%s", e.Seed, e.Reason, e.Stacks)
}

func (c Config) withDefaults() Config {
	if c.Source == nil {
		c.Source = Seeded(c.Seed)
	}
	if c.MaxEvents == 0 {
		c.MaxEvents = 100_000
	}
	if c.MaxTime == 0 {
		c.MaxTime = 24 * time.Hour
	}
	if c.Latency == (Range{}) {
		c.Latency = Range{50 * time.Microsecond, 2 * time.Millisecond}
	}
	if c.Advance.OneIn > 0 && c.Advance.Max == 0 {
		c.Advance.Max = 5 * time.Second
	}
	if c.Watchdog == 0 {
		c.Watchdog = time.Minute
	}
	return c
}

// Run plays one world: build sets it up at virtual time zero, then the driver moves it until the
// goal is reached, a bound is hit or something fails. Everything in it is then stopped. Panics
// of the goroutines that the engine starts, and goroutines that do not end, come out as
// Result.Err; a panic on a goroutine of the service's own ends the program, as in production.
func Run(t *testing.T, cfg Config, build func(w *World)) (result *Result) {
	w := newWorld(cfg.withDefaults())
	defer close(w.outside.calls)
	watchdog := time.AfterFunc(w.cfg.Watchdog, func() {
		panic(fmt.Sprintf("engine: seed %d: still running after %s\n%s", cfg.Seed,
			w.cfg.Watchdog, allStacks()))
	})
	defer watchdog.Stop()
	defer func() {
		if p := recover(); p != nil {
			w.err = &LeakError{Seed: cfg.Seed, Reason: fmt.Sprint(p), Stacks: bubbleStacks()}
			result = w.result()
		}
	}()
	synctest.Test(t, func(*testing.T) { w.run(build) })
	return w.result()
}

func newWorld(cfg Config) *World {
	return &World{cfg: cfg, source: cfg.Source, log: newEventLog(cfg.Trace),
		procs: map[string]*Process{}, parties: map[string]http.Handler{},
		cuts: map[[2]string]time.Duration{}, conns: map[*conn]struct{}{},
		faults: faultCounts{}, outside: newOutsider(),
		memory: memory{quiet: cfg.Quiet}}
}

// run is the main goroutine of the bubble.
func (w *World) run(build func(*World)) {
	w.start = time.Now()
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.wake = make(chan struct{}, 1)
	w.timer = time.NewTimer(time.Hour)
	defer w.timer.Stop()
	w.guard("driver", func() {
		build(w)
		w.drive()
	})
	w.counters = w.Counters()
	w.guard("shutdown", w.shutdown)
}

// guard turns a panic of the harness's code on the driver into the run's failure.
func (w *World) guard(where string, f func()) {
	defer func() {
		if p := recover(); p != nil {
			w.Fail(&PanicError{Where: where, Value: p, Stack: debug.Stack()})
			w.outcome = Failed
		}
	}()
	f()
}

// Bounds of the way out, in virtual time.
const (
	shutdownLimit = time.Hour
	shutdownGrace = time.Minute
)

// shutdown ends everything: processes crash, contexts end, operations fail, until the goroutines
// that the engine started have returned and what they left behind has had time to end too.
func (w *World) shutdown() {
	w.closing = true
	w.cancel()
	for _, p := range w.procOrder {
		if p.Running() {
			p.cut(p.in)
		}
	}
	limit := w.Now() + shutdownLimit
	for w.running.Load() > 0 && w.Now() < limit {
		w.drain(limit)
	}
	for limit = w.Now() + shutdownGrace; w.Now() < limit; {
		w.drain(limit)
	}
	if b := w.cfg.Backend; b != nil {
		w.endLocks()
		for _, c := range w.connections() {
			c.release()
		}
	}
}

// drain fails what is parked, fires what is due, and lets time pass up to limit.
func (w *World) drain(limit time.Duration) {
	w.cfg.MaxTime = limit
	w.quiet()
	w.settle()
	for _, o := range w.liveOps() {
		o.seam.abandon(o, false)
		w.finish(o, errReset)
	}
	w.mu.Lock()
	w.schedule = nil
	w.mu.Unlock()
	for group := w.dueTimers(); len(group) > 0; group = w.dueTimers() {
		w.fireTimers(group)
	}
	w.quiet()
	w.sleep(limit)
}

func (w *World) result() *Result {
	if w.err != nil {
		w.outcome = Failed
	}
	return &Result{Seed: w.cfg.Seed, Outcome: w.outcome, Err: w.err, EventHash: w.log.sum(),
		Trace: w.log.lines, Choices: w.choices, Faults: w.faults, Counters: w.counters}
}

func allStacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}

// bubbleStacks returns the stacks of goroutines in bubbles: those that did not end.
func bubbleStacks() string {
	var kept []string
	for _, s := range strings.Split(allStacks(), "\n\n") {
		header, _, _ := strings.Cut(s, "\n")
		if strings.Contains(header, "synctest bubble") {
			kept = append(kept, s)
		}
	}
	return strings.Join(kept, "\n\n")
}
