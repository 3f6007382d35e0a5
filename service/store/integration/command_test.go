package integration_test

import (
	"fmt"
	"testing"
	"time"

	"ordeal/service/order"
	"ordeal/service/store"
)

// command runs a command of the operator with a key of its own.
func (f fixture) command(id order.ID, name store.CommandName, key string) store.Answer {
	f.Helper()
	return f.decide(store.Command{Name: name, OrderID: id, Request: store.Request{Key: key}})
}

func (f fixture) decide(c store.Command) store.Answer {
	f.Helper()
	if c.ActorType == "" {
		c.ActorType, c.Request.Caller = "operator", "op"
	}
	c.Request.Route, c.Request.Fingerprint = string(c.Name), []byte{1}
	c.Reason, c.Forbidden, c.Stale, c.Excessive = "decided", "forbidden", "stale", "excessive"
	a, found, err := f.store.RunCommand(f.Context(), c)
	if err != nil || !found {
		f.Fatalf("%s: found %v, %v", c.Name, found, err)
	}
	return a
}

func (f fixture) wantStatus(a store.Answer, status int) {
	f.Helper()
	if a.Status != status {
		f.Fatalf("status %d (%s), want %d", a.Status, a.Body, status)
	}
}

// exhaust lets the due step fail until its attempts are used up.
func (f fixture) exhaust(kind order.StepKind) {
	f.Helper()
	for range order.MaxAttempts {
		f.past("due_at", 20*time.Second)
		f.step(kind, order.OutcomeTransient)
	}
}

func TestRetryOfExhausted(t *testing.T) {
	for _, kind := range []order.StepKind{order.StepReserve, order.StepPay} {
		t.Run(string(kind), func(t *testing.T) {
			f := setup(t)
			id := f.create("k1")
			f.wantStatus(f.command(id, store.CommandRetry, "early"), 409)
			if kind == order.StepPay {
				f.step(order.StepReserve, order.OutcomeSucceeded)
			}
			f.exhaust(kind)
			if len(f.order(id).Attention) != 1 {
				t.Fatal("no attention")
			}
			retry := store.Command{
				Name: store.CommandRetry, OrderID: id, ActorType: "customer", Customer: customer,
				Request: store.Request{Caller: customer, Key: "r1"},
			}
			f.wantStatus(f.decide(retry), 202)
			if again := f.decide(retry); !again.Replayed || again.Status != 202 {
				t.Fatalf("replay: %+v", again)
			}
			o := f.order(id)
			if len(o.Attention) != 0 || len(o.Steps) != 1 || o.Steps[0].Attempt != 0 {
				t.Fatalf("steps %+v, attention %+v", o.Steps, o.Attention)
			}
			// The new step carries the same key and the same body, byte for byte.
			n := f.count(`select count(distinct (provider_key, request)) from workflow_steps
				where kind = $1`, kind)
			if n != 1 {
				t.Fatalf("%d different requests under the key", n)
			}
			f.step(kind, order.OutcomeSucceeded)
		})
	}
}

// After a permanent error only an operator may retry.
func TestRetryAfterPermanentError(t *testing.T) {
	f := setup(t)
	id := f.create("k1")
	f.step(order.StepReserve, order.OutcomePermanent)
	f.wantStatus(f.decide(store.Command{
		Name: store.CommandRetry, OrderID: id, ActorType: "customer", Customer: customer,
		Request: store.Request{Caller: customer, Key: "r1"},
	}), 409)
	f.wantStatus(f.command(id, store.CommandRetry, "r2"), 202)
	f.step(order.StepReserve, order.OutcomeSucceeded)
	f.wantState(id, order.Reserved)
}

