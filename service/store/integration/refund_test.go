package integration_test

import (
	"fmt"
	"sync"
	"testing"

	"ordeal/service/order"
	"ordeal/service/store"
)

// refund asks for a refund and returns its answer.
func (f fixture) refund(id order.ID, amount int64, key string) store.Answer {
	f.Helper()
	return f.decide(store.Command{
		Name: store.CommandRefund, OrderID: id, Amount: amount, Request: store.Request{Key: key},
	})
}

func (f fixture) shipped() order.ID {
	f.Helper()
	id := f.create("k1")
	for _, kind := range []order.StepKind{
		order.StepReserve, order.StepPay, order.StepShip, order.StepCommit,
	} {
		f.step(kind, order.OutcomeSucceeded)
	}
	return id
}

func TestRefunds(t *testing.T) {
	for _, tc := range []struct {
		name     string
		outcomes []order.Outcome
		state    order.RefundState
	}{
		{"done", []order.Outcome{order.OutcomeSucceeded}, order.Refunded},
		{"refused", []order.Outcome{order.OutcomeRefused}, order.RefundFailed},
		{"unknown, done", []order.Outcome{order.OutcomeUnknown, order.OutcomeSucceeded},
			order.Refunded},
		{"unknown, refused", []order.Outcome{order.OutcomeUnknown, order.OutcomeRefused},
			order.RefundFailed},
		{"unknown, never seen, sent again", []order.Outcome{order.OutcomeUnknown,
			order.OutcomeNotFound, order.OutcomeSucceeded}, order.Refunded},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := setup(t)
			id := f.shipped()
			version := f.order(id).Version
			f.wantStatus(f.refund(id, 400, "f1"), 202)
			for _, outcome := range tc.outcomes {
				s := f.take("e1")
				if s.Total != 400 {
					t.Fatalf("step of %d, want the refund's amount", s.Total)
				}
				if !f.record(s, outcome) {
					t.Fatalf("%s was not accepted", outcome)
				}
			}
			o := f.order(id)
			if len(o.Refunds) != 1 || o.Refunds[0].State != tc.state || o.Version != version {
				t.Fatalf("refunds %+v, version %d, want %s", o.Refunds, o.Version, tc.state)
			}
			left := int64(600)
			if tc.state == order.RefundFailed {
				left = 1000
			}
			f.wantStatus(f.refund(id, left+1, "f2"), 422)
			f.wantStatus(f.refund(id, left, "f3"), 202)
			n := f.count(`select count(*) from outbox where type like 'refund.%'`)
			if want := len(tc.outcomes) + 3; n != want {
				t.Fatalf("%d events of refunds, want %d", n, want)
			}
			gaps := f.count(`select max(sequence) - count(*) from outbox`)
			if gaps != 0 {
				t.Fatalf("events are not numbered without gaps: %d", gaps)
			}
		})
	}
}

// A refund whose attempt has no result is not sent again; it is asked about.
func TestAbandonedRefundIsReconciled(t *testing.T) {
	f := setup(t)
	id := f.shipped()
	f.refund(id, 400, "f1")
	f.take("e1")
	f.expire()
	if got := f.order(id).Refunds[0].State; got != order.RefundUnknown {
		t.Fatalf("refund is %s", got)
	}
	f.step(order.StepReconcileRefund, order.OutcomeSucceeded)
	if got := f.order(id).Refunds[0].State; got != order.Refunded {
		t.Fatalf("refund is %s", got)
	}
}

func TestExhaustedRefundIsRetried(t *testing.T) {
	f := setup(t)
	id := f.shipped()
	f.refund(id, 400, "f1")
	f.exhaust(order.StepRefund)
	if o := f.order(id); o.Refunds[0].State != order.Refunding || len(o.Attention) != 1 {
		t.Fatalf("refund %s, attention %+v", o.Refunds[0].State, o.Attention)
	}
	f.wantStatus(f.command(id, store.CommandRetry, "r1"), 202)
	f.step(order.StepRefund, order.OutcomeSucceeded)
	if o := f.order(id); o.Refunds[0].State != order.Refunded || len(o.Attention) != 0 {
		t.Fatalf("refund %s, attention %+v", o.Refunds[0].State, o.Attention)
	}
}

// Twenty refunds at once that add up to three times the charge: what is accepted never exceeds it.
func TestRefundsAtOnce(t *testing.T) {
	f := setup(t)
	id := f.shipped()
	var accepted sync.WaitGroup
	statuses := make(chan int, 20)
	for n := range 20 {
		accepted.Go(func() { statuses <- f.refund(id, 150, fmt.Sprint("f", n)).Status })
	}
	accepted.Wait()
	close(statuses)
	count := map[int]int{}
	for s := range statuses {
		count[s]++
	}
	if count[202] != 6 || count[422] != 14 {
		t.Fatalf("statuses %v, want 6 accepted and 14 refused", count)
	}
	if sum := f.count(`select sum(amount)::int from refunds`); sum > 1000 {
		t.Fatalf("accepted %d of 1000", sum)
	}
	// Taken together, they keep their numbers apart.
	for range 6 {
		for _, s := range f.takeAll("e1") {
			f.record(s, order.OutcomeSucceeded)
		}
	}
	if n := f.count(`select count(*) from refunds where state = 'refunded'`); n != 6 {
		t.Fatalf("%d refunds done, want 6", n)
	}
}
