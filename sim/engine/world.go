package engine

import (
	"container/heap"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// World is one run: processes, parties, clients, time and the driver that moves them. Methods
// marked "driver" may be called while building the world and from scheduled events and the goal;
// those that only look or draw also from policies, hooks and parties. None may be called from a
// goroutine of a service.
type World struct {
	cfg    Config
	source Source
	start  time.Time
	ctx    context.Context
	cancel context.CancelFunc
	wake   chan struct{}
	timer  *time.Timer
	log    *eventLog

	mu       sync.Mutex // guards what goroutines of services touch
	ops      []*op
	expired  []*conn // connections whose deadline has passed
	closed   []*conn // connections closed by their owner
	prepares []*op
	timers   timerHeap

	procs        map[string]*Process
	procOrder    []*Process
	parties      map[string]http.Handler
	cuts         map[[2]string]time.Duration
	schedule     scheduleHeap
	seq          int
	busyUntil    time.Duration
	dbDown       time.Duration
	healed       bool
	closing      bool
	running      atomic.Int64
	conns        map[*conn]struct{}
	locks        []*lockWait
	settledMoves int
	memory       memory

	choices  []Choice
	subject  *op // that a policy is being asked about
	faults   faultCounts
	counters Counters
	err      error
	outcome  Outcome
	outside  *outsider
}

// Seed returns the seed of the run.
func (w *World) Seed() uint64 { return w.cfg.Seed }

// Now returns the virtual time since the start of the run.
func (w *World) Now() time.Duration { return time.Since(w.start) }

// Rand returns a new generator for a named stream of the run's seed. Asking twice for one name
// gives two equal generators, so the order in which goroutines ask does not matter; one
// generator must not be shared by goroutines that race.
func (w *World) Rand(stream string) *rand.Rand { return newRand(w.cfg.Seed, stream) }

// Faults returns the recorded faults stream, for what the harness itself lets go wrong. Driver.
func (w *World) Faults() *Draw { return &Draw{w: w, stream: StreamFaults} }

// Schedule returns the recorded schedule stream. Driver.
func (w *World) Schedule() *Draw { return &Draw{w: w, stream: StreamSchedule} }

// Workload returns the recorded workload stream, for what clients are to do. Driver.
func (w *World) Workload() *Draw { return &Draw{w: w, stream: StreamWorkload} }

// Fired counts a fault kind that the harness carried out itself. Driver.
func (w *World) Fired(kind FaultKind) { w.faults.fire(kind) }

// Offered counts a fault kind that the harness could have carried out. Driver.
func (w *World) Offered(kind FaultKind) { w.faults.offer(kind) }

// Backend returns the database of the run, nil where there is none.
func (w *World) Backend() *Backend { return w.cfg.Backend }

// Party makes handler answer the calls to name. It is invoked by the driver, one call at a
// time, and must neither block nor sleep. http.ErrAbortHandler breaks the connection. Driver.
func (w *World) Party(name string, handler http.Handler) { w.parties[name] = handler }

// Fail ends the run with err once the current step is over; the first error wins. Driver.
func (w *World) Fail(err error) {
	if w.err == nil && err != nil {
		w.err = fmt.Errorf("seed %d: %w", w.cfg.Seed, err)
	}
}

// Pending returns the number of operations that wait for their turn or for an answer. Driver.
func (w *World) Pending() int { return len(w.liveOps()) }

// Scheduled returns the number of things that will happen at a time of their own: late arrivals,
// restarts, ends of pauses and cuts, events of [World.At]; timers of clocks apart. Driver.
func (w *World) Scheduled() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.schedule)
}

// Idle reports whether nothing is under way: nothing is pending or scheduled, and no start
// function, handler or script is running. Driver.
func (w *World) Idle() bool {
	return w.Pending() == 0 && w.Scheduled() == 0 && w.running.Load() == 0
}

