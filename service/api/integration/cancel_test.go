package integration_test

import (
	"net/http/httptest"
	"sync"
	"testing"

	"ordeal/service/order"
)

func TestCancelCreated(t *testing.T) {
	s := setup(t)
	id := s.create("key")
	if o := s.show(id, ann); len(o.NextActions) != 1 || o.NextActions[0] != "cancel" {
		t.Errorf("next actions %v", o.NextActions)
	}
	s.want(s.cancel(id, ""), 200, "")
	s.want(s.cancel(id, ""), 200, "")
	o := s.show(id, ann)
	if o.State != order.Cancelled || o.Status != order.StatusFailed || o.Version != 2 ||
		o.Compensation != "none" || o.ClosedAt == nil || o.Step != nil ||
		o.Cancellation.Status != order.CancelDone || len(o.NextActions) != 0 {
		t.Errorf("%+v", o)
	}
	if n := s.count("select count(*) from audit_events where audit_key = 'cancel'"); n != 1 {
		t.Errorf("%d requests audited", n)
	}
}

// TestCancelReplay: a key brings back the first answer although the order has moved on since.
func TestCancelReplay(t *testing.T) {
	s := setup(t)
	id := s.create("key")
	s.succeed(order.StepReserve)
	first := s.cancel(id, "cancel")
	s.want(first, 202, "")
	if first.Header().Get("Idempotent-Replayed") != "" {
		t.Error("the first is called replayed")
	}
	if o := s.show(id, ann); o.State != order.Releasing || o.Compensation != "pending" ||
		o.Step.Kind != order.StepRelease || len(o.NextActions) != 0 {
		t.Errorf("%+v", o)
	}
	s.succeed(order.StepRelease)
	again := s.send(1, "POST", ordersPath+"/"+id.String()+"/cancel", ann, `"cancel"`, "{}")
	if again.Code != 202 || again.Body.String() != first.Body.String() ||
		again.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("%d %v %s", again.Code, again.Header(), again.Body)
	}
	s.want(s.cancel(id, "another"), 200, "")
	if o := s.show(id, ann); o.State != order.Cancelled || o.Compensation != "done" {
		t.Errorf("%+v", o)
	}
}

// TestCancelInFlight: while a reservation is in flight the request waits, once.
func TestCancelInFlight(t *testing.T) {
	s := setup(t)
	id := s.create("key")
	step := s.take()
	s.want(s.cancel(id, "cancel"), 202, "")
	s.want(s.cancel(id, ""), 202, "")
	o := s.show(id, ann)
	if o.State != order.Reserving || o.Cancellation.Status != order.CancelWaiting ||
		o.Step.Status != "running" || o.Step.Attempt != 1 || len(o.NextActions) != 0 {
		t.Errorf("%+v", o)
	}
	s.record(step, order.OutcomeSucceeded)
	o = s.show(id, ann)
	if o.State != order.Releasing || o.Cancellation.Status != order.CancelDone ||
		o.History[2].Event != order.ReserveSucceededCancelling {
		t.Errorf("%+v", o)
	}
}

// TestCancelTooLate: after the charge nothing is cancelled; the 409 is stored and comes back
// byte for byte, and another key is answered anew.
func TestCancelTooLate(t *testing.T) {
	s := setup(t)
	id := s.create("key")
	s.succeed(order.StepReserve, order.StepPay, order.StepShip)
	before := s.show(id, ann)
	if before.State != order.Shipped || before.References.Payment == nil ||
		before.ReservationDeadline == nil || len(before.NextActions) != 0 {
		t.Errorf("%+v", before)
	}
	first := s.cancel(id, "cancel")
	s.want(first, 409, "invalid_transition")
	again := s.cancel(id, "cancel")
	if again.Code != 409 || again.Body.String() != first.Body.String() ||
		again.Header().Get("Idempotent-Replayed") != "true" ||
		again.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d %v %s", again.Code, again.Header(), again.Body)
	}
	s.want(s.cancel(id, ""), 409, "invalid_transition")
	s.want(s.cancel(id, "other"), 409, "invalid_transition")
	if after := s.show(id, ann); after.Version != before.Version || after.Cancellation != nil {
		t.Errorf("%+v", after)
	}
	if n := s.count("select count(*) from idempotency_keys where route like '%cancel'"); n != 2 {
		t.Errorf("%d answers stored", n)
	}
}

// TestParallelCancellations: fifty requests, half with one key, move the order once.
func TestParallelCancellations(t *testing.T) {
	s := setup(t)
	id := s.create("key")
	answers := make([]*httptest.ResponseRecorder, 50)
	var all sync.WaitGroup
	for n := range answers {
		key := []string{"", "cancel"}[n%2]
		path := ordersPath + "/" + id.String() + "/cancel"
		all.Go(func() { answers[n] = s.send(n/2%2, "POST", path, ann, key, "") })
	}
	all.Wait()
	for _, w := range answers {
		s.want(w, 200, "")
	}
	if o := s.show(id, ann); o.Version != 2 || o.State != order.Cancelled {
		t.Errorf("%+v", o)
	}
}

// TestCancelBehindALock: a cancellation with a key that finds no end is in progress.
func TestCancelBehindALock(t *testing.T) {
	s := setup(t)
	id := s.create("key")
	holder, err := s.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Rollback(t.Context()) }()
	_, err = holder.Exec(t.Context(), "select from orders where order_id = $1 for update", id)
	if err != nil {
		t.Fatal(err)
	}
	s.want(s.cancel(id, "cancel"), 409, "idempotency_in_progress")
	if err := holder.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.want(s.cancel(id, "cancel"), 200, "")
}
