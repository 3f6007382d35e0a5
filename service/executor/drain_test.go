package executor

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ordeal/service/order"
)

// TestDrainWaits: calls in work at a stop are finished and recorded, and nothing more is taken.
func TestDrainWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{due: steps(25)}
		r := start(t, d, lasting(3*time.Second))
		pass(time.Second)
		r.wantEnd()
		if took := time.Since(r.begun); took != 3*time.Second {
			t.Errorf("ended after %s", took)
		}
		got := d.seen().results()
		if len(got) != 20 || d.left() != 5 {
			t.Errorf("%d results, %d steps left", len(got), d.left())
		}
		for _, result := range got {
			if result.Outcome != order.OutcomeSucceeded {
				t.Errorf("result %+v", result)
			}
		}
	})
}

// TestDrainHandsBack: steps that a take brings after the stop are handed back unsent: due again,
// and not counted (STEP-5).
func TestDrainHandsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{due: steps(3), taking: func() { time.Sleep(time.Second) }}
		r := start(t, d, succeed)
		pass(time.Second / 2)
		r.wantEnd()
		got := d.seen().results()
		if len(got) != 3 {
			t.Errorf("%d results", len(got))
		}
		for _, result := range got {
			if result.Outcome != order.OutcomeNotSent || result.Sent ||
				result.Follow.Status != order.StepDue || result.Follow.Event != "" {
				t.Errorf("result %+v", result)
			}
		}
	})
}

// TestDrainKeepsLeases: a drain longer than a lease goes on renewing, so its results count.
func TestDrainKeepsLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{due: steps(1)}
		r := start(t, d, lasting(45*time.Second), func(c *Config) { c.DrainTimeout = time.Minute })
		pass(time.Second)
		r.wantEnd()
		if len(d.seen().renews) < 4 || len(d.seen().results()) != 1 {
			t.Errorf("%d renewals, %d results", len(d.seen().renews), len(d.seen().results()))
		}
	})
}

// TestDrainTimeout: a stop is bounded. What is still in work is cut, reported and not recorded;
// its lease expires.
func TestDrainTimeout(t *testing.T) {
	for name, row := range map[string]struct {
		desk     *desk
		provider provider
	}{
		"call":   {&desk{due: steps(2)}, lasting(time.Hour)},
		"record": {&desk{recording: func([]order.Result) error { return errBroken }}, succeed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				row.desk.due = steps(2)
				r := start(t, row.desk, row.provider,
					func(c *Config) { c.DrainTimeout = 2 * time.Second })
				pass(time.Second)
				if err := r.end(); err == nil || !strings.Contains(err.Error(), "2 steps") {
					t.Errorf("drain: %v", err)
				}
				if took := time.Since(r.begun); took != 3*time.Second {
					t.Errorf("ended after %s", took)
				}
			})
		})
	}
}

// TestDrainLeavesNobody: a call that was cut may need a moment to notice; Run outlives it.
func TestDrainLeavesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls gauge
		r := start(t, &desk{due: steps(2)}, func(ctx context.Context, _ order.TakenStep) Reply {
			calls.add(1)
			defer calls.add(-1)
			<-ctx.Done()
			time.Sleep(time.Second)
			return success
		})
		pass(time.Second)
		if err := r.end(); err == nil {
			t.Error("a complete drain")
		}
		if now, _, all := calls.read(); now != 0 || all != 2 {
			t.Errorf("%d of %d calls are left after the end", now, all)
		}
	})
}

// TestDrainIdle: an idle executor stops in the instant in which it is told.
func TestDrainIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &desk{}, succeed)
		pass(time.Minute)
		r.wantEnd()
		if took := time.Since(r.begun); took != time.Minute {
			t.Errorf("ended after %s", took)
		}
	})
}
