package order

import "time"

// State is the position of an order in its process (ORD-3). The list is closed.
type State string

// The states of an order.
const (
	Created           State = "created"
	Reserving         State = "reserving"
	Reserved          State = "reserved"
	Paying            State = "paying"
	PaymentUnknown    State = "payment_unknown"
	Paid              State = "paid"
	Shipping          State = "shipping"
	Shipped           State = "shipped"
	Releasing         State = "releasing"
	ReleaseFailed     State = "release_failed"
	ReservationFailed State = "reservation_failed"
	PaymentFailed     State = "payment_failed"
	Cancelled         State = "cancelled"
	ShippingFailed    State = "shipping_failed"
)

// Class tells who moves an order on.
type Class string

// The classes of states.
const (
	// Moving states are left by the service itself.
	Moving Class = "moving"
	// Waiting states are left by reconciliation or by a person.
	Waiting Class = "waiting"
	// Final states are never left.
	Final Class = "final"
)

// StateInfo describes one state.
type StateInfo struct {
	// State is the state described.
	State State
	// Class tells who moves an order on from here.
	Class Class
	// Status is the coarse, customer-facing status (OUT-2).
	Status Status
	// Escalates is how long an order may stay before somebody should look; 0 means at once for a
	// waiting state and never for a final one.
	Escalates time.Duration
}

// Status is the coarse status that customers see.
type Status string

// The customer-facing statuses.
const (
	StatusProcessing Status = "processing"
	StatusPaid       Status = "paid"
	StatusInDelivery Status = "in_delivery"
	StatusFailed     Status = "failed"
)

// States lists every state in the order of the process.
var States = []StateInfo{
	{Created, Moving, StatusProcessing, time.Minute},
	{Reserving, Moving, StatusProcessing, 2 * time.Minute},
	{Reserved, Moving, StatusProcessing, time.Minute},
	{Paying, Moving, StatusProcessing, 2 * time.Minute},
	{PaymentUnknown, Waiting, StatusProcessing, 15 * time.Second},
	{Paid, Moving, StatusPaid, time.Minute},
	{Shipping, Moving, StatusInDelivery, 2 * time.Minute},
	{Shipped, Final, StatusInDelivery, 0},
	{Releasing, Moving, StatusProcessing, time.Minute},
	{ReleaseFailed, Waiting, StatusProcessing, 0},
	{ReservationFailed, Final, StatusFailed, 0},
	{PaymentFailed, Final, StatusFailed, 0},
	{Cancelled, Final, StatusFailed, 0},
	{ShippingFailed, Waiting, StatusPaid, 0},
}

// Info returns the description of a state; ok is false for a value outside the list.
func Info(s State) (info StateInfo, ok bool) {
	for _, i := range States {
		if i.State == s {
			return i, true
		}
	}
	return StateInfo{}, false
}

// Compensation tells apart no effect, compensated and compensation incomplete (WF-004).
type Compensation string

// The values of Compensation.
const (
	CompensationNone       Compensation = "none"
	CompensationPending    Compensation = "pending"
	CompensationDone       Compensation = "done"
	CompensationIncomplete Compensation = "incomplete"
)

// CancelStatus is what became of a request to cancel (ORD-5).
type CancelStatus string

// The values of CancelStatus.
const (
	// CancelWaiting: an attempt is in flight, or a void is on its way; its outcome decides.
	CancelWaiting CancelStatus = "waiting"
	// CancelDone: the order is cancelled or on its way there.
	CancelDone CancelStatus = "done"
	// CancelRefused: the charge turned out to be confirmed.
	CancelRefused CancelStatus = "refused"
	// CancelSuperseded: the order failed for another reason first.
	CancelSuperseded CancelStatus = "superseded"
)