func TestReconcileAndVoid(t *testing.T) {
	f := setup(t)
	id := f.create("k1")
	f.wantStatus(f.command(id, store.CommandVoid, "v0"), 409)
	f.step(order.StepReserve, order.OutcomeSucceeded)
	f.step(order.StepPay, order.OutcomeUnknown)
	f.wantStatus(f.command(id, store.CommandReconcile, "c1"), 202)
	o := f.order(id)
	if len(o.Steps) != 1 || o.Steps[0].Kind != order.StepReconcile || o.Steps[0].Number != 4 {
		t.Fatalf("the new series does not replace the old one: %+v", o.Steps)
	}
	f.wantStatus(f.command(id, store.CommandVoid, "v1"), 202)
	f.wantStatus(f.command(id, store.CommandVoid, "v2"), 409)
	steps := f.takeAll("e1")
	if len(steps) != 2 || steps[1].Kind != order.StepVoid || steps[1].TargetKey !=
		order.ProviderKey(id, order.StepPay, 1) {
		t.Fatalf("took %+v", steps)
	}
	f.record(steps[1], order.OutcomeSucceeded)
	f.wantState(id, order.Releasing)
	if o := f.order(id); o.Version != 6 {
		t.Fatalf("commands wrote versions: %d", o.Version)
	}
}

// shippingFailed brings an order to shipping_failed by the outcome of its ship step.
func (f fixture) shippingFailed(outcome order.Outcome) order.ID {
	f.Helper()
	id := f.create("k1")
	f.step(order.StepReserve, order.OutcomeSucceeded)
	f.step(order.StepPay, order.OutcomeSucceeded)
	if outcome == order.OutcomeTransient {
		f.exhaust(order.StepShip)
	} else {
		f.step(order.StepShip, outcome)
	}
	f.wantState(id, order.ShippingFailed)
	return id
}

// After a definite refusal shipping again has a key of its own, after exhaustion the same one.
func TestShipAgain(t *testing.T) {
	for outcome, sequence := range map[order.Outcome]int{
		order.OutcomeRefused: 2, order.OutcomeTransient: 1, order.OutcomePermanent: 1,
	} {
		t.Run(string(outcome), func(t *testing.T) {
			f := setup(t)
			id := f.shippingFailed(outcome)
			f.wantStatus(f.command(id, store.CommandShip, "s1"), 202)
			f.wantState(id, order.Shipping)
			s := f.take("e1")
			if want := order.ProviderKey(id, order.StepShip, sequence); s.ProviderKey != want {
				t.Fatalf("key %s, want %s", s.ProviderKey, want)
			}
			f.record(s, order.OutcomeSucceeded)
			f.wantState(id, order.Shipped)
			if len(f.order(id).Attention) != 0 {
				t.Fatal("attention stays")
			}
		})
	}
}

func TestClose(t *testing.T) {
	for _, release := range []bool{false, true} {
		t.Run(fmt.Sprint("release ", release), func(t *testing.T) {
			f := setup(t)
			id := f.shippingFailed(order.OutcomeRefused)
			f.wantStatus(f.decide(store.Command{
				Name: store.CommandClose, OrderID: id, ReleaseStock: release,
				Request: store.Request{Key: "c1"},
			}), 202)
			f.wantStatus(f.command(id, store.CommandShip, "s1"), 409)
			f.wantStatus(f.command(id, store.CommandClose, "c2"), 409)
			f.wantStatus(f.decide(store.Command{
				Name: store.CommandRefund, OrderID: id, Amount: 1, Request: store.Request{Key: "f"},
			}), 409)
			version := f.order(id).Version
			f.step(order.StepCancelShip, order.OutcomeSucceeded)
			if release {
				if o := f.order(id); o.Compensation != order.CompensationPending {
					t.Fatalf("compensation %s", o.Compensation)
				}
				f.step(order.StepRelease, order.OutcomeSucceeded)
			}
			o := f.order(id)
			want := map[bool]order.Compensation{
				false: order.CompensationNone, true: order.CompensationDone,
			}[release]
			if o.ClosedAt == nil || o.Version != version || o.State != order.ShippingFailed ||
				o.Compensation != want || len(o.Attention) != 0 || o.Reason != "decided" {
				t.Fatalf("closed as %+v", o)
			}
			f.wantStatus(f.command(id, store.CommandShip, "s2"), 409)
			f.wantStatus(f.command(id, store.CommandClose, "c3"), 409)
			f.wantStatus(f.decide(store.Command{
				Name: store.CommandRefund, OrderID: id, Amount: 1, Request: store.Request{Key: "f2"},
			}), 202)
		})
	}
}

