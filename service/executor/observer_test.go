package executor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ordeal/service/order"
)

// witness notes what an executor tells.
type witness struct {
	mu    sync.Mutex
	heard []string
}

func (w *witness) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = append(w.heard, fmt.Sprintf(format, args...))
}

func (w *witness) Took(_ time.Time, steps []order.TakenStep) {
	if len(steps) > 0 {
		w.note("took %d", len(steps))
	}
}

// calledKey marks the context of a call.
type calledKey struct{}

func (w *witness) Calling(ctx context.Context, s order.TakenStep) (
	context.Context, func(order.Outcome, string),
) {
	return context.WithValue(ctx, calledKey{}, true), func(o order.Outcome, code string) {
		w.note("called %s %s %s", s.Kind, o, code)
	}
}

func (w *witness) Recorded(_ time.Time, results []order.Result, kept []bool) {
	for i, r := range results {
		w.note("recorded %s %s %s kept %t lost %t", r.Kind, r.TraceID, r.Outcome, kept[i], r.Lost)
	}
}

func (w *witness) LeasesLost(n int) {
	if n > 0 {
		w.note("lost %d", n)
	}
}

func (w *witness) ReservationsExpired(n int) { w.note("expired %d", n) }
func (w *witness) Failed(operation string)   { w.note("failed %s", operation) }

// heardNow returns what was heard, each once, in order.
func (w *witness) heardNow() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	heard := slices.Clone(w.heard)
	slices.Sort(heard)
	return slices.Compact(heard)
}

// TestObserver: an observer hears of takes, calls, results that were kept or came too late, lost
// and expired leases, and failures; its context reaches the provider.
func TestObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &witness{}
		taken := step(1, order.StepPay)
		taken.TraceID = "t"
		expired := step(2, order.StepReserve)
		d := &desk{due: []order.TakenStep{taken}, keeps: func(r order.StepRef) bool {
			return r.OrderID != id(1)
		}}
		d.expire(order.ExpiredStep{Ref: expired.Ref, Kind: expired.Kind, Attempt: 1, Counted: 1})
		reached := false
		r := start(t, d, func(ctx context.Context, s order.TakenStep) Reply {
			reached = ctx.Value(calledKey{}) != nil
			time.Sleep(25 * time.Second)
			return success
		}, func(c *Config) { c.Observer = w })
		pass(time.Minute)
		r.wantEnd()
		want := []string{
			"called pay succeeded ",
			"failed sweep", // of reservations, by the desk
			"lost 1",
			"recorded pay t succeeded kept false lost false",
			"recorded reserve  transient kept true lost true",
			"took 1",
		}
		if got := w.heardNow(); !slices.Equal(got, want) || !reached {
			t.Errorf("heard %q, reached %t", got, reached)
		}
	})
}
