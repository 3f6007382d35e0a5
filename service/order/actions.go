package order

import "slices"

// Action is a command that a person may give an order next.
type Action string

// The commands that people give (ORD-5, STEP-9, REF-1, REF-4).
const (
	// ActionCancel asks for the order to be cancelled; only its customer may.
	ActionCancel Action = "cancel"
	// ActionRetry makes a new step for one that ended without success.
	ActionRetry Action = "retry"
	// ActionReconcile asks the provider again for an unknown outcome.
	ActionReconcile Action = "reconcile"
	// ActionVoid closes the payment key at the provider.
	ActionVoid Action = "void"
	// ActionShip ships again.
	ActionShip Action = "ship"
	// ActionClose accepts a failure.
	ActionClose Action = "close"
	// ActionRefund gives money back.
	ActionRefund Action = "refund"
)

// Actions lists every action.
var Actions = []Action{ActionCancel, ActionRetry, ActionReconcile, ActionVoid, ActionShip,
	ActionClose, ActionRefund}

// Situation is what decides which commands an order allows. It is a hint for people: a command
// checks its own precondition again, under the order's lock.
type Situation struct {
	// State is where the order is.
	State State
	// Cancel is what became of an earlier request to cancel, empty where there was none.
	Cancel CancelStatus
	// Attention are the reasons why a person should look.
	Attention []Attention
	// Last is the event of the last change of state; empty where it is not known.
	Last Event
	// Closed says that a person has accepted the failure, Closing that this is on its way.
	Closed, Closing bool
	// Voiding says that the payment key is being closed at the provider.
	Voiding bool
	// RefundUnknown says that the outcome of some refund is unknown.
	RefundUnknown bool
	// Refundable is what is left to give back, in kopecks.
	Refundable Money
}

// Listed returns the situation of an order as far as its state and its reasons for attention
// tell: that a person has decided shows by the reason that is gone. Refunds that wait for nobody,
// and what is on its way, do not show.
func Listed(s State, cancel CancelStatus, attention []Attention) Situation {
	listed := Situation{State: s, Cancel: cancel, Attention: attention}
	switch s {
	case ShippingFailed:
		listed.Closed = !listed.has(AttentionShippingFailed)
	case ReleaseFailed:
		listed.Closed = !listed.has(AttentionReleaseFailed)
	}
	listed.RefundUnknown = listed.has(AttentionRefundUnresolved)
	return listed
}

// CustomerActions lists what the customer of an order may do next, never nil. A second request to
// cancel changes nothing, so it is no action.
func CustomerActions(s Situation) []Action {
	actions := []Action{}
	if s.Cancel == "" && allows(s.State, CancelledEvent) {
		actions = append(actions, ActionCancel)
	}
	if s.before() && s.has(AttentionRetryExhausted) {
		actions = append(actions, ActionRetry)
	}
	return actions
}

// OperatorActions lists what an operator may do next with an order, never nil.
func OperatorActions(s Situation) []Action {
	rows := []struct {
		action  Action
		allowed bool
	}{
		{ActionRetry, s.retriable()},
		{ActionReconcile, s.RefundUnknown || allows(s.State, ReconciledPaid)},
		{ActionVoid, allows(s.State, Voided) && !s.Voiding},
		{ActionShip, s.undecided(ShipRetried)},
		{ActionClose, s.undecided(ShipRetried) || s.abandonable()},
		{ActionRefund, s.Refundable > 0 && s.settled()},
	}
	actions := []Action{}
	for _, row := range rows {
		if row.allowed {
			actions = append(actions, row.action)
		}
	}
	return actions
}

// has tells whether a person should look for this reason.
func (s Situation) has(a Attention) bool { return slices.Contains(s.Attention, a) }

// before tells whether the order is in a state whose step is retried in place: reserving, paying.
func (s Situation) before() bool {
	return allows(s.State, ReserveSucceeded) || allows(s.State, PaySucceeded)
}

// retriable tells whether a step, or a refund, ended in a way that a new one may follow.
func (s Situation) retriable() bool {
	return s.before() && (s.has(AttentionRetryExhausted) || s.has(AttentionPermanentError)) ||
		s.undecided(ReleaseRetried) ||
		s.settled() && s.has(AttentionRetryExhausted)
}

// undecided tells whether the order waits for the person who may cause an event.
func (s Situation) undecided(e Event) bool {
	return allows(s.State, e) && !s.Closed && !s.Closing
}

// abandonable tells whether an incomplete compensation may be accepted: only after the warehouse
// has definitely refused to release (REF-4).
func (s Situation) abandonable() bool {
	return s.undecided(ReleaseRetried) && (s.Last == "" || s.Last == ReleaseRefused)
}

// settled tells whether the order was charged and its shipment is decided, so that money may be
// given back (REF-2).
func (s Situation) settled() bool {
	return s.State == Shipped || s.State == ShippingFailed && s.Closed
}

// allows tells whether the table has the pair.
func allows(s State, e Event) bool {
	for _, t := range Transitions {
		if t.From == s && t.Event == e {
			return true
		}
	}
	return false
}
