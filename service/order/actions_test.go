package order_test

import (
	"fmt"
	"strings"
	"testing"

	"ordeal/service/order"
)

// customerActions has a row per state: the actions without an earlier request to cancel, then
// those with one, then those of an exhausted step. The rows are ORD-5 and the routes, written by
// hand.
const customerActions = `
created             cancel  -  cancel
reserving           cancel  -  cancel,retry
reserved            cancel  -  cancel
paying              cancel  -  cancel,retry
payment_unknown     -       -  -
paid                -       -  -
shipping            -       -  -
shipped             -       -  -
releasing           -       -  -
release_failed      -       -  -
reservation_failed  -       -  -
payment_failed      -       -  -
cancelled           -       -  -
shipping_failed     -       -  -
`

func TestCustomerActions(t *testing.T) {
	for state, f := range perState(t, customerActions) {
		check := func(s order.Situation, want string) {
			t.Helper()
			s.State = state
			if got := list(order.CustomerActions(s)); got != want {
				t.Errorf("%+v: %s, want %s", s, got, want)
			}
		}
		check(order.Situation{}, f[0])
		for _, c := range []order.CancelStatus{order.CancelWaiting, order.CancelDone,
			order.CancelRefused, order.CancelSuperseded} {
			check(order.Situation{Cancel: c}, f[1])
		}
		check(order.Situation{
			Attention: []order.Attention{order.AttentionRetryExhausted},
		}, f[2])
		check(order.Situation{
			Attention: []order.Attention{order.AttentionPermanentError},
		}, f[0])
	}
}

// operatorActions has a row per state: the actions of an order as it is, then those where a step
// is exhausted, where a step ended with a permanent error, where the order is closed with money
// left to give back, and where it is being closed.
const operatorActions = `
created            -              -              -              -                -
reserving          -              retry          retry          -                -
reserved           -              -              -              -                -
paying             -              retry          retry          -                -
payment_unknown    reconcile,void reconcile,void reconcile,void reconcile,void   reconcile,void
paid               -              -              -              -                -
shipping           -              -              -              -                -
shipped            -              retry          -              refund           -
releasing          -              -              -              -                -
release_failed     retry,close    retry,close    retry,close    -                -
reservation_failed -              -              -              -                -
payment_failed     -              -              -              -                -
cancelled          -              -              -              -                -
shipping_failed    ship,close     ship,close     ship,close     refund           -
`

func TestOperatorActions(t *testing.T) {
	situations := []order.Situation{
		{},
		{Attention: []order.Attention{order.AttentionRetryExhausted}},
		{Attention: []order.Attention{order.AttentionPermanentError}},
		{Closed: true, Refundable: 1},
		{Closing: true},
	}
	for state, f := range perState(t, operatorActions) {
		for n, s := range situations {
			s.State = state
			if got := list(order.OperatorActions(s)); got != f[n] {
				t.Errorf("%+v: %s, want %s", s, got, f[n])
			}
		}
	}
}

// TestOperatorDecides: what the state alone does not tell.
func TestOperatorDecides(t *testing.T) {
	exhausted := []order.Attention{order.AttentionRetryExhausted}
	rows := []struct {
		s    order.Situation
		want string
	}{
		{order.Situation{State: order.ReleaseFailed, Last: order.ReleaseRefused}, "retry,close"},
		{order.Situation{State: order.ReleaseFailed, Last: order.ReleaseExhausted}, "retry"},
		{order.Situation{State: order.ReleaseFailed, Last: order.ReleasePermanent}, "retry"},
		{order.Situation{State: order.Shipped, Refundable: 1}, "refund"},
		{order.Situation{State: order.Shipped, RefundUnknown: true}, "reconcile"},
		{order.Situation{State: order.Shipped, Attention: exhausted}, "retry"},
		{order.Situation{State: order.ShippingFailed, Refundable: 1}, "ship,close"},
		{order.Situation{State: order.ShippingFailed, Closed: true, Refundable: 1,
			RefundUnknown: true, Attention: exhausted}, "retry,reconcile,refund"},
		{order.Situation{State: order.Paid, Refundable: 1}, "-"},
		{order.Situation{State: order.PaymentUnknown, Voiding: true}, "reconcile"},
	}
	for _, row := range rows {
		if got := list(order.OperatorActions(row.s)); got != row.want {
			t.Errorf("%+v: %s, want %s", row.s, got, row.want)
		}
	}
}

// TestListed: what a list tells is enough to say what an order waits for.
func TestListed(t *testing.T) {
	rows := []struct {
		state     order.State
		attention []order.Attention
		want      string
	}{
		{order.ShippingFailed, []order.Attention{order.AttentionShippingFailed}, "ship,close"},
		{order.ShippingFailed, []order.Attention{order.AttentionReleaseFailed}, "-"},
		{order.ShippingFailed, nil, "-"},
		{order.ReleaseFailed, []order.Attention{order.AttentionReleaseFailed}, "retry,close"},
		{order.ReleaseFailed, nil, "-"},
		{order.Paying, []order.Attention{order.AttentionRetryExhausted}, "retry"},
		{order.PaymentUnknown, []order.Attention{order.AttentionMismatch}, "reconcile,void"},
		{order.Shipped, []order.Attention{order.AttentionRefundUnresolved}, "reconcile"},
		{order.Shipped, []order.Attention{order.AttentionCommitFailed}, "-"},
	}
	for _, row := range rows {
		got := list(order.OperatorActions(order.Listed(row.state, "", row.attention)))
		if got != row.want {
			t.Errorf("%s %v: %s, want %s", row.state, row.attention, got, row.want)
		}
	}
}

// perState reads a table that has a row per state.
func perState(t *testing.T, table string) map[order.State][]string {
	t.Helper()
	rows := map[order.State][]string{}
	for _, row := range strings.Split(strings.TrimSpace(table), "\n") {
		f := strings.Fields(row)
		if _, known := order.Info(order.State(f[0])); !known {
			t.Errorf("no state %q", f[0])
		}
		rows[order.State(f[0])] = f[1:]
	}
	if len(rows) != len(order.States) {
		t.Fatalf("%d rows for %d states", len(rows), len(order.States))
	}
	return rows
}

// list prints actions as the tables do.
func list(actions []order.Action) string {
	if actions == nil {
		return "nil"
	}
	if len(actions) == 0 {
		return "-"
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(actions), " ", ","), "[]")
}
