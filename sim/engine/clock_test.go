package engine_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"ordeal/sim/engine"
)

// notes collects what goroutines write down, in the order of writing.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) add(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, line)
}

// Timers that are due at one instant fire in the order of their process and of the code that
// made them, whoever came first to make them, and never together.
func TestEqualTimersFireInOrder(t *testing.T) {
	want := []string{"p1 first", "p1 second", "p2 first", "p2 second"}
	for try := range 50 {
		var n notes
		play(t, engine.Config{}, func(w *engine.World) {
			names := []string{"p1", "p2"}
			if try%2 == 1 {
				slices.Reverse(names)
			}
			for _, name := range names {
				w.Process(name).Start(func(_ context.Context, in *engine.Incarnation) error {
					alarm(name, in.Clock(), &n)
					return nil
				})
			}
		})
		if !slices.Equal(n.lines, want) {
			t.Fatalf("try %d: %q", try, n.lines)
		}
	}
}

func alarm(name string, clock clockwork.Clock, n *notes) {
	var wg sync.WaitGroup
	wg.Go(func() {
		clock.Sleep(time.Second)
		n.add(name + " first")
	})
	wg.Go(func() {
		<-clock.After(time.Second)
		n.add(name + " second")
	})
	wg.Wait()
}

// A process's clock is off by its skew, and gains by its drift, also in its timers.
func TestSkewAndDrift(t *testing.T) {
	var now, later time.Time
	var slept time.Duration
	play(t, engine.Config{}, func(w *engine.World) {
		p := w.Process("p")
		p.SetClock(time.Minute, 1000) // a millisecond a second
		p.Start(func(_ context.Context, in *engine.Incarnation) error {
			now = in.Clock().Now()
			in.Clock().Sleep(1000 * time.Second)
			later, slept = in.Clock().Now(), w.Now()
			return nil
		})
	})
	start := time.Date(2000, 1, 1, 0, 1, 0, 0, time.UTC)
	if !now.Equal(start) {
		t.Errorf("the clock began at %s", now.UTC())
	}
	if got := later.Sub(now).Round(time.Millisecond); got != 999999*time.Millisecond {
		t.Errorf("the clock went on by %s", got)
	}
	if got := slept.Round(time.Millisecond); got != 999*time.Second {
		t.Errorf("virtual time went on by %s", got)
	}
}

// Timers of a paused process fire when it resumes, those of others at their time.
func TestPauseHoldsTimers(t *testing.T) {
	var n notes
	play(t, engine.Config{}, func(w *engine.World) {
		for _, name := range []string{"p1", "p2"} {
			w.Process(name).Start(func(_ context.Context, in *engine.Incarnation) error {
				in.Clock().Sleep(2 * time.Second)
				n.add(fmt.Sprint(name, " ", w.Now().Round(time.Millisecond)))
				return nil
			})
		}
		w.At(time.Second, "pause", func() { w.Process("p1").Pause(time.Minute) })
	})
	if want := []string{"p2 2s", "p1 1m1s"}; !slices.Equal(n.lines, want) {
		t.Errorf("got %q", n.lines)
	}
}

// Healing the world ends a pause early, also for timers.
func TestHealResumes(t *testing.T) {
	var woke time.Duration
	play(t, engine.Config{Goal: func(*engine.World) bool { return woke > 0 }},
		func(w *engine.World) {
			w.Process("p").Start(func(_ context.Context, in *engine.Incarnation) error {
				in.Clock().Sleep(2 * time.Second)
				woke = w.Now().Round(time.Millisecond)
				return nil
			})
			w.At(time.Second, "pause", func() { w.Process("p").Pause(time.Hour) })
			w.At(time.Minute, "heal", w.Heal)
		})
	if woke != time.Minute {
		t.Errorf("woke after %s", woke)
	}
}

// The rest of clockwork's interface behaves as the real clock does.
func TestTimersAndTickers(t *testing.T) {
	var n notes
	play(t, engine.Config{}, func(w *engine.World) {
		w.Process("p").Start(func(_ context.Context, in *engine.Incarnation) error {
			clock := in.Clock()
			ticker := clock.NewTicker(time.Second)
			<-ticker.Chan()
			<-ticker.Chan()
			n.add("ticks " + w.Now().Round(time.Millisecond).String())
			ticker.Reset(time.Minute)
			<-ticker.Chan()
			n.add("reset " + w.Now().Round(time.Millisecond).String())
			ticker.Stop()
			never := clock.NewTimer(time.Second)
			n.add(fmt.Sprint("stop ", never.Stop(), never.Stop(), never.Reset(time.Second)))
			<-never.Chan()
			done := make(chan struct{})
			clock.AfterFunc(time.Second, func() { close(done) })
			<-done
			n.add("func " + w.Now().Round(time.Millisecond).String())
			return nil
		})
	})
	want := []string{"ticks 2s", "reset 1m2s", "stop true false false", "func 1m4s"}
	if !slices.Equal(n.lines, want) {
		t.Errorf("got %q", n.lines)
	}
}
