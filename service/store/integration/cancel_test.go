package integration_test

import (
	"testing"
	"time"

	"ordeal/service/order"
)

func TestCancelBeforeAnything(t *testing.T) {
	f := setup(t)
	id := f.create("k1")
	if a, _ := f.cancel(id, ""); a.Status != 200 {
		t.Fatalf("status %d", a.Status)
	}
	f.wantState(id, order.Cancelled)
	if more := f.takeAll("e1"); len(more) != 0 {
		t.Fatalf("a step of a cancelled order was taken: %+v", more)
	}
	if a, _ := f.cancel(id, ""); a.Status != 200 {
		t.Fatalf("repeated: status %d", a.Status)
	}
}

func TestCancelReserved(t *testing.T) {
	f := setup(t)
	id := f.create("k1")
	f.step(order.StepReserve, order.OutcomeSucceeded)
	if a, _ := f.cancel(id, "c1"); a.Status != 202 {
		t.Fatalf("status %d", a.Status)
	}
	f.step(order.StepRelease, order.OutcomeSucceeded)
	f.wantState(id, order.Cancelled)
	a, _ := f.cancel(id, "c1")
	if a.Status != 202 || !a.Replayed {
		t.Fatalf("replay: %+v", a)
	}
}

// While an attempt is in flight the request waits; the outcome decides it.
func TestCancelInFlight(t *testing.T) {
	for _, tc := range []struct {
		kind    order.StepKind
		outcome order.Outcome
		want    order.State
		status  order.CancelStatus
		next    []order.StepKind
	}{
		{order.StepReserve, order.OutcomeSucceeded, order.Releasing, order.CancelDone,
			[]order.StepKind{order.StepRelease}},
		{order.StepReserve, order.OutcomeTransient, order.Releasing, order.CancelDone,
			[]order.StepKind{order.StepRelease}},
		{order.StepReserve, order.OutcomeNotSent, order.Releasing, order.CancelDone,
			[]order.StepKind{order.StepRelease}},
		{order.StepReserve, order.OutcomeRefused, order.ReservationFailed,
			order.CancelSuperseded, nil},
		{order.StepPay, order.OutcomeSucceeded, order.Paid, order.CancelRefused,
			[]order.StepKind{order.StepShip}},
		{order.StepPay, order.OutcomeRefused, order.Releasing, order.CancelSuperseded,
			[]order.StepKind{order.StepRelease}},
		{order.StepPay, order.OutcomeTransient, order.PaymentUnknown, order.CancelWaiting,
			[]order.StepKind{order.StepReconcile, order.StepVoid}},
		{order.StepPay, order.OutcomeUnknown, order.PaymentUnknown, order.CancelWaiting,
			[]order.StepKind{order.StepReconcile, order.StepVoid}},
		{order.StepPay, order.OutcomeNotSent, order.Releasing, order.CancelDone,
			[]order.StepKind{order.StepRelease}},
	} {
		t.Run(string(tc.kind)+" "+string(tc.outcome), func(t *testing.T) {
			f := setup(t)
			id := f.create("k1")
			if tc.kind == order.StepPay {
				f.step(order.StepReserve, order.OutcomeSucceeded)
			}
			s := f.take("e1")
			for range 2 {
				if a, _ := f.cancel(id, ""); a.Status != 202 {
					t.Fatalf("status %d", a.Status)
				}
			}
			if !f.record(s, tc.outcome) {
				t.Fatal("result refused")
			}
			o := f.order(id)
			if o.State != tc.want || o.CancelStatus != tc.status {
				t.Fatalf("got %s, cancellation %s", o.State, o.CancelStatus)
			}
			var next []order.StepKind
			for _, open := range o.Steps {
				next = append(next, open.Kind)
			}
			if len(next) != len(tc.next) {
				t.Fatalf("next steps %v, want %v", next, tc.next)
			}
			for i := range next {
				if next[i] != tc.next[i] {
					t.Fatalf("next steps %v, want %v", next, tc.next)
				}
			}
		})
	}
}

