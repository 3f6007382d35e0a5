package integration_test

import (
	"context"
	"testing"
	"time"

	"ordeal/service/order"
)

// Each test stops one real statement in its middle, with its locks held, by holding a row that it
// needs late, lets another statement run into the locks, and then lets both go on.

// held runs sql in a transaction of its own and keeps it open until the returned function.
func (f fixture) held(sql string, args ...any) (release func()) {
	f.Helper()
	tx, err := f.pool.Begin(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	release = func() { _ = tx.Rollback(context.WithoutCancel(f.Context())) }
	f.Cleanup(release) // for a test that fails before: a pool waits for its connections
	if _, err := tx.Exec(f.Context(), sql, args...); err != nil {
		f.Fatal(err)
	}
	return release
}

// waiting waits until n backends of this database wait for a lock.
func (f fixture) waiting(n int) {
	f.Helper()
	for range 200 {
		got := f.count(`select count(*) from pg_stat_activity
			where datname = current_database() and wait_event_type = 'Lock'`)
		if got >= n {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	f.Fatalf("no %d backends came to wait", n)
}

// holdCancel stops a cancellation after it has locked the order.
func (f fixture) holdCancel(id order.ID) (release func()) {
	return f.held(`insert into audit_events
		(order_id, audit_key, at, actor_type, actor_id, action, result)
		values ($1, 'cancel', now(), 'test', 'test', 'test', 'test')`, id)
}

// A take beside a cancellation that is about to commit hands out nothing.
func TestTrapTakeBesideCancel(t *testing.T) {
	f := setup(t)
	id := f.create("k1")
	release := f.holdCancel(id)
	done := make(chan int)
	go func() {
		a, _ := f.cancel(id, "")
		done <- a.Status
	}()
	f.waiting(1)
	if taken := f.takeAll("e1"); len(taken) != 0 {
		t.Errorf("taken while the order is being cancelled: %+v", taken)
	}
	release()
	if status := <-done; status != 200 {
		t.Errorf("status %d", status)
	}
	if taken := f.takeAll("e1"); len(taken) != 0 {
		t.Errorf("taken after the order was cancelled: %+v", taken)
	}
	if n := f.count(`select count(*) from step_attempts`); n != 0 {
		t.Errorf("%d attempts of a cancelled order", n)
	}
}

// A record that leaves the order untouched and a cancellation that finds the attempt in flight
// see each other, in both orders: the request never waits for ever.
func TestTrapRecordBeforeCancel(t *testing.T) {
	f := setup(t)
	id := f.create("k1")
	s := f.take("e1")
	release := f.held(`select from step_attempts where order_id = $1 for update`, id)
	recorded, cancelled := make(chan bool), make(chan int)
	go func() { recorded <- f.record(s, order.OutcomeTransient) }()
	f.waiting(1)
	go func() {
		a, _ := f.cancel(id, "")
		cancelled <- a.Status
	}()
	f.waiting(2)
	release()
	if !<-recorded || <-cancelled != 202 {
		t.Fatal("record or cancel was refused")
	}
	f.wantState(id, order.Releasing)
}

func TestTrapCancelBeforeRecord(t *testing.T) {
	f := setup(t)
	id := f.create("k1")
	s := f.take("e1")
	release := f.holdCancel(id)
	recorded, cancelled := make(chan bool), make(chan int)
	go func() {
		a, _ := f.cancel(id, "")
		cancelled <- a.Status
	}()
	f.waiting(1)
	go func() { recorded <- f.record(s, order.OutcomeTransient) }()
	f.waiting(2)
	release()
	if <-cancelled != 202 || !<-recorded {
		t.Fatal("cancel or record was refused")
	}
	f.wantState(id, order.Releasing)
	// One transition, and its step derives from the order as it became.
	if o := f.order(id); o.Version != 3 || len(o.Steps) != 1 ||
		o.Steps[0].Kind != order.StepRelease {
		t.Fatalf("version %d with open steps %+v", o.Version, o.Steps)
	}
}

// A success that meets a waiting cancellation is one transition to releasing: no pay step is
// left due, and no update is lost.
func TestTrapSuccessMeetsCancel(t *testing.T) {
	f := setup(t)
	id := f.create("k1")
	s := f.take("e1")
	release := f.holdCancel(id)
	recorded, cancelled := make(chan bool), make(chan int)
	go func() {
		a, _ := f.cancel(id, "")
		cancelled <- a.Status
	}()
	f.waiting(1)
	go func() { recorded <- f.record(s, order.OutcomeSucceeded) }()
	f.waiting(2)
	release()
	if <-cancelled != 202 || !<-recorded {
		t.Fatal("cancel or record was refused")
	}
	o := f.order(id)
	if o.State != order.Releasing || o.Version != 3 || o.CancelStatus != order.CancelDone {
		t.Fatalf("got %s version %d, cancellation %s", o.State, o.Version, o.CancelStatus)
	}
	if len(o.Steps) != 1 || o.Steps[0].Kind != order.StepRelease {
		t.Fatalf("open steps %+v", o.Steps)
	}
}

// Two executors that take at once get different steps.
func TestTakesDoNotOverlap(t *testing.T) {
	f := setup(t)
	for n := range 30 {
		f.create(string(rune('a' + n)))
	}
	taken := make(chan []order.TakenStep, 4)
	for n := range 4 {
		go func() { taken <- f.takeAll(string(rune('0' + n))) }()
	}
	seen := map[order.ID]bool{}
	for range 4 {
		for _, s := range <-taken {
			if seen[s.Ref.OrderID] {
				t.Errorf("order %s was taken twice", s.Ref.OrderID)
			}
			seen[s.Ref.OrderID] = true
		}
	}
	if n := f.count(`select count(*) from step_attempts`); n != len(seen) {
		t.Errorf("%d attempts for %d takes", n, len(seen))
	}
}
