package collect

import (
	"testing"
	"time"

	"ordeal/scenarios/evidence"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestCallsAreJoinedWithTheirDeliveries(t *testing.T) {
	call := evidence.Call{Party: evidence.PartyPayment, Operation: evidence.OpCharge, Order: "o",
		Step: 2, Attempt: 1, At: start.Add(time.Second)}
	lost := call
	lost.Attempt, lost.At = 2, start
	copied := evidence.Entry{Origin: "call", Operation: evidence.OpCharge, Order: "o", Step: 2,
		Attempt: 2, Delivery: 2, At: start}
	settled := copied
	settled.Origin, settled.Delivery = "settlement", 0
	entry := evidence.Entry{Origin: "call", Operation: evidence.OpCharge, Order: "o", Step: 2,
		Attempt: 1, Delivery: 1, At: start.Add(2 * time.Second), Effect: true}
	got := joined([]evidence.Call{call, lost}, map[string][]evidence.Entry{
		evidence.PartyPayment:  {copied, settled, entry},
		evidence.PartyShipping: {entry},
	})
	first, second := got[0], got[1]
	if first.Seq != 1 || first.Attempt != 2 || !first.Lost || first.Delivered {
		t.Errorf("got %+v, want the lost call first", first)
	}
	if second.Seq != 2 || second.Lost || !second.Delivered || !second.Effect ||
		!second.DeliveredAt.Equal(entry.At) {
		t.Errorf("got %+v, want the delivered call", second)
	}
}
