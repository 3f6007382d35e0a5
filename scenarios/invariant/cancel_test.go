package invariant

import (
	"testing"
	"time"

	"ordeal/scenarios/evidence"
)

func TestCancelledUnpaidNotices(t *testing.T) {
	expectRed(t, []broken{
		{"cancelled and charged", breaking(cancelledStory, func(r *evidence.Run) {
			r.Payment = append(r.Payment, evidence.Entry{
				Seq: 99, Operation: evidence.OpCharge, Order: orderID, Effect: true,
			})
		}), "INV-02", "payment entry 99 charged"},
		{"cancelled after paid", breaking(shippedStory, func(r *evidence.Run) {
			r.Orders[0].State = cancelled
		}), "INV-02", "but became paid"},
		{"cancellation done, order paid", breaking(shippedStory, func(r *evidence.Run) {
			r.Orders[0].CancelStatus = "done"
		}), "INV-02", "but became paid"},
		{"waiting in a paid order", breaking(shippedStory, func(r *evidence.Run) {
			r.Orders[0].CancelStatus = "waiting"
		}), "INV-02", "waits in state shipped"},
		{"told 200, then paid", breaking(shippedStory, func(r *evidence.Run) {
			r.Client = append(r.Client, accepted(200, evidence.Shown{State: cancelled, Version: 2}))
		}), "INV-02", "was told 200"},
		{"accepted with a later version", breaking(shippedStory, func(r *evidence.Run) {
			r.Client = append(r.Client, accepted(202, evidence.Shown{State: shipped, Version: 9}))
		}), "INV-02", "after the order became paid"},
		{"accepted later, nothing shown", breaking(shippedStory, func(r *evidence.Run) {
			e := accepted(202, evidence.Shown{})
			e.SentAt = r.Horizon
			early := e
			early.Seq, early.SentAt, early.Key = 80, start, "another"
			r.Client = append(r.Client, early, e)
		}), "INV-02", "after the order became paid"},
	})
}

func accepted(status int, shown evidence.Shown) evidence.Exchange {
	return evidence.Exchange{
		Seq: 90, Client: customer, Route: evidence.RouteCancel, Order: orderID, Key: "c",
		Status: status, Shown: shown,
	}
}

// A cancellation that lost against a charge in flight was rightly accepted, and so are its
// repeats, long after.
func TestRepeatedCancelMayBeAnsweredAsTheFirst(t *testing.T) {
	run := shippedStory()
	first := accepted(202, evidence.Shown{})
	first.SentAt = start
	repeat := first
	repeat.Seq, repeat.SentAt = 91, start.Add(time.Hour)
	shown := accepted(202, evidence.Shown{State: paying, Version: 4})
	shown.Seq, shown.SentAt, shown.Key = 92, start.Add(time.Hour), "d"
	run.Client = append(run.Client, first, repeat, shown)
	if r := cancelledUnpaid.Check(run); !r.Held() || r.Checked != 3 {
		t.Errorf("got %+v, want three checks and no violation", r)
	}
}
