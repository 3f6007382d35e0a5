package integration_test

import (
	"testing"
	"time"

	"ordeal/service/order"
)

// The happy path takes ten statements of the process: a take and a record for each of reserve,
// pay, ship and commit, after the creation.
func TestHappyPath(t *testing.T) {
	f := setup(t)
	id := f.create("k1")
	for _, kind := range []order.StepKind{
		order.StepReserve, order.StepPay, order.StepShip, order.StepCommit,
	} {
		f.step(kind, order.OutcomeSucceeded)
	}
	o := f.order(id)
	if o.State != order.Shipped || o.Version != 7 || len(o.History) != 7 {
		t.Fatalf("got %s version %d with %d history rows", o.State, o.Version, len(o.History))
	}
	if o.PaymentRef != "ref-pay" || o.ReservationRef != "ref-reserve" ||
		o.ShipmentRef != "ref-ship" || o.ClosedAt == nil {
		t.Fatalf("references or closing time missing: %+v", o)
	}
	if n := f.count(`select count(*) from outbox`); n != 7 {
		t.Fatalf("%d events, want 7", n)
	}
	if more := f.takeAll("e1"); len(more) != 0 {
		t.Fatalf("steps left: %+v", more)
	}
}

func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		name  string
		kinds []order.StepKind
		end   order.State
		comp  order.Compensation
	}{
		{"reserve", []order.StepKind{order.StepReserve}, order.ReservationFailed,
			order.CompensationNone},
		{"pay", []order.StepKind{order.StepReserve, order.StepPay}, order.Releasing,
			order.CompensationPending},
		{"ship", []order.StepKind{order.StepReserve, order.StepPay, order.StepShip},
			order.ShippingFailed, order.CompensationNone},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := setup(t)
			id := f.create("k1")
			for _, kind := range tc.kinds[:len(tc.kinds)-1] {
				f.step(kind, order.OutcomeSucceeded)
			}
			f.step(tc.kinds[len(tc.kinds)-1], order.OutcomeRefused)
			f.wantState(id, tc.end)
			if got := f.order(id).Compensation; got != tc.comp {
				t.Fatalf("compensation %s, want %s", got, tc.comp)
			}
		})
	}
}

func TestRefusedPaymentIsCompensated(t *testing.T) {
	f := setup(t)
	id := f.create("k1")
	f.step(order.StepReserve, order.OutcomeSucceeded)
	f.step(order.StepPay, order.OutcomeRefused)
	f.step(order.StepRelease, order.OutcomeSucceeded)
	o := f.order(id)
	if o.State != order.PaymentFailed || o.Compensation != order.CompensationDone {
		t.Fatalf("got %s, compensation %s", o.State, o.Compensation)
	}
	want := []string{"charge_started", "compensation_started", "compensation_attempt",
		"compensation_done"}
	for _, action := range want {
		if n := f.count(`select count(*) from audit_events where action = $1`, action); n != 1 {
			t.Errorf("%d audit rows %s, want 1", n, action)
		}
	}
}

func TestUnknownPayment(t *testing.T) {
	for _, tc := range []struct {
		outcome order.Outcome
		want    order.State
	}{
		{order.OutcomeSucceeded, order.Paid},
		{order.OutcomeRefused, order.Releasing},
		{order.OutcomeVoided, order.Releasing},
		{order.OutcomeUnresolved, order.PaymentUnknown},
	} {
		t.Run(string(tc.outcome), func(t *testing.T) {
			f := setup(t)
			id := f.create("k1")
			f.step(order.StepReserve, order.OutcomeSucceeded)
			f.step(order.StepPay, order.OutcomeUnknown)
			f.wantState(id, order.PaymentUnknown)
			f.step(order.StepReconcile, tc.outcome)
			f.wantState(id, tc.want)
		})
	}
}

// After the first series the order is flagged, and queries go on a minute apart.
func TestReconciliationSeries(t *testing.T) {
	f := setup(t)
	id := f.create("k1")
	f.step(order.StepReserve, order.OutcomeSucceeded)
	f.step(order.StepPay, order.OutcomeUnknown)
	for range order.MaxAttempts {
		f.past("due_at", 10*time.Second)
		f.step(order.StepReconcile, order.OutcomeUnresolved)
	}
	o := f.order(id)
	if len(o.Attention) != 1 || o.Attention[0].Reason != order.AttentionUnresolved {
		t.Fatalf("attention %+v", o.Attention)
	}
	if len(o.Steps) != 1 || o.Steps[0].Kind != order.StepReconcile {
		t.Fatalf("open steps %+v", o.Steps)
	}
	wait := o.Steps[0].DueAt.Sub(o.UpdatedAt)
	if wait < order.ReconcileEvery {
		t.Fatalf("next query after %s", wait)
	}
	f.past("due_at", 2*time.Minute)
	f.step(order.StepReconcile, order.OutcomeSucceeded)
	if o := f.order(id); o.State != order.Paid || len(o.Attention) != 0 {
		t.Fatalf("got %s with attention %+v", o.State, o.Attention)
	}
}

// Beyond the first series, queries end with the reservation deadline; the order keeps its flag.
func TestReconciliationEndsWithDeadline(t *testing.T) {
	f := setup(t)
	id := f.create("k1")
	f.step(order.StepReserve, order.OutcomeSucceeded)
	f.step(order.StepPay, order.OutcomeUnknown)
	for range order.MaxAttempts {
		f.past("due_at", 10*time.Second)
		f.step(order.StepReconcile, order.OutcomeUnresolved)
	}
	f.exec(`update orders set reservation_deadline = now() + interval '30 s'`)
	f.past("due_at", 2*time.Minute)
	f.step(order.StepReconcile, order.OutcomeUnresolved)
	o := f.order(id)
	if o.State != order.PaymentUnknown || len(o.Steps) != 0 || len(o.Attention) != 1 {
		t.Fatalf("%s with open steps %+v and attention %+v", o.State, o.Steps, o.Attention)
	}
}

func TestTransientSchedule(t *testing.T) {
	f := setup(t)
	id := f.create("k1")
	for n := range order.MaxAttempts {
		s := f.take("e1")
		if s.Attempt != n+1 {
			t.Fatalf("attempt %d, want %d", s.Attempt, n+1)
		}
		f.record(s, order.OutcomeTransient)
		if early := f.takeAll("e1"); len(early) != 0 {
			t.Fatalf("taken again at once: %+v", early)
		}
		f.past("due_at", 8*time.Second)
	}
	o := f.order(id)
	if o.State != order.Reserving || len(o.Attention) != 1 ||
		o.Attention[0].Reason != order.AttentionRetryExhausted {
		t.Fatalf("got %s with attention %+v", o.State, o.Attention)
	}
}

func TestHandedBackDoesNotCount(t *testing.T) {
	f := setup(t)
	f.create("k1")
	for n := range 2 * order.MaxAttempts {
		s := f.take("e1")
		if s.Counted != 1 || s.Attempt != n+1 {
			t.Fatalf("attempt %d counted %d, want %d and 1", s.Attempt, s.Counted, n+1)
		}
		f.record(s, order.OutcomeNotSent)
	}
}
