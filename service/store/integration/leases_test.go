package integration_test

import (
	"testing"
	"time"

	"ordeal/service/order"
)

// expire lets the one running lease run out and sweeps it, as an executor does.
func (f fixture) expire() {
	f.Helper()
	f.past("lease_expires_at", time.Minute)
	f.sweep()
}

func (f fixture) sweep() {
	f.Helper()
	expired, err := f.store.ExpiredSteps(f.Context(), []int16{1}, 10)
	if err != nil || len(expired) != 1 {
		f.Fatalf("expired steps %+v, %v", expired, err)
	}
	e := expired[0]
	outcome := order.Classify(e.Kind, order.AnswerTimeout)
	r := f.result(order.TakenStep{
		Ref: e.Ref, Kind: e.Kind, Attempt: e.Attempt, Counted: e.Counted, Series: e.Series,
	}, outcome)
	r.Lost = true
	kept, err := f.store.RecordResults(f.Context(), []order.Result{r})
	if err != nil || !kept[0] {
		f.Fatalf("sweep: %v, %v", kept, err)
	}
}

// A stale holder changes nothing: its answer is one late fact in the audit trail.
func TestStaleHolderIsFenced(t *testing.T) {
	f := setup(t)
	id := f.create("k1")
	stale := f.take("e1")
	f.expire()
	f.past("due_at", time.Minute)
	fresh := f.take("e2")
	if fresh.Attempt != 2 || fresh.Ref.Generation <= stale.Ref.Generation {
		t.Fatalf("taken over as %+v", fresh)
	}
	for range 2 {
		if f.record(stale, order.OutcomeSucceeded) {
			t.Fatal("stale result accepted")
		}
	}
	f.wantState(id, order.Reserving)
	if n := f.count(`select count(*) from audit_events where action = 'late_result'`); n != 1 {
		t.Fatalf("%d late facts, want 1", n)
	}
	if !f.record(fresh, order.OutcomeSucceeded) {
		t.Fatal("holder refused")
	}
	if kept, err := f.store.RenewLeases(t.Context(), "e1", []order.StepRef{stale.Ref},
		order.LeaseDuration); err != nil || len(kept) != 0 {
		t.Fatalf("stale lease renewed: %v, %v", kept, err)
	}
}

// A charge whose attempt has no result is never repeated.
func TestAbandonedChargeIsReconciled(t *testing.T) {
	f := setup(t)
	id := f.create("k1")
	f.step(order.StepReserve, order.OutcomeSucceeded)
	f.take("e1")
	f.expire()
	f.wantState(id, order.PaymentUnknown)
	f.step(order.StepReconcile, order.OutcomeSucceeded)
	f.wantState(id, order.Paid)
}

// A lease that was renewed between the look and the record is not swept.
func TestSweepIsGuarded(t *testing.T) {
	f := setup(t)
	f.create("k1")
	s := f.take("e1")
	r := f.result(s, order.OutcomeTransient)
	r.Lost = true
	kept, err := f.store.RecordResults(t.Context(), []order.Result{r})
	if err != nil || kept[0] {
		t.Fatalf("living lease swept: %v, %v", kept, err)
	}
	if !f.record(s, order.OutcomeSucceeded) {
		t.Fatal("holder refused")
	}
}

// After a lost answer the same result is recorded again: it counts as accepted, once.
func TestRecordRepeated(t *testing.T) {
	f := setup(t)
	f.create("k1")
	s := f.take("e1")
	for range 3 {
		if !f.record(s, order.OutcomeSucceeded) {
			t.Fatal("repeated record refused")
		}
	}
	if n := f.count(`select count(*) from audit_events`); n != 0 {
		t.Fatalf("%d audit rows, want none", n)
	}
}

func TestRenewKeepsLease(t *testing.T) {
	f := setup(t)
	f.create("k1")
	s := f.take("e1")
	f.past("lease_expires_at", 29*time.Second)
	kept, err := f.store.RenewLeases(t.Context(), "e1", []order.StepRef{s.Ref},
		order.LeaseDuration)
	if err != nil || len(kept) != 1 {
		t.Fatalf("renewed %v, %v", kept, err)
	}
	n := f.count(`select count(*) from workflow_steps
		where lease_expires_at > now() + interval '25 s'`)
	if n != 1 {
		t.Fatal("lease not prolonged")
	}
}

// An executor that lost a step and took it again renews the newer take alone.
func TestRenewTellsTakesApart(t *testing.T) {
	f := setup(t)
	f.create("k1")
	stale := f.take("e1")
	f.expire()
	f.past("due_at", time.Minute)
	fresh := f.take("e1")
	kept, err := f.store.RenewLeases(t.Context(), "e1",
		[]order.StepRef{stale.Ref, fresh.Ref}, order.LeaseDuration)
	if err != nil || len(kept) != 1 || kept[0] != fresh.Ref {
		t.Fatalf("renewed %v, %v, want %v", kept, err, fresh.Ref)
	}
}
