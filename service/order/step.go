package order

import "time"

// StepKind is what a step does (saga step).
type StepKind string

// The kinds of steps.
const (
	StepReserve         StepKind = "reserve"
	StepPay             StepKind = "pay"
	StepReconcile       StepKind = "reconcile"
	StepVoid            StepKind = "void"
	StepShip            StepKind = "ship"
	StepCancelShip      StepKind = "cancel_ship"
	StepRelease         StepKind = "release"
	StepCommit          StepKind = "commit"
	StepRefund          StepKind = "refund"
	StepReconcileRefund StepKind = "reconcile_refund"
)

// StepKinds lists every kind.
var StepKinds = []StepKind{
	StepReserve, StepPay, StepReconcile, StepVoid, StepShip, StepCancelShip, StepRelease,
	StepCommit, StepRefund, StepReconcileRefund,
}

// StepStatus is the status of a step. Every status is either polled (due, running) or final.
type StepStatus string

// The statuses of a step.
const (
	// StepDue waits to be taken at its due time.
	StepDue StepStatus = "due"
	// StepRunning is leased by an executor.
	StepRunning StepStatus = "running"
	// StepSucceeded, StepRefused, StepPermanent, StepUnknown ended with that outcome.
	StepSucceeded StepStatus = "succeeded"
	StepRefused   StepStatus = "refused"
	StepPermanent StepStatus = "permanent"
	StepUnknown   StepStatus = "unknown"
	// StepExhausted used up its attempts without a definite outcome.
	StepExhausted StepStatus = "exhausted"
	// StepClosed was ended by a transition of its order before it had an outcome of its own.
	StepClosed StepStatus = "closed"
)

// StepStatuses lists every status.
var StepStatuses = []StepStatus{
	StepDue, StepRunning, StepSucceeded, StepRefused, StepPermanent, StepUnknown, StepExhausted,
	StepClosed,
}

// Take is a row of the table of admissible takes: a step of this kind may be taken while its
// order is in this state, and taking it moves the order by this event (the recorded intent).
type Take struct {
	// Kind and State are the pair that is admitted.
	Kind  StepKind
	State State
	// Event moves the order with the take; empty leaves it where it is (a retry).
	Event Event
}

// Takes is the table of admissible takes. A transition ends every open step whose kind the new
// state does not admit.
var Takes = []Take{
	{StepReserve, Created, ReserveStarted},
	{StepReserve, Reserving, ""},
	{StepPay, Reserved, PayStarted},
	{StepPay, Paying, ""},
	{StepReconcile, PaymentUnknown, ""},
	{StepVoid, PaymentUnknown, ""},
	{StepShip, Paid, ShipStarted},
	{StepShip, Shipping, ""},
	{StepCancelShip, ShippingFailed, ""},
	{StepRelease, Releasing, ""},
	// After a confirmed close that releases the stock; it changes no state.
	{StepRelease, ShippingFailed, ""},
	{StepCommit, Shipped, ""},
	{StepRefund, Shipped, ""},
	{StepRefund, ShippingFailed, ""},
	{StepReconcileRefund, Shipped, ""},
	{StepReconcileRefund, ShippingFailed, ""},
}

// Limits of the process (STEP-4, STEP-5, STEP-7, section 1.1).
const (
	// MaxAttempts is the number of attempts of a step; those that were not sent do not count.
	MaxAttempts = 5
	// MaxInWork is the number of steps that one executor works on at once.
	MaxInWork = 20
	// LeaseDuration is how long a take holds a step.
	LeaseDuration = 30 * time.Second
	// RenewEvery is how often an executor renews its leases.
	RenewEvery = 10 * time.Second
	// CallTimeout bounds every provider call and every SQL statement.
	CallTimeout = 3 * time.Second
	// ReservationTime is how long stock is held, from the start of the successful attempt.
	ReservationTime = 15 * time.Minute
	// PayMargin is how long before the deadline the last charge may be attempted.
	PayMargin = 3 * time.Second
	// ReconcileEvery separates the queries that follow the first reconciliation series.
	ReconcileEvery = time.Minute
)

// retryDelays are the delays after the first, second, … attempt (STEP-5).
var retryDelays = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}

// RetryDelay returns how long to wait after the given counted attempt of a step (1 is the first),
// without jitter; ok is false when no further attempt is allowed. Series counts the steps of one
// reconciliation from 1; from the second on, its queries are a minute apart (STEP-10).
func RetryDelay(kind StepKind, series, attempt int) (delay time.Duration, ok bool) {
	if attempt < 1 || attempt >= MaxAttempts {
		return 0, false
	}
	if kind == StepReconcile && series > 1 {
		return ReconcileEvery, true
	}
	return retryDelays[attempt-1], true
}