func TestCloseFindsThatItWasShipped(t *testing.T) {
	f := setup(t)
	id := f.shippingFailed(order.OutcomeTransient)
	f.wantStatus(f.command(id, store.CommandClose, "c1"), 202)
	f.step(order.StepCancelShip, order.OutcomeRefused)
	o := f.order(id)
	if o.State != order.Shipped || o.Closing {
		t.Fatalf("%s, closing %v", o.State, o.Closing)
	}
	f.step(order.StepCommit, order.OutcomeSucceeded)
}

// A close that gets no answer ends; the order can be shipped or closed again.
func TestCloseThatEnds(t *testing.T) {
	for _, outcome := range []order.Outcome{order.OutcomeTransient, order.OutcomePermanent} {
		t.Run(string(outcome), func(t *testing.T) {
			f := setup(t)
			id := f.shippingFailed(order.OutcomeRefused)
			f.command(id, store.CommandClose, "c1")
			if outcome == order.OutcomeTransient {
				f.exhaust(order.StepCancelShip)
			} else {
				f.step(order.StepCancelShip, outcome)
			}
			o := f.order(id)
			if o.Closing || o.ClosedAt != nil || len(o.Attention) != 2 {
				t.Fatalf("closing %v, closed %v, attention %+v", o.Closing, o.ClosedAt, o.Attention)
			}
			f.wantStatus(f.command(id, store.CommandShip, "s1"), 202)
		})
	}
}

// releaseFailed brings an order to release_failed.
func (f fixture) releaseFailed(outcome order.Outcome) order.ID {
	f.Helper()
	id := f.create("k1")
	f.step(order.StepReserve, order.OutcomeSucceeded)
	f.step(order.StepPay, order.OutcomeRefused)
	if outcome == order.OutcomeTransient {
		f.exhaust(order.StepRelease)
	} else {
		f.step(order.StepRelease, outcome)
	}
	f.wantState(id, order.ReleaseFailed)
	return id
}

func TestReleaseAgain(t *testing.T) {
	for outcome, sequence := range map[order.Outcome]int{
		order.OutcomeRefused: 2, order.OutcomeTransient: 1,
	} {
		t.Run(string(outcome), func(t *testing.T) {
			f := setup(t)
			id := f.releaseFailed(outcome)
			f.wantStatus(f.command(id, store.CommandRetry, "r1"), 202)
			s := f.take("e1")
			if want := order.ProviderKey(id, order.StepRelease, sequence); s.ProviderKey != want {
				t.Fatalf("key %s, want %s", s.ProviderKey, want)
			}
			if want := order.ProviderKey(id, order.StepReserve, 1); s.TargetKey != want {
				t.Fatalf("target %s, want %s", s.TargetKey, want)
			}
			f.record(s, order.OutcomeSucceeded)
			o := f.order(id)
			if o.State != order.PaymentFailed || o.Compensation != order.CompensationDone {
				t.Fatalf("%s, compensation %s", o.State, o.Compensation)
			}
		})
	}
}

// A refused release can be accepted as it is; one that merely got no answer cannot.
func TestCloseOfReleaseFailed(t *testing.T) {
	f := setup(t)
	id := f.releaseFailed(order.OutcomeRefused)
	f.wantStatus(f.command(id, store.CommandClose, "c1"), 200)
	o := f.order(id)
	if o.ClosedAt == nil || o.Compensation != order.CompensationIncomplete || len(o.Attention) != 0 {
		t.Fatalf("closed as %+v", o)
	}
	f.wantStatus(f.command(id, store.CommandRetry, "r1"), 409)

	f = setup(t)
	id = f.releaseFailed(order.OutcomeTransient)
	f.wantStatus(f.command(id, store.CommandClose, "c1"), 409)
}

