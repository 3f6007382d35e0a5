package order

// Event is what happened to an order; with the state it decides the next state.
type Event string

// The events of the process. Their names are part of the contract with clients and consumers.
const (
	OrderCreated               Event = "order_created"
	ReserveStarted             Event = "reserve_started"
	CancelledEvent             Event = "cancelled"
	ReserveSucceeded           Event = "reserve_succeeded"
	ReserveSucceededCancelling Event = "reserve_succeeded_cancelling"
	ReserveRefused             Event = "reserve_refused"
	PayStarted                 Event = "pay_started"
	ReservationExpired         Event = "reservation_expired"
	ReservationExpiredUnpaid   Event = "reservation_expired_unpaid"
	PaySucceeded               Event = "pay_succeeded"
	PayRefused                 Event = "pay_refused"
	PayOutcomeUnknown          Event = "pay_outcome_unknown"
	CancelVoiding              Event = "cancel_voiding"
	ReconciledPaid             Event = "reconciled_paid"
	ReconciledRefused          Event = "reconciled_refused"
	Voided                     Event = "voided"
	ShipStarted                Event = "ship_started"
	ShipSucceeded              Event = "ship_succeeded"
	ShipRefused                Event = "ship_refused"
	ShipExhausted              Event = "ship_exhausted"
	ShipPermanent              Event = "ship_permanent"
	ShipRetried                Event = "ship_retried"
	ShipFound                  Event = "ship_found"
	ReleaseSucceeded           Event = "release_succeeded"
	ReleaseRefused             Event = "release_refused"
	ReleaseExhausted           Event = "release_exhausted"
	ReleasePermanent           Event = "release_permanent"
	ReleaseRetried             Event = "release_retried"
)

// Events lists every event.
var Events = []Event{
	OrderCreated, ReserveStarted, CancelledEvent, ReserveSucceeded, ReserveSucceededCancelling,
	ReserveRefused, PayStarted, ReservationExpired, ReservationExpiredUnpaid, PaySucceeded,
	PayRefused, PayOutcomeUnknown, CancelVoiding, ReconciledPaid, ReconciledRefused, Voided,
	ShipStarted, ShipSucceeded, ShipRefused, ShipExhausted, ShipPermanent, ShipRetried, ShipFound,
	ReleaseSucceeded, ReleaseRefused, ReleaseExhausted, ReleasePermanent, ReleaseRetried,
}
