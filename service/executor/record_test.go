package executor

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ordeal/service/order"
)

// TestGroupCommit: results that come while a record is on its way go out together in the next.
func TestGroupCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{due: steps(20), recording: func([]order.Result) error {
			time.Sleep(100 * time.Millisecond)
			return nil
		}}
		r := start(t, d, func(ctx context.Context, s order.TakenStep) Reply {
			if s.Ref.OrderID != id(0) {
				time.Sleep(10 * time.Millisecond)
			}
			return success
		})
		pass(time.Second)
		if got := d.seen().sizes(); !slices.Equal(got, []int{1, 19}) {
			t.Errorf("records of %v results", got)
		}
		r.wantEnd()
	})
}

// TestOnePerOrder: two results of one order never share a record, since only one of two updates
// of a row in one statement applies; they keep their order.
func TestOnePerOrder(t *testing.T) {
	var queue recorder
	queue.wake = make(chan struct{}, 1)
	for n := range 150 {
		queue.add(order.Result{Ref: order.StepRef{OrderID: id(n), StepNo: 1}})
	}
	for n := range 10 {
		queue.add(order.Result{Ref: order.StepRef{OrderID: id(n), StepNo: 2}})
		queue.add(order.Result{Ref: order.StepRef{OrderID: id(n), StepNo: 3}})
	}
	var sizes []int
	step := map[order.ID]int{}
	for batch := queue.next(); len(batch) > 0; batch = queue.next() {
		sizes = append(sizes, len(batch))
		seen := map[order.ID]bool{}
		for _, result := range batch {
			if seen[result.Ref.OrderID] {
				t.Errorf("two results of %s", result.Ref.OrderID)
			}
			seen[result.Ref.OrderID] = true
			if step[result.Ref.OrderID]++; result.Ref.StepNo != step[result.Ref.OrderID] {
				t.Errorf("step %d of %s comes too early", result.Ref.StepNo, result.Ref.OrderID)
			}
		}
	}
	if !slices.Equal(sizes, []int{100, 60, 10}) {
		t.Errorf("batches of %v", sizes)
	}
}

// TestRowByRow: one bad row makes a record fail as a whole. The others are written at once, each
// by itself, and the bad one is tried again until it works.
func TestRowByRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusals, written := 4, map[order.ID]int{}
		d := &desk{due: steps(5), recording: func(batch []order.Result) error {
			if batch[0].Ref.OrderID == id(0) {
				time.Sleep(2 * time.Second) // so that the others meet in the next record
			}
			bad := slices.ContainsFunc(batch, func(r order.Result) bool {
				return r.Ref.OrderID == id(2)
			})
			if bad && refusals > 0 {
				refusals--
				return errBroken
			}
			for _, result := range batch {
				written[result.Ref.OrderID]++
			}
			return nil
		}}
		r := start(t, d, func(_ context.Context, s order.TakenStep) Reply {
			if s.Ref.OrderID != id(0) {
				time.Sleep(time.Second)
			}
			return success
		})
		pass(2 * time.Second)
		for n := range 5 {
			if got := written[id(n)]; got != 1 && n != 2 || got != 0 && n == 2 {
				t.Errorf("order %d was written %d times at once", n, got)
			}
		}
		if got := d.seen().sizes(); !slices.Equal(got, []int{1, 4, 1, 1, 1, 1}) {
			t.Errorf("records of %v results", got)
		}
		pass(5 * recordBackoff)
		if written[id(2)] != 1 || refusals != 0 {
			t.Errorf("the bad row was written %d times", written[id(2)])
		}
		r.wantEnd()
	})
}

// TestLateResult: a result that its guard refuses is not written again, and frees its place.
func TestLateResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{due: steps(3), keeps: func(r order.StepRef) bool { return r.OrderID != id(1) }}
		r := start(t, d, succeed)
		pass(time.Minute)
		if got := len(d.seen().results()); got != 3 || r.leases.count() != 0 {
			t.Errorf("%d results, %d held", got, r.leases.count())
		}
		r.wantEnd()
	})
}

// TestRetryDelay: jitter never makes a retry early and adds at most a tenth, and it differs
// between takes, lest a hundred orders come back in one instant (STEP-5).
func TestRetryDelay(t *testing.T) {
	for _, row := range []struct {
		kind            order.StepKind
		series, counted int
		base            time.Duration
	}{
		{order.StepReserve, 1, 1, time.Second},
		{order.StepPay, 1, 2, 2 * time.Second},
		{order.StepReconcile, 1, 3, 4 * time.Second},
		{order.StepShip, 1, 4, 8 * time.Second},
		{order.StepReconcile, 2, 1, time.Minute},
	} {
		seen := map[time.Duration]bool{}
		for n := range 1000 {
			ref := order.StepRef{OrderID: id(n), StepNo: n % 7, Generation: n % 5}
			got := retryDelay(ref, row.kind, row.series, row.counted)
			if got < row.base || got > row.base+row.base/10 {
				t.Fatalf("%+v: %s", row, got)
			}
			if got != retryDelay(ref, row.kind, row.series, row.counted) {
				t.Fatal("the same take has two delays")
			}
			seen[got] = true
		}
		if len(seen) < 500 {
			t.Errorf("%+v: %d different delays", row, len(seen))
		}
	}
	if got := retryDelay(order.StepRef{}, order.StepPay, 1, order.MaxAttempts); got != 0 {
		t.Errorf("a delay of %s after the last attempt", got)
	}
}

// TestRetryInTime: an executor looks again when what it recorded comes due, though its next poll
// is far away: exactly then, hence never early.
func TestRetryInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{due: steps(1)}
		r := start(t, d, func(context.Context, order.TakenStep) Reply {
			return Reply{Outcome: order.OutcomeTransient, Sent: true}
		})
		synctest.Wait()
		result := d.seen().results()[0]
		if result.Follow.Status != order.StepDue || result.Retry < time.Second ||
			result.Retry > 1100*time.Millisecond {
			t.Fatalf("result %+v", result)
		}
		before := len(d.seen().takes)
		pass(time.Minute)
		later := d.seen().takes[before:]
		if len(later) != 1 || later[0].at != r.begun.Add(result.Retry) {
			t.Errorf("takes after the first ones: %v", later)
		}
		r.wantEnd()
	})
}

// TestLastAttempt: the fifth transient outcome exhausts a step; a fourth one does not.
func TestLastAttempt(t *testing.T) {
	e := &Executor{}
	for counted, want := range map[int]order.StepStatus{
		4: order.StepDue, 5: order.StepExhausted,
	} {
		s := step(1, order.StepReserve)
		s.Attempt, s.Counted = counted+3, counted
		got, err := e.resultOf(s, Reply{Outcome: order.OutcomeTransient, Sent: true, Code: "c"})
		if err != nil || got.Follow.Status != want || got.Attempt != counted+3 || got.Code != "c" {
			t.Errorf("attempt %d: %+v, %v", counted, got, err)
		}
	}
}