func TestExpectedVersion(t *testing.T) {
	f := setup(t)
	id := f.shippingFailed(order.OutcomeRefused)
	c := store.Command{
		Name: store.CommandShip, OrderID: id, Request: store.Request{Key: "s1"},
		ExpectedVersion: 1,
	}
	f.wantStatus(f.decide(c), 412)
	c.ExpectedVersion = f.order(id).Version
	f.wantStatus(f.decide(c), 202)
	// A replay outranks the precondition, which is stale by now.
	if a := f.decide(c); a.Status != 202 || !a.Replayed {
		t.Fatalf("replay: %+v", a)
	}
	n := f.count(`select count(*) from audit_events where action = 'ship_requested'`)
	if n != 2 {
		t.Fatalf("%d audit rows for two decided requests and a replay, want 2", n)
	}
}

// A step whose process version nobody knows is flagged, and a take clears the flag.
func TestUnknownProcessVersion(t *testing.T) {
	f := setup(t)
	id := f.create("k1")
	f.exec(`update workflow_steps set process_version = 2`)
	f.exec(`update orders set process_version = 2`)
	if taken := f.takeAll("e1"); len(taken) != 0 {
		t.Fatalf("taken: %+v", taken)
	}
	flag := func() int {
		n, err := f.store.FlagUnknownVersions(t.Context(), []int16{1}, time.Minute, 10)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := flag(); n != 0 {
		t.Fatal("flagged at once")
	}
	f.past("due_at", 2*time.Minute)
	if n := flag(); n != 1 || len(f.order(id).Attention) != 1 {
		t.Fatalf("flagged %d, attention %+v", n, f.order(id).Attention)
	}
	steps, err := f.store.TakeSteps(t.Context(), order.TakeRequest{
		Owner: "e2", Versions: []int16{1, 2}, Limit: 1, Lease: order.LeaseDuration,
	})
	if err != nil || len(steps) != 1 || len(f.order(id).Attention) != 0 {
		t.Fatalf("took %+v, %v, attention %+v", steps, err, f.order(id).Attention)
	}
}

// A success that comes after its order gave up is a discrepancy with a next action.
func TestLateSuccessIsADiscrepancy(t *testing.T) {
	f := setup(t)
	id := f.create("k1")
	s := f.take("e1")
	f.cancel(id, "")
	f.expire()
	f.step(order.StepRelease, order.OutcomeSucceeded)
	f.wantState(id, order.Cancelled)
	f.record(s, order.OutcomeSucceeded)
	f.wantState(id, order.Cancelled)
	n := f.count(`select count(*) from discrepancies where kind = 'late_reserve'`)
	if n != 1 {
		t.Fatalf("%d discrepancies, want 1", n)
	}
}

func TestListIsStableAndFiltered(t *testing.T) {
	f := setup(t)
	for n := range 7 {
		f.create(fmt.Sprint("k", n))
	}
	var seen []order.ID
	filter := store.OrderFilter{Customer: customer, Limit: 3}
	for {
		rows, err := f.store.ListOrders(t.Context(), filter)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			seen = append(seen, r.ID)
		}
		if len(rows) < 3 {
			break
		}
		last := rows[len(rows)-1]
		filter.After = &store.OrderPosition{CreatedAt: last.CreatedAt, ID: last.ID}
		f.create(fmt.Sprint("new", len(seen))) // comes before the start
	}
	unique := map[order.ID]bool{}
	for _, id := range seen {
		unique[id] = true
	}
	if len(seen) != 7 || len(unique) != 7 {
		t.Fatalf("saw %d orders, %d different", len(seen), len(unique))
	}
	for _, tc := range []struct {
		filter store.OrderFilter
		want   int
	}{
		{store.OrderFilter{Customer: "bob", Limit: 9}, 0},
		{store.OrderFilter{Attention: "any", Limit: 9}, 0},
		{store.OrderFilter{CreatedFrom: time.Now().Add(time.Hour), Limit: 9}, 0},
		{store.OrderFilter{CreatedTo: time.Now().Add(-time.Hour), Limit: 9}, 0},
	} {
		rows, err := f.store.ListOrders(t.Context(), tc.filter)
		if err != nil || len(rows) != tc.want {
			t.Errorf("%+v: %d rows, %v", tc.filter, len(rows), err)
		}
	}
}
