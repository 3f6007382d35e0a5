package executor

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"

	"ordeal/service/order"
)

// TestNew: everything that is missing or cannot be is named, and defaults are those of the process.
func TestNew(t *testing.T) {
	_, err := New(Config{Lease: time.Second, RenewEvery: time.Second})
	if err == nil {
		t.Fatal("an empty configuration is accepted")
	}
	for _, field := range []string{"Name", "Steps", "Provider", "Clock", "Jitter", "Log",
		"RenewEvery must be below Lease", "Lease must be above a call's timeout"} {
		if !strings.Contains(err.Error(), "executor: "+field) {
			t.Errorf("no word of %s in: %v", field, err)
		}
	}
	e, err := New(config(&desk{}, succeed, clockwork.NewFakeClock()))
	if err != nil {
		t.Fatal(err)
	}
	if e.Lease != 30*time.Second || e.RenewEvery != 10*time.Second || e.MaxInWork != 20 ||
		e.SweepEvery != time.Second || e.DrainTimeout != 10*time.Second {
		t.Errorf("defaults: %+v", e.Config)
	}
}

// gauge counts calls, in work and altogether.
type gauge struct {
	mu            sync.Mutex
	now, top, all int
}

func (g *gauge) add(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now += n
	g.top = max(g.top, g.now)
	if n > 0 {
		g.all++
	}
}

func (g *gauge) read() (now, top, all int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.now, g.top, g.all
}

// TestAtMostInWork: of fifty due steps twenty are in work, and each that ends makes room for one
// more at once (STEP-4, INV-09).
func TestAtMostInWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls gauge
		release := make(chan struct{})
		d := &desk{due: steps(50)}
		r := start(t, d, func(context.Context, order.TakenStep) Reply {
			calls.add(1)
			defer calls.add(-1)
			<-release
			return success
		})
		for done := range 50 {
			synctest.Wait()
			if now, _, all := calls.read(); now != min(20, 50-done) || all != min(20+done, 50) {
				t.Fatalf("after %d ends: %d in work, %d begun", done, now, all)
			}
			release <- struct{}{}
		}
		synctest.Wait()
		if _, top, _ := calls.read(); top != 20 {
			t.Errorf("at most %d in work", top)
		}
		if got := len(d.seen().results()); got != 50 {
			t.Errorf("%d results", got)
		}
		for _, take := range d.seen().takes {
			if take.what.Limit < 1 || take.what.Limit > 20 || take.what.Lease != r.Lease ||
				take.what.Owner != "e" {
				t.Errorf("asked for %+v", take.what)
			}
		}
		r.wantEnd()
	})
}

// TestPoll: an idle executor looks for due steps in pauses that vary by a quarter.
func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &desk{}, succeed, func(c *Config) { c.PollEvery = time.Second })
		pass(time.Minute)
		r.wantEnd()
		takes := r.desk.seen().takes
		varied := false
		for n := range len(takes) - 1 {
			pause := takes[n+1].at.Sub(takes[n].at)
			varied = varied || pause != time.Second
			if pause < 750*time.Millisecond || pause > 1250*time.Millisecond {
				t.Errorf("pause %d is %s", n, pause)
			}
		}
		if n := len(takes); n < 48 || n > 81 || !varied {
			t.Errorf("%d takes in a minute, varied: %t", n, varied)
		}
	})
}

// TestNudge: a nudge ends the pause at once, one that comes early is kept, and many are one.
func TestNudge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &desk{}, succeed)
		pass(time.Minute)
		r.desk.add(steps(3)...)
		pass(time.Minute)
		if got := r.desk.seen().results(); len(got) != 0 {
			t.Fatalf("results without a nudge: %v", got)
		}
		r.Nudge()
		r.Nudge()
		synctest.Wait()
		if got := len(r.desk.seen().results()); got != 3 {
			t.Errorf("%d results after a nudge", got)
		}
		if last := r.desk.seen().records[0].at; last != r.begun.Add(2*time.Minute) {
			t.Errorf("recorded after %s", last.Sub(r.begun))
		}
		r.wantEnd()
	})
}

// TestNoConsequence: an outcome that cannot arise is dropped, and its step freed.
func TestNoConsequence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &desk{due: steps(1)}, func(context.Context, order.TakenStep) Reply {
			return Reply{Outcome: order.OutcomeVoided}
		})
		pass(time.Minute)
		if got := r.desk.seen().results(); len(got) != 0 {
			t.Errorf("recorded %+v", got)
		}
		r.wantEnd()
	})
}
