package order

import "fmt"

// Consequence is what follows from the outcome of an attempt (STEP-9). It holds both branches of
// a waiting cancellation, because only the database, under the order's lock, knows which applies.
type Consequence struct {
	// Event moves the order while no cancellation waits; empty leaves it.
	Event Event
	// Cancelling moves the order while a cancellation waits and something may have been sent by
	// this or an earlier attempt of the step; empty leaves it.
	Cancelling Event
	// CancellingUnsent is the same where no attempt of the step was ever sent.
	CancellingUnsent Event
	// Status is the step's status from now on; StepDue means that it is repeated.
	Status StepStatus
	// Attention is raised, if not empty.
	Attention Attention
	// NewSeries starts a new reconciliation series: a new step with the same key and body.
	NewSeries bool
}

// Follow returns the consequence of an outcome. Last says that the attempt was the last one that
// the step is allowed.
func Follow(kind StepKind, outcome Outcome, last bool) (Consequence, error) {
	row, ok := consequences[kind]
	if !ok {
		return Consequence{}, fmt.Errorf("no consequences known for step kind %q", kind)
	}
	key := outcome
	if outcome == OutcomeNotSent {
		return handedBack(kind), nil
	}
	if last && repeatable(kind, outcome) {
		key = exhausted
	}
	c, ok := row[key]
	if !ok {
		return Consequence{}, fmt.Errorf("outcome %q cannot arise for step kind %q", outcome, kind)
	}
	return c, nil
}

// exhausted stands for a repeatable outcome of the last attempt.
const exhausted Outcome = "exhausted"

// repeatable tells which outcomes are repeated while attempts are left.
func repeatable(kind StepKind, o Outcome) bool {
	switch o {
	case OutcomeTransient, OutcomeUnresolved, OutcomeMismatch:
		return true
	case OutcomeUnknown:
		return kind == StepVoid
	default:
		return false
	}
}

// handedBack is the consequence of an attempt that was not sent: the step is due again, unless a
// cancellation waits, which then cancels at once.
func handedBack(kind StepKind) Consequence {
	c := consequences[kind][OutcomeTransient]
	return Consequence{
		Cancelling:       c.Cancelling,
		CancellingUnsent: c.CancellingUnsent,
		Status:           StepDue,
	}
}

// moves is a consequence that moves the order the same way whether a cancellation waits or not.
func moves(e Event, s StepStatus) Consequence {
	return Consequence{Event: e, Cancelling: e, CancellingUnsent: e, Status: s}
}

// stays is a consequence that moves the order only if a cancellation waits.
func stays(sent, unsent Event, s StepStatus, a Attention) Consequence {
	return Consequence{Cancelling: sent, CancellingUnsent: unsent, Status: s, Attention: a}
}

// consequences is STEP-9 as data, with one row per kind and outcome.
var consequences = map[StepKind]map[Outcome]Consequence{
	StepReserve: {
		OutcomeSucceeded: {
			Event:            ReserveSucceeded,
			Cancelling:       ReserveSucceededCancelling,
			CancellingUnsent: ReserveSucceededCancelling,
			Status:           StepSucceeded,
		},
		OutcomeRefused:   moves(ReserveRefused, StepRefused),
		OutcomeTransient: stays(CancelledEvent, CancelledEvent, StepDue, ""),
		OutcomePermanent: stays(CancelledEvent, CancelledEvent, StepPermanent,
			AttentionPermanentError),
		exhausted: stays(CancelledEvent, CancelledEvent, StepExhausted,
			AttentionRetryExhausted),
	},
	StepPay: {
		OutcomeSucceeded: moves(PaySucceeded, StepSucceeded),
		OutcomeRefused:   moves(PayRefused, StepRefused),
		OutcomeUnknown:   moves(PayOutcomeUnknown, StepUnknown),
		OutcomeTransient: stays(CancelVoiding, CancelledEvent, StepDue, ""),
		exhausted: stays(CancelVoiding, CancelledEvent, StepExhausted,
			AttentionRetryExhausted),
	},
	StepReconcile: {
		OutcomeSucceeded:  moves(ReconciledPaid, StepSucceeded),
		OutcomeRefused:    moves(ReconciledRefused, StepSucceeded),
		OutcomeVoided:     moves(Voided, StepSucceeded),
		OutcomeUnresolved: {Status: StepDue},
		OutcomeTransient:  {Status: StepDue},
		OutcomeMismatch:   {Status: StepDue, Attention: AttentionMismatch},
		exhausted: {Status: StepExhausted, Attention: AttentionUnresolved,
			NewSeries: true},
	},
	StepVoid: {
		OutcomeSucceeded: moves(Voided, StepSucceeded),
		OutcomeRefused:   {Status: StepRefused, NewSeries: true},
		OutcomeTransient: {Status: StepDue},
		OutcomeUnknown:   {Status: StepDue},
		exhausted:        {Status: StepExhausted, Attention: AttentionUnresolved},
	},
	StepShip: {
		OutcomeSucceeded: moves(ShipSucceeded, StepSucceeded),
		OutcomeRefused: withAttention(moves(ShipRefused, StepRefused),
			AttentionShippingFailed),
		OutcomePermanent: withAttention(moves(ShipPermanent, StepPermanent),
			AttentionShippingFailed),
		OutcomeTransient: {Status: StepDue},
		exhausted: withAttention(moves(ShipExhausted, StepExhausted),
			AttentionShippingFailed),
	},
	StepRelease: {
		OutcomeSucceeded: moves(ReleaseSucceeded, StepSucceeded),
		OutcomeRefused: withAttention(moves(ReleaseRefused, StepRefused),
			AttentionReleaseFailed),
		OutcomePermanent: withAttention(moves(ReleasePermanent, StepPermanent),
			AttentionReleaseFailed),
		OutcomeTransient: {Status: StepDue},
		exhausted: withAttention(moves(ReleaseExhausted, StepExhausted),
			AttentionReleaseFailed),
	},
	StepCommit: {
		OutcomeSucceeded: {Status: StepSucceeded},
		OutcomeRefused:   {Status: StepRefused, Attention: AttentionCommitFailed},
		OutcomePermanent: {Status: StepPermanent, Attention: AttentionCommitFailed},
		OutcomeTransient: {Status: StepDue},
		exhausted:        {Status: StepExhausted, Attention: AttentionCommitFailed},
	},
}

func withAttention(c Consequence, a Attention) Consequence {
	c.Attention = a
	return c
}
