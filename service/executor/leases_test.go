package executor

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"

	"ordeal/service/order"
)

// TestTrust: a call starts only if it must end within the lease by the executor's own clock; a
// renewal prolongs that, a loss ends it for good.
func TestTrust(t *testing.T) {
	clock := clockwork.NewFakeClock()
	e, err := New(config(&desk{}, succeed, clock))
	if err != nil {
		t.Fatal(err)
	}
	s := step(1, order.StepPay)
	other := step(2, order.StepPay)
	try := func(s order.TakenStep) order.Outcome {
		return e.attempt(t.Context(), t.Context(), s).Outcome
	}
	want := func(when string, s order.TakenStep, outcome order.Outcome) {
		t.Helper()
		if got := try(s); got != outcome {
			t.Errorf("%s: %s, want %s", when, got, outcome)
		}
	}
	want("never held", s, order.OutcomeNotSent)
	e.leases.hold(s.Ref, clock.Now().Add(30*time.Second))
	e.leases.hold(other.Ref, clock.Now().Add(30*time.Second))
	clock.Advance(27*time.Second - time.Nanosecond)
	want("just in time", s, order.OutcomeSucceeded)
	clock.Advance(time.Nanosecond)
	want("an instant later", s, order.OutcomeNotSent)

	asked := []order.StepRef{s.Ref, other.Ref}
	lost := e.leases.renewed(asked, asked[:1], clock.Now().Add(30*time.Second))
	if !slices.Equal(lost, asked[1:]) {
		t.Errorf("lost %v", lost)
	}
	want("renewed", s, order.OutcomeSucceeded)
	want("lost", other, order.OutcomeNotSent)

	e.leases.drop(s.Ref)
	if lost := e.leases.renewed(asked[:1], nil, clock.Now()); lost != nil {
		t.Errorf("a step that ended meanwhile is lost: %v", lost)
	}
	if e.leases.trusted(s.Ref, clock.Now()) || e.leases.count() != 1 {
		t.Errorf("a dropped step is held")
	}
}

// TestStopped: an executor that stops starts no call.
func TestStopped(t *testing.T) {
	e, err := New(config(&desk{}, succeed, clockwork.NewFakeClock()))
	if err != nil {
		t.Fatal(err)
	}
	s := step(1, order.StepPay)
	e.leases.hold(s.Ref, e.Clock.Now().Add(time.Hour))
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if got := e.attempt(stopped, t.Context(), s); got != (Reply{Outcome: order.OutcomeNotSent}) {
		t.Errorf("reply %+v", got)
	}
}

// TestSlowTake: the lease counts from before the take was sent. Where the answer comes so late
// that a call could outlive the lease, none is made and the step is handed back.
func TestSlowTake(t *testing.T) {
	for _, row := range []struct {
		takes time.Duration
		want  order.Outcome
	}{
		{1900 * time.Millisecond, order.OutcomeSucceeded},
		{2 * time.Second, order.OutcomeNotSent},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := &desk{due: steps(1), taking: func() { time.Sleep(row.takes) }}
			r := start(t, d, succeed, func(c *Config) {
				c.Lease, c.RenewEvery = 5*time.Second, 4*time.Second
			})
			pass(row.takes)
			got := d.seen().results()
			if len(got) != 1 || got[0].Outcome != row.want ||
				got[0].Sent != (row.want == order.OutcomeSucceeded) {
				t.Errorf("a take of %s: %+v", row.takes, got)
			}
			r.wantEnd()
		})
	}
}

// TestRenewal: all leases are renewed in one statement at least every ten seconds, also while a
// call lasts, and none of a step that has ended.
func TestRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{due: steps(5)}
		r := start(t, d, lasting(time.Minute))
		pass(time.Minute)
		last := r.begun
		for _, renew := range d.seen().renews {
			if gap := renew.at.Sub(last); gap > 10*time.Second || len(renew.what) != 5 {
				t.Errorf("renewed %d leases after %s", len(renew.what), gap)
			}
			last = renew.at
		}
		if gap := time.Since(last); gap > 10*time.Second {
			t.Errorf("no renewal for %s", gap)
		}
		renewals := len(d.seen().renews)
		pass(time.Minute)
		if len(d.seen().renews) != renewals {
			t.Error("leases of ended steps are renewed")
		}
		r.wantEnd()
	})
}

// TestRenewalProlongs: a result that cannot be written is kept as long as renewals succeed, and
// written when the database takes it again.
func TestRenewalProlongs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		d := &desk{due: steps(1), recording: func([]order.Result) error {
			if time.Since(begun) < 90*time.Second {
				return errBroken
			}
			return nil
		}}
		r := start(t, d, succeed)
		pass(89 * time.Second)
		if r.leases.count() != 1 {
			t.Fatal("given up although the lease was renewed")
		}
		pass(2 * time.Second)
		if r.leases.count() != 0 {
			t.Error("not written")
		}
		r.wantEnd()
	})
}

// TestGivenUp: a result that cannot be written is given up when its lease may have expired, and
// at once when the lease is known to be lost. Nothing is written for it afterwards.
func TestGivenUp(t *testing.T) {
	for _, row := range []struct {
		name     string
		renewing func() error
		keeps    func(order.StepRef) bool
		from, to time.Duration
	}{
		{"no renewal", func() error { return errBroken }, nil,
			29 * time.Second, 30*time.Second + 2*recordBackoff},
		{"lease lost", nil, func(order.StepRef) bool { return false },
			6 * time.Second, 10*time.Second + 2*recordBackoff},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &desk{due: steps(1), renewing: row.renewing, keeps: row.keeps,
					recording: func([]order.Result) error { return errBroken }}
				r := start(t, d, succeed)
				pass(row.to)
				if n := r.leases.count(); n != 0 {
					t.Errorf("%d steps are still held", n)
				}
				records := d.seen().records
				last := records[len(records)-1].at.Sub(r.begun)
				if last < row.from || last > row.to {
					t.Errorf("last written after %s", last)
				}
				pass(time.Minute)
				if len(d.seen().records) != len(records) {
					t.Error("written after it was given up")
				}
				r.wantEnd()
			})
		})
	}
}

// TestHeldInOrder: a step that was lost and taken again is held twice; the list does not depend on
// the order of a map.
func TestHeldInOrder(t *testing.T) {
	l := leases{until: map[order.StepRef]time.Time{}}
	refs := []order.StepRef{
		{OrderID: order.ID{1}, StepNo: 1, Generation: 1},
		{OrderID: order.ID{1}, StepNo: 1, Generation: 2},
		{OrderID: order.ID{1}, StepNo: 2, Generation: 1},
		{OrderID: order.ID{2}, StepNo: 1, Generation: 1},
	}
	for _, ref := range refs {
		l.hold(ref, time.Time{})
	}
	for range 100 {
		if got := l.held(); !slices.Equal(got, refs) {
			t.Fatalf("held %v, want %v", got, refs)
		}
	}
}