// A confirmed void ends a cancelled order, and closes the query that ran beside it.
func TestVoidDecides(t *testing.T) {
	f := setup(t)
	id := f.create("k1")
	f.step(order.StepReserve, order.OutcomeSucceeded)
	s := f.take("e1")
	f.cancel(id, "")
	f.record(s, order.OutcomeUnknown)
	steps := f.takeAll("e1")
	if len(steps) != 2 || steps[1].Kind != order.StepVoid {
		t.Fatalf("took %+v", steps)
	}
	f.record(steps[1], order.OutcomeSucceeded)
	if f.record(steps[0], order.OutcomeSucceeded) {
		t.Fatal("the query was accepted after the void")
	}
	f.step(order.StepRelease, order.OutcomeSucceeded)
	if o := f.order(id); o.State != order.Cancelled || o.CancelStatus != order.CancelDone {
		t.Fatalf("got %s, cancellation %s", o.State, o.CancelStatus)
	}
}

func TestCancelWhileRetryWaits(t *testing.T) {
	f := setup(t)
	id := f.create("k1")
	f.step(order.StepReserve, order.OutcomeTransient)
	if a, _ := f.cancel(id, ""); a.Status != 202 {
		t.Fatalf("status %d", a.Status)
	}
	f.step(order.StepRelease, order.OutcomeSucceeded)
	f.wantState(id, order.Cancelled)
}

func TestCancelTooLate(t *testing.T) {
	f := setup(t)
	id := f.create("k1")
	f.step(order.StepReserve, order.OutcomeSucceeded)
	f.step(order.StepPay, order.OutcomeSucceeded)
	first, _ := f.cancel(id, "c1")
	f.step(order.StepShip, order.OutcomeSucceeded)
	again, _ := f.cancel(id, "c1")
	if first.Status != 409 || again.Status != 409 || again.Body != first.Body || !again.Replayed {
		t.Fatalf("got %+v, then %+v", first, again)
	}
}

func TestCancelOfAnotherCustomer(t *testing.T) {
	f := setup(t)
	f.create("k1")
	if _, found := f.cancel(order.NewID("bob", "k1"), "c1"); found {
		t.Fatal("found an order that does not exist")
	}
	if n := f.count(`select count(*) from idempotency_keys where route = 'cancel'`); n != 0 {
		t.Fatal("a key was stored for it")
	}
}

func TestReservationExpires(t *testing.T) {
	for _, tc := range []struct {
		name    string
		outcome order.Outcome
		want    order.State
	}{
		{"before any charge", "", order.Releasing},
		{"after a charge that was sent", order.OutcomeTransient, order.PaymentUnknown},
		{"after a charge that was not", order.OutcomeNotSent, order.Releasing},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := setup(t)
			id := f.create("k1")
			f.step(order.StepReserve, order.OutcomeSucceeded)
			if tc.outcome != "" {
				f.step(order.StepPay, tc.outcome)
			}
			f.exec(`update orders set reservation_deadline = now() + interval '2 s'`)
			f.past("due_at", time.Minute)
			if late := f.takeAll("e1"); len(late) != 0 {
				t.Fatalf("charge taken inside the margin: %+v", late)
			}
			f.exec(`update orders set reservation_deadline = now()`)
			n, err := f.store.ExpireReservations(t.Context(), "e1", []int16{1}, 10)
			if err != nil || n != 1 {
				t.Fatalf("expired %d, %v", n, err)
			}
			f.wantState(id, tc.want)
		})
	}
}

// While a charge is in flight, expiry waits for its result.
func TestExpiryWaitsForAttemptInFlight(t *testing.T) {
	f := setup(t)
	id := f.create("k1")
	f.step(order.StepReserve, order.OutcomeSucceeded)
	s := f.take("e1")
	f.exec(`update orders set reservation_deadline = now() - interval '1 s'`)
	n, err := f.store.ExpireReservations(t.Context(), "e1", []int16{1}, 10)
	if err != nil || n != 0 {
		t.Fatalf("expired %d, %v", n, err)
	}
	f.record(s, order.OutcomeSucceeded)
	f.wantState(id, order.Paid)
}
