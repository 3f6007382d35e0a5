package engine

import (
	"cmp"
	"container/heap"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

// clock is a clockwork.Clock over virtual time, with the skew and drift of its process.
//
// Its timers are no timers of the runtime, which fires equal ones in random order. They are
// entries of the driver, which fires what is due while all is quiet, in the order of (due time,
// process, call stack that made the timer), never in the order of registration, which is a race
// where two goroutines are started by one event. Timers that differ in none of these belong to
// goroutines that nothing tells apart; they fire as one event. After each event the driver waits
// for quiet and lets a nanosecond pass, so goroutines that can be told apart never run in the
// same instant, and contexts that they make have different deadlines.
type clock struct {
	w  *World
	in *Incarnation // nil for the world's own clock
}

// Clock returns the world's clock, exact virtual time, for goroutines of [World.Go].
func (w *World) Clock() clockwork.Clock { return &clock{w: w} }

// Clock returns the process's own clock, off by the skew and drift of [Process.SetClock]. Its
// timers do not fire while the process is paused.
func (in *Incarnation) Clock() clockwork.Clock { return &clock{w: in.proc.w, in: in} }

func (c *clock) skew() (time.Duration, int64) {
	if c.in == nil {
		return 0, 0
	}
	return c.in.proc.skew, c.in.proc.driftPPM
}

func (c *clock) Now() time.Time {
	skew, drift := c.skew()
	elapsed := c.w.Now()
	return c.w.start.Add(elapsed + drifted(elapsed, drift) + skew)
}

// drifted returns how far a clock that gains ppm microseconds a second is off after d.
func drifted(d time.Duration, ppm int64) time.Duration {
	return time.Duration(int64(d) / 1_000_000 * ppm)
}

// virtual turns a duration of this clock into virtual time.
func (c *clock) virtual(d time.Duration) time.Duration {
	_, drift := c.skew()
	return d - drifted(d, drift)
}

func (c *clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c *clock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

func (c *clock) Sleep(d time.Duration) {
	if d > 0 {
		<-c.newTimer(d, 0, nil).Chan()
	}
}

func (c *clock) After(d time.Duration) <-chan time.Time { return c.newTimer(d, 0, nil).Chan() }

func (c *clock) NewTimer(d time.Duration) clockwork.Timer { return c.newTimer(d, 0, nil) }

func (c *clock) AfterFunc(d time.Duration, f func()) clockwork.Timer {
	return c.newTimer(d, 0, f)
}

func (c *clock) NewTicker(d time.Duration) clockwork.Ticker {
	if d <= 0 {
		panic("engine: non-positive interval for NewTicker")
	}
	return ticker{c.newTimer(d, d, nil)}
}

// timer is a timer or ticker of a process, an entry of the world's heap while it is active.
type timer struct {
	c      *clock
	due    time.Duration
	period time.Duration // of a ticker, in the clock's own time
	f      func()
	ch     chan time.Time
	stack  string
	index  int  // in the heap, -1 outside
	held   bool // until its process resumes
}

func (c *clock) newTimer(d, period time.Duration, f func()) *timer {
	t := &timer{c: c, period: period, f: f, stack: callStack(), index: -1}
	if f == nil {
		t.ch = make(chan time.Time, 1)
	}
	t.arm(d)
	return t
}

// arm puts the timer into the heap, due in d of its clock's time.
func (t *timer) arm(d time.Duration) {
	w := t.c.w
	w.mu.Lock()
	t.due, t.held = w.Now()+t.c.virtual(max(d, 0)), false
	heap.Push(&w.timers, t)
	w.mu.Unlock()
	w.kick()
}

func (t *timer) Chan() <-chan time.Time { return t.ch }

func (t *timer) Stop() bool {
	w := t.c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	active := t.index >= 0
	if active {
		heap.Remove(&w.timers, t.index)
	}
	// As in the standard library, nothing stale is received after Stop or Reset.
	select {
	case <-t.ch:
		active = true
	default:
	}
	return active
}

func (t *timer) Reset(d time.Duration) bool {
	active := t.Stop()
	t.stack = callStack()
	if t.period > 0 {
		t.period = d
	}
	t.arm(d)
	return active
}

// ticker narrows a timer to clockwork.Ticker.
type ticker struct{ *timer }

func (t ticker) Reset(d time.Duration) { t.timer.Reset(d) }
func (t ticker) Stop()                 { t.timer.Stop() }

// fire delivers one expiry. The driver calls it with the timer out of the heap.
func (t *timer) fire() {
	if t.period > 0 {
		t.arm(t.period)
	}
	if t.f != nil {
		go t.f()
		return
	}
	select {
	case t.ch <- t.c.Now():
	default: // a ticker's reader is slow: the tick is lost, as in the standard library
	}
}

// owner returns the process for ordering and pausing; the world's own timers have none.
func (t *timer) owner() string {
	if t.c.in == nil {
		return ""
	}
	return t.c.in.name
}

func compareTimers(a, b *timer) int {
	return cmp.Or(
		cmp.Compare(a.due, b.due),
		cmp.Compare(a.owner(), b.owner()),
		cmp.Compare(a.stack, b.stack),
	)
}

type timerHeap []*timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return compareTimers(h[i], h[j]) < 0 }
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	t.index = len(*h)
	*h = append(*h, t)
}
func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	t.index = -1
	*h = old[:len(old)-1]
	return t
}

// dueTimers takes the first group of equal timers that are due. Timers of a paused process are
// put off until it resumes.
func (w *World) dueTimers() []*timer {
	w.mu.Lock()
	defer w.mu.Unlock()
	var group []*timer
	for len(w.timers) > 0 && w.timers[0].due <= w.Now() {
		t := w.timers[0]
		if len(group) > 0 && compareTimers(group[0], t) != 0 {
			break
		}
		heap.Pop(&w.timers)
		if in := t.c.in; in != nil && in.alive() && in.proc.paused {
			t.due, t.held = never, true
			heap.Push(&w.timers, t)
			continue
		}
		group = append(group, t)
	}
	return group
}

// releaseTimers makes the timers due that the pause of a process has held.
func (w *World) releaseTimers(in *Incarnation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.timers {
		if t.held && t.c.in == in {
			t.due, t.held = w.Now(), false
		}
	}
	heap.Init(&w.timers)
}

// stackDepth is how many callers tell timers apart; deep enough for wrappers around the clock.
const stackDepth = 8

// stackNames caches the text of call stacks, since resolving one costs microseconds.
var stackNames sync.Map // [stackDepth]uintptr → string

// callStack returns the functions that lead to the making of a timer, innermost first.
func callStack() string {
	var pcs [stackDepth]uintptr
	n := runtime.Callers(3, pcs[:])
	if s, ok := stackNames.Load(pcs); ok {
		return s.(string)
	}
	var b strings.Builder
	frames := runtime.CallersFrames(pcs[:n])
	for more := n > 0; more; {
		var f runtime.Frame
		f, more = frames.Next()
		name := f.Function[strings.LastIndexByte(f.Function, '/')+1:]
		if strings.HasPrefix(f.Function, enginePackage) || strings.HasPrefix(name, "runtime.") {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('<')
		}
		b.WriteString(name + ":" + strconv.Itoa(f.Line))
	}
	stackNames.Store(pcs, b.String())
	return b.String()
}

// enginePackage begins the names of this package's functions.
var enginePackage = reflect.TypeFor[World]().PkgPath() + "."
