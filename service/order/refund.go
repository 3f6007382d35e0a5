package order

// RefundState is the state of a refund (REF-3). A refund never changes the state of its order.
type RefundState string

// The states of a refund.
const (
	RefundRequested RefundState = "requested"
	Refunding       RefundState = "refunding"
	RefundUnknown   RefundState = "refund_unknown"
	Refunded        RefundState = "refunded"
	RefundFailed    RefundState = "refund_failed"
)

// RefundEvent is what happened to a refund.
type RefundEvent string

// The events of a refund.
const (
	RefundAsked             RefundEvent = "refund_requested"
	RefundStarted           RefundEvent = "refund_started"
	RefundSucceeded         RefundEvent = "refund_succeeded"
	RefundRefused           RefundEvent = "refund_refused"
	RefundOutcomeUnknown    RefundEvent = "refund_outcome_unknown"
	RefundReconciledDone    RefundEvent = "refund_reconciled_done"
	RefundReconciledRefused RefundEvent = "refund_reconciled_refused"
	RefundResent            RefundEvent = "refund_resent"
)

// RefundTransition is one row of the table of a refund's transitions, mirrored by the database.
type RefundTransition struct {
	// From is the state left; empty for the request.
	From RefundState
	// Event is what happened, To the state reached.
	Event RefundEvent
	To    RefundState
	// Step is the step created in the same transaction, if any.
	Step StepKind
}

// RefundTransitions is the table of refunds. A refund is resent, under the same key and with the
// same body, only after a status query answered that the key was never seen.
var RefundTransitions = []RefundTransition{
	{"", RefundAsked, RefundRequested, StepRefund},
	{RefundRequested, RefundStarted, Refunding, ""},
	{Refunding, RefundSucceeded, Refunded, ""},
	{Refunding, RefundRefused, RefundFailed, ""},
	{Refunding, RefundOutcomeUnknown, RefundUnknown, StepReconcileRefund},
	{RefundUnknown, RefundReconciledDone, Refunded, ""},
	{RefundUnknown, RefundReconciledRefused, RefundFailed, ""},
	{RefundUnknown, RefundResent, Refunding, StepRefund},
}
