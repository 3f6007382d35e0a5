package executor

import (
	"testing"
	"testing/synctest"
	"time"

	"ordeal/service/order"
)

// expired is a step of the n-th order whose lease ran out in the given attempt.
func expired(n int, kind order.StepKind, counted int) order.ExpiredStep {
	return order.ExpiredStep{
		Ref:     order.StepRef{OrderID: id(n), StepNo: 1, Generation: counted, Owner: "dead"},
		Kind:    kind,
		Attempt: counted + 1,
		Counted: counted,
		Series:  1,
	}
}

// TestSweep: an attempt whose executor died counts. A charge may have happened; everything else is
// repeated on its schedule, or exhausted at the limit (STEP-5, STEP-6).
func TestSweep(t *testing.T) {
	for _, row := range []struct {
		kind    order.StepKind
		counted int
		outcome order.Outcome
		event   order.Event
		status  order.StepStatus
		retry   time.Duration
	}{
		{order.StepPay, 1, order.OutcomeUnknown, order.PayOutcomeUnknown, order.StepUnknown, 0},
		{order.StepPay, 5, order.OutcomeUnknown, order.PayOutcomeUnknown, order.StepUnknown, 0},
		{order.StepReserve, 1, order.OutcomeTransient, "", order.StepDue, time.Second},
		{order.StepRelease, 2, order.OutcomeTransient, "", order.StepDue, 2 * time.Second},
		{order.StepReconcile, 3, order.OutcomeUnresolved, "", order.StepDue, 4 * time.Second},
		{order.StepVoid, 4, order.OutcomeUnknown, "", order.StepDue, 8 * time.Second},
		{order.StepReserve, 5, order.OutcomeTransient, "", order.StepExhausted, 0},
		{order.StepShip, 5, order.OutcomeTransient, order.ShipExhausted, order.StepExhausted, 0},
		{order.StepRelease, 5, order.OutcomeTransient, order.ReleaseExhausted,
			order.StepExhausted, 0},
	} {
		step := expired(1, row.kind, row.counted)
		got, err := abandoned(step)
		if err != nil || got.Ref != step.Ref || got.Attempt != step.Attempt || !got.Lost ||
			!got.Sent || got.Code != "lease_expired" {
			t.Errorf("%+v: %+v, %v", row, got, err)
		}
		if got.Outcome != row.outcome || got.Follow.Event != row.event ||
			got.Follow.Status != row.status {
			t.Errorf("%+v: outcome %s, follow %+v", row, got.Outcome, got.Follow)
		}
		if row.retry > 0 && (got.Retry < row.retry || got.Retry > row.retry+row.retry/10) {
			t.Errorf("%+v: retry after %s", row, got.Retry)
		}
	}
}

// TestSweepLoop: expired leases are found within the sweep's pause and recorded together, what
// they lead to is taken at once, and a failing sweep of reservations stops nothing.
func TestSweepLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		d.recording = func(batch []order.Result) error {
			if batch[0].Lost {
				d.add(step(9, order.StepReconcile))
			}
			return nil
		}
		r := start(t, d, succeed)
		pass(time.Minute)
		d.expire(expired(1, order.StepPay, 1), expired(2, order.StepReserve, 1))
		pass(1250 * time.Millisecond)
		if got := d.seen().sizes(); len(got) != 2 || got[0] != 2 || got[1] != 1 {
			t.Fatalf("records of %v results", got)
		}
		seen := d.seen()
		if then := seen.records[1]; then.what[0].Ref.OrderID != id(9) ||
			then.at != seen.records[0].at {
			t.Errorf("what the sweep led to: %+v", then)
		}
		if seen.reservations < 48 {
			t.Errorf("%d sweeps of reservations in a minute", seen.reservations)
		}
		r.wantEnd()
	})
}
