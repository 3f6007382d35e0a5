package order_test

import (
	"fmt"
	"strings"
	"testing"

	"ordeal/service/order"
)

// customerActions has a row per state: the actions without an earlier request to cancel, then
// those with one. The rows are ORD-5, written by hand.
const customerActions = `
created             cancel  -
reserving           cancel  -
reserved            cancel  -
paying              cancel  -
payment_unknown     -       -
paid                -       -
shipping            -       -
shipped             -       -
releasing           -       -
release_failed      -       -
reservation_failed  -       -
payment_failed      -       -
cancelled           -       -
shipping_failed     -       -
`

func TestCustomerActions(t *testing.T) {
	rows := strings.Split(strings.TrimSpace(customerActions), "\n")
	if len(rows) != len(order.States) {
		t.Fatalf("%d rows for %d states", len(rows), len(order.States))
	}
	for _, row := range rows {
		f := strings.Fields(row)
		state := order.State(f[0])
		if _, known := order.Info(state); !known {
			t.Errorf("no state %q", state)
		}
		if got := list(order.CustomerActions(state, "")); got != f[1] {
			t.Errorf("%s: %s, want %s", state, got, f[1])
		}
		for _, c := range []order.CancelStatus{order.CancelWaiting, order.CancelDone,
			order.CancelRefused, order.CancelSuperseded} {
			if got := list(order.CustomerActions(state, c)); got != f[2] {
				t.Errorf("%s with cancellation %s: %s, want %s", state, c, got, f[2])
			}
		}
	}
}

// list prints actions as the table does.
func list(actions []order.Action) string {
	if actions == nil {
		return "nil"
	}
	if len(actions) == 0 {
		return "-"
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(actions), " ", ","), "[]")
}