// OpenConnections returns the number of virtual connections to the database that processes keep
// open. Driver.
func (w *World) OpenConnections() int { return len(w.connections()) }

// Counters returns the counters so far. Driver.
func (w *World) Counters() Counters {
	c := w.counters
	c.Events, c.Virtual = w.log.count, w.Now()
	return c
}

// Healed reports whether [World.Heal] was called. Driver.
func (w *World) Healed() bool { return w.healed }

// Go runs f on a goroutine that belongs to the run but to no process: a client, a script. Its
// context ends with the run. A panic of f ends the run.
func (w *World) Go(name string, f func(ctx context.Context)) {
	w.spawn(name, func() { f(w.ctx) })
}

// At runs f on the driver once d of virtual time has passed since the start of the run, or now
// where that is past. Events of one instant run in the order of their names. f must not block.
// Driver.
func (w *World) At(d time.Duration, name string, f func()) {
	w.after(d-w.Now(), name, func() {
		w.emit(Event{Kind: EventScheduled, Name: name})
		f()
	})
}

// Outside runs f on a goroutine outside the bubble and waits for it, while virtual time stands
// still: for real input and output, such as reading evidence from the database. Driver.
func (w *World) Outside(f func()) {
	w.outside.calls <- f
	if p := <-w.outside.done; p != nil {
		panic(p)
	}
}

// outsider is a goroutine outside the bubble, reached over channels made outside it: waiting for
// it is no durable block, so virtual time stands still.
type outsider struct {
	calls chan func()
	done  chan any
}

func newOutsider() *outsider {
	o := &outsider{calls: make(chan func()), done: make(chan any)}
	go func() {
		for f := range o.calls {
			o.done <- recovered(f)
		}
	}()
	return o
}

// recovered runs f and returns what it panicked with.
func recovered(f func()) (p any) {
	defer func() { p = recover() }()
	f()
	return nil
}

// spawn runs f in the bubble, counted, with panics turned into the run's error.
func (w *World) spawn(name string, f func()) {
	w.running.Add(1)
	go func() {
		defer w.running.Add(-1)
		defer w.kick()
		defer func() {
			if p := recover(); p != nil {
				w.reportPanic(&PanicError{Where: name, Value: p, Stack: debug.Stack()})
			}
		}()
		f()
	}()
}

// PanicError is a panic of a goroutine that the engine started, or of a party's handler.
// Goroutines that a service starts itself take the whole program down, as they would anywhere.
type PanicError struct {
	Where string
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("panic in %s: %v\n%s", e.Where, e.Value, e.Stack)
}

// reportPanic hands a panic to the driver.
func (w *World) reportPanic(err *PanicError) {
	w.mu.Lock()
	defer w.mu.Unlock()
	heap.Push(&w.schedule, &scheduled{key: "panic " + err.Where, run: func() { w.Fail(err) }})
}

// scheduled is something that the driver does at a time of its own.
type scheduled struct {
	at  time.Duration
	key string
	seq int
	run func()
}

// after schedules run in d from now; key orders what falls on one instant.
func (w *World) after(d time.Duration, key string, run func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seq++
	at := w.Now() + max(d, 0)
	heap.Push(&w.schedule, &scheduled{at: at, key: key, seq: w.seq, run: run})
}

// dueEvent takes the next scheduled event that is due.
func (w *World) dueEvent() *scheduled {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.schedule) == 0 || w.schedule[0].at > w.Now() {
		return nil
	}
	return heap.Pop(&w.schedule).(*scheduled)
}

type scheduleHeap []*scheduled

func (h scheduleHeap) Len() int { return len(h) }
func (h scheduleHeap) Less(i, j int) bool {
	a, b := h[i], h[j]
	if a.at != b.at {
		return a.at < b.at
	}
	if a.key != b.key {
		return a.key < b.key
	}
	return a.seq < b.seq
}
func (h scheduleHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *scheduleHeap) Push(x any)   { *h = append(*h, x.(*scheduled)) }
func (h *scheduleHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
