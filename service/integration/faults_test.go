package integration_test

import (
	"slices"
	"testing"

	"ordeal/service/order"
	"ordeal/sim/imitation"
)

// fault is one order with what a provider does to it, and what must come of it.
type fault struct {
	key        string
	op         imitation.Operation
	behaviours []imitation.Behaviour
	state      order.State
	// event is an event that the order's history must have.
	event order.Event
	// stock is the state of its reservation in the end, and effects count what really happened.
	stock                    imitation.State
	charges, parcels, undone int
	attention                []order.Attention
	compensation             order.Compensation
}

var faults = []fault{
	{
		key: "charge happens without an answer", op: imitation.Charge,
		behaviours: repeat(imitation.TimeoutWithEffect, 1),
		state:      order.Shipped, event: order.ReconciledPaid,
		stock: imitation.Committed, charges: 1, parcels: 1,
		compensation: order.CompensationNone,
	},
	{
		key: "charge is done and the connection cut", op: imitation.Charge,
		behaviours: repeat(imitation.LostAnswer, 1),
		state:      order.Shipped, event: order.ReconciledPaid,
		stock: imitation.Committed, charges: 1, parcels: 1,
		compensation: order.CompensationNone,
	},
	{
		key: "charge is delivered twice", op: imitation.Charge,
		behaviours: repeat(imitation.Duplicate, 1),
		state:      order.Shipped, event: order.PaySucceeded,
		stock: imitation.Committed, charges: 1, parcels: 1,
		compensation: order.CompensationNone,
	},
	{
		key: "charge is not processed at first", op: imitation.Charge,
		behaviours: repeat(imitation.NotProcessed, 2),
		state:      order.Shipped, event: order.PaySucceeded,
		stock: imitation.Committed, charges: 1, parcels: 1,
		compensation: order.CompensationNone,
	},
	{
		key: "charge is refused", op: imitation.Charge,
		behaviours: []imitation.Behaviour{{Kind: imitation.Refuse, Code: "card_declined"}},
		state:      order.PaymentFailed, event: order.PayRefused,
		stock: imitation.Released, undone: 1,
		compensation: order.CompensationDone,
	},
	{
		key: "reservation is done and the answer lost", op: imitation.Reserve,
		behaviours: repeat(imitation.LostAnswer, 1),
		state:      order.Shipped, event: order.ReserveSucceeded,
		stock: imitation.Committed, charges: 1, parcels: 1,
		compensation: order.CompensationNone,
	},
	{
		key: "reservation is refused", op: imitation.Reserve,
		behaviours: repeat(imitation.Refuse, 1),
		state:      order.ReservationFailed, event: order.ReserveRefused,
		stock: imitation.Declined, compensation: order.CompensationNone,
	},
	{
		key: "parcel is refused", op: imitation.Ship,
		behaviours: repeat(imitation.Refuse, 1),
		state:      order.ShippingFailed, event: order.ShipRefused,
		stock: imitation.Held, charges: 1,
		attention:    []order.Attention{order.AttentionShippingFailed},
		compensation: order.CompensationNone,
	},
	{
		key: "parcel leaves and the answer is malformed", op: imitation.Ship,
		behaviours: repeat(imitation.Malformed, 1),
		state:      order.Shipped, event: order.ShipSucceeded,
		stock: imitation.Committed, charges: 1, parcels: 1,
		compensation: order.CompensationNone,
	},
}

// script plans the fault for its order alone.
func (s *shop) script(f fault) {
	s.Helper()
	scripts := map[imitation.Operation]*imitation.Scripted{
		imitation.Reserve: s.warehouse.Script(),
		imitation.Charge:  s.payment.Script(),
		imitation.Ship:    s.shipping.Script(),
	}
	must(s.T, scripts[f.op].Add(imitation.Script{
		Operation:  f.op,
		OrderID:    orderID(f.key).String(),
		Behaviours: f.behaviours,
	}))
}

// TestFaults: orders meet faults side by side, each its own; all end as the table says, and the
// ledgers tell the same story as the API.
func TestFaults(t *testing.T) {
	s := open(t)
	for n, f := range faults {
		s.script(f)
		s.create(n%2, f.key)
	}
	for _, f := range faults {
		s.awaitState(f.key, f.state)
	}
	await(t, "rest", func() bool {
		return s.count("select count(*) from workflow_steps where ended_at is null") == 0
	})
	for _, f := range faults {
		t.Run(f.key, func(t *testing.T) { s.want(t, f) })
	}
}

// want compares what the API and the providers say about an order.
func (s *shop) want(t *testing.T, f fault) {
	o := s.show(1, f.key)
	var events []order.Event
	for _, change := range o.History {
		events = append(events, change.Event)
	}
	if o.State != f.state || o.Compensation != f.compensation || !slices.Contains(events, f.event) {
		t.Errorf("state %s, compensation %s, events %v", o.State, o.Compensation, events)
	}
	var attention []order.Attention
	for _, reason := range o.Attention {
		attention = append(attention, reason.Reason)
	}
	if !slices.Equal(attention, f.attention) {
		t.Errorf("attention %v, want %v", attention, f.attention)
	}
	stock := s.warehouse.Ledger()
	for op, counts := range map[imitation.Operation][2]int{
		imitation.Charge:  {effects(s.payment.Ledger(), imitation.Charge, f.key), f.charges},
		imitation.Ship:    {effects(s.shipping.Ledger(), imitation.Ship, f.key), f.parcels},
		imitation.Release: {effects(stock, imitation.Release, f.key), f.undone},
	} {
		if counts[0] != counts[1] {
			t.Errorf("%s had its effect %d times, want %d", op, counts[0], counts[1])
		}
	}
	if got := s.reservation(f.key); got != f.stock {
		t.Errorf("reservation %s, want %s", got, f.stock)
	}
}

// reservation is the state of an order's reservation at the warehouse.
func (s *shop) reservation(key string) imitation.State {
	for _, held := range s.warehouse.Keys() {
		if held.OrderID == orderID(key).String() {
			return held.State
		}
	}
	return imitation.Absent
}
