package order

import "time"

// StepRef names one take of a step. Everything that is written for it is guarded by Generation
// (the fencing token) and Owner (STEP-4).
type StepRef struct {
	// OrderID and StepNo identify the step; steps are numbered within their order.
	OrderID ID
	StepNo  int
	// Generation grows with every take.
	Generation int
	// Owner is the executor that took it.
	Owner string
}

// TakeRequest says which steps an executor wants.
type TakeRequest struct {
	// Owner is the executor's name, unique among its incarnations.
	Owner string
	// Versions are the process versions that the executor knows (ORD-2).
	Versions []int16
	// Limit is the largest number of steps to take.
	Limit int
	// Lease is how long the steps are held.
	Lease time.Duration
}

// TakenStep is a step under an executor's lease, with all that its call needs.
type TakenStep struct {
	// Ref identifies the step and this take of it.
	Ref StepRef
	// Kind is what to do.
	Kind StepKind
	// Attempt is the number of this attempt; Counted leaves out those handed back unsent.
	Attempt, Counted int
	// Series counts the steps of one reconciliation from 1.
	Series int
	// ProviderKey is the idempotency key of the operation, TargetKey that of the operation which
	// it is about (empty for none).
	ProviderKey, TargetKey string
	// Request is the stored body, sent byte for byte; empty for a status query.
	Request string
	// Total is the amount of the order in kopecks.
	Total Money
	// Currency is the currency of the order.
	Currency string
	// TraceID is the trace that the order belongs to, as hex.
	TraceID string
}

// Result is what came of an attempt, with the consequence that was derived from it.
type Result struct {
	// Ref is the take that produced it.
	Ref StepRef
	// Kind is the kind of the step, and TraceID the trace of its order, where it is known; both
	// are for whoever watches.
	Kind    StepKind
	TraceID string
	// Attempt is the number of the attempt.
	Attempt int
	// Outcome is the outcome; a Lost attempt keeps none.
	Outcome Outcome
	// Sent tells whether something of the request may have reached the provider.
	Sent bool
	// Code is a stable code of the cause, Reference the provider's reference of a success.
	Code, Reference string
	// Lost marks an attempt whose lease ran out. It is recorded only if the lease is still
	// expired and nobody took the step meanwhile.
	Lost bool
	// Follow is the consequence.
	Follow Consequence
	// Retry is the delay before the next attempt, where the consequence repeats the step.
	Retry time.Duration
	// SeriesDelay is the delay before the first query of a new reconciliation series.
	SeriesDelay time.Duration
}

// ExpiredStep is a step whose lease has run out.
type ExpiredStep struct {
	// Ref is the take that still holds it.
	Ref StepRef
	// Kind is the kind of the step.
	Kind StepKind
	// Attempt and Counted number its last attempt, as in TakenStep.
	Attempt, Counted int
	// Series counts the steps of one reconciliation.
	Series int
}
