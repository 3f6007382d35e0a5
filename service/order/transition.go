package order

import "fmt"

// Transition is one row of the table of allowed transitions (ORD-3). The table is mirrored by
// the database, which refuses everything else, also when typed by hand.
type Transition struct {
	// From is the state left; empty for the creation.
	From State
	// Event is what happened.
	Event Event
	// To is the state reached.
	To State
	// End is, for a transition into releasing, the state that the order ends in when the release
	// has succeeded. It is stored when the release begins.
	End State
	// Step is the step created in the same transaction, if any.
	Step StepKind
	// StepIfCancelling is a second step, created only while a cancellation waits.
	StepIfCancelling StepKind
	// Cancel is what becomes of a waiting cancellation; empty leaves it as it is.
	Cancel CancelStatus
	// Compensation is the new value of the order's compensation field; empty leaves it.
	Compensation Compensation
	// Audit is the action recorded in the audit trail: every compensation and every automatic
	// decision on money has one (AUD-1); empty records nothing.
	Audit string
}

// Transitions is the table of the process, version 1.
//
// Voided and release_succeeded have several rows: which one applies is decided by whether a
// cancellation waits, and by the end state stored when the release began.
var Transitions = []Transition{
	{To: Created, Event: OrderCreated, Step: StepReserve},

	{From: Created, Event: ReserveStarted, To: Reserving},
	{From: Created, Event: CancelledEvent, To: Cancelled, Cancel: CancelDone,
		Audit: "order_cancelled"},

	{From: Reserving, Event: ReserveSucceeded, To: Reserved, Step: StepPay},
	{From: Reserving, Event: ReserveSucceededCancelling, To: Releasing, End: Cancelled,
		Step: StepRelease, Cancel: CancelDone, Compensation: CompensationPending,
		Audit: "compensation_started"},
	{From: Reserving, Event: ReserveRefused, To: ReservationFailed, Cancel: CancelSuperseded},
	{From: Reserving, Event: CancelledEvent, To: Releasing, End: Cancelled, Step: StepRelease,
		Cancel: CancelDone, Compensation: CompensationPending, Audit: "compensation_started"},

	{From: Reserved, Event: PayStarted, To: Paying, Audit: "charge_started"},
	{From: Reserved, Event: CancelledEvent, To: Releasing, End: Cancelled, Step: StepRelease,
		Cancel: CancelDone, Compensation: CompensationPending, Audit: "compensation_started"},
	{From: Reserved, Event: ReservationExpired, To: Releasing, End: ReservationFailed,
		Step: StepRelease, Compensation: CompensationPending, Audit: "compensation_started"},

	{From: Paying, Event: PaySucceeded, To: Paid, Step: StepShip, Cancel: CancelRefused,
		Audit: "charge_confirmed"},
	{From: Paying, Event: PayRefused, To: Releasing, End: PaymentFailed, Step: StepRelease,
		Cancel: CancelSuperseded, Compensation: CompensationPending,
		Audit: "compensation_started"},
	{From: Paying, Event: PayOutcomeUnknown, To: PaymentUnknown, Step: StepReconcile,
		StepIfCancelling: StepVoid, Audit: "charge_unknown"},
	{From: Paying, Event: ReservationExpired, To: PaymentUnknown, Step: StepReconcile,
		Audit: "charge_unknown"},
	{From: Paying, Event: ReservationExpiredUnpaid, To: Releasing, End: PaymentFailed,
		Step: StepRelease, Compensation: CompensationPending, Audit: "compensation_started"},
	{From: Paying, Event: CancelVoiding, To: PaymentUnknown, Step: StepReconcile,
		StepIfCancelling: StepVoid, Audit: "charge_unknown"},
	{From: Paying, Event: CancelledEvent, To: Releasing, End: Cancelled, Step: StepRelease,
		Cancel: CancelDone, Compensation: CompensationPending, Audit: "compensation_started"},

	{From: PaymentUnknown, Event: ReconciledPaid, To: Paid, Step: StepShip,
		Cancel: CancelRefused, Audit: "charge_confirmed"},
	{From: PaymentUnknown, Event: ReconciledRefused, To: Releasing, End: PaymentFailed,
		Step: StepRelease, Cancel: CancelSuperseded, Compensation: CompensationPending,
		Audit: "compensation_started"},
	{From: PaymentUnknown, Event: Voided, To: Releasing, End: Cancelled, Step: StepRelease,
		Cancel: CancelDone, Compensation: CompensationPending, Audit: "compensation_started"},
	{From: PaymentUnknown, Event: Voided, To: Releasing, End: PaymentFailed, Step: StepRelease,
		Compensation: CompensationPending, Audit: "compensation_started"},

	{From: Paid, Event: ShipStarted, To: Shipping},
	{From: Shipping, Event: ShipSucceeded, To: Shipped, Step: StepCommit},
	{From: Shipping, Event: ShipRefused, To: ShippingFailed, Audit: "shipping_failed"},
	{From: Shipping, Event: ShipExhausted, To: ShippingFailed, Audit: "shipping_failed"},
	{From: Shipping, Event: ShipPermanent, To: ShippingFailed, Audit: "shipping_failed"},
	{From: ShippingFailed, Event: ShipRetried, To: Shipping, Step: StepShip,
		Audit: "shipping_retried"},
	{From: ShippingFailed, Event: ShipFound, To: Shipped, Step: StepCommit,
		Audit: "shipping_found"},

	{From: Releasing, Event: ReleaseSucceeded, To: PaymentFailed, End: PaymentFailed,
		Compensation: CompensationDone, Audit: "compensation_done"},
	{From: Releasing, Event: ReleaseSucceeded, To: Cancelled, End: Cancelled,
		Compensation: CompensationDone, Audit: "compensation_done"},
	{From: Releasing, Event: ReleaseSucceeded, To: ReservationFailed, End: ReservationFailed,
		Compensation: CompensationDone, Audit: "compensation_done"},
	{From: Releasing, Event: ReleaseRefused, To: ReleaseFailed,
		Compensation: CompensationIncomplete, Audit: "compensation_incomplete"},
	{From: Releasing, Event: ReleaseExhausted, To: ReleaseFailed,
		Compensation: CompensationIncomplete, Audit: "compensation_incomplete"},
	{From: Releasing, Event: ReleasePermanent, To: ReleaseFailed,
		Compensation: CompensationIncomplete, Audit: "compensation_incomplete"},
	{From: ReleaseFailed, Event: ReleaseRetried, To: Releasing, Step: StepRelease,
		Compensation: CompensationPending, Audit: "compensation_retried"},
}

// ForbiddenError reports an event that the state does not allow.
type ForbiddenError struct {
	// From is the state the order was in; empty when it did not exist.
	From State
	// Event is the refused event.
	Event Event
}

func (e *ForbiddenError) Error() string {
	return fmt.Sprintf("event %q is not allowed in state %q", e.Event, e.From)
}

// Next returns the transition of an event in a state, or a *ForbiddenError.
//
// End chooses among the rows of one (state, event) pair: for a release that succeeded it is the
// end state stored when the release began, for a void the one wanted. It is ignored where the
// pair has a single row.
func Next(from State, event Event, end State) (Transition, error) {
	var found []Transition
	for _, t := range Transitions {
		if t.From == from && t.Event == event {
			found = append(found, t)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	for _, t := range found {
		if t.End == end {
			return t, nil
		}
	}
	return Transition{}, &ForbiddenError{From: from, Event: event}
}
