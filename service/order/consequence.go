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
	// Refund moves the refund that the step is about; empty for steps that are about none, or
	// leaves it.
	Refund RefundEvent
	// Status is the step's status from now on; StepDue means that it is repeated.
	Status StepStatus
	// Attention is raised, if not empty, and so is Also: exhaustion adds its own to that of the
	// last outcome.
	Attention, Also Attention
	// NewSeries starts a new reconciliation series: a new step with the same key and body.
	NewSeries bool
}

// Follow returns the consequence of an outcome. Last says that the attempt was the last one that
// the step is allowed: an outcome that would be repeated is then exhaustion.
func Follow(kind StepKind, outcome Outcome, last bool) (Consequence, error) {
	row, ok := consequences[kind]
	if !ok {
		return Consequence{}, fmt.Errorf("no consequences known for step kind %q", kind)
	}
	if outcome == OutcomeNotSent {
		return handedBack(kind), nil
	}
	c, ok := row[outcome]
	if !ok {
		return Consequence{}, fmt.Errorf("outcome %q cannot arise for step kind %q", outcome, kind)
	}
	if last && c.Status == StepDue {
		also := c.Attention
		c = exhaustions[kind]
		c.Also = also
	}
	return c, nil
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

// refunds is a consequence that moves a refund.
func refunds(e RefundEvent, s StepStatus) Consequence {
	return Consequence{Refund: e, Status: s}
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
	},
	StepPay: {
		OutcomeSucceeded: moves(PaySucceeded, StepSucceeded),
		OutcomeRefused:   moves(PayRefused, StepRefused),
		OutcomeUnknown:   moves(PayOutcomeUnknown, StepUnknown),
		OutcomeTransient: stays(CancelVoiding, CancelledEvent, StepDue, ""),
	},
	StepReconcile: {
		OutcomeSucceeded:  moves(ReconciledPaid, StepSucceeded),
		OutcomeRefused:    moves(ReconciledRefused, StepSucceeded),
		OutcomeVoided:     moves(Voided, StepSucceeded),
		OutcomeUnresolved: {Status: StepDue},
		OutcomeTransient:  {Status: StepDue},
		OutcomeMismatch:   {Status: StepDue, Attention: AttentionMismatch},
		OutcomePermanent:  {Status: StepPermanent, Attention: AttentionPermanentError},
	},
	StepVoid: {
		OutcomeSucceeded: moves(Voided, StepSucceeded),
		OutcomeRefused:   {Status: StepRefused, NewSeries: true},
		OutcomeTransient: {Status: StepDue},
		OutcomeUnknown:   {Status: StepDue},
		OutcomePermanent: {Status: StepPermanent, Attention: AttentionPermanentError},
	},
	StepShip: {
		OutcomeSucceeded: moves(ShipSucceeded, StepSucceeded),
		OutcomeRefused: withAttention(moves(ShipRefused, StepRefused),
			AttentionShippingFailed),
		OutcomePermanent: withAttention(moves(ShipPermanent, StepPermanent),
			AttentionShippingFailed),
		OutcomeTransient: {Status: StepDue},
	},
	StepRelease: {
		OutcomeSucceeded: moves(ReleaseSucceeded, StepSucceeded),
		OutcomeRefused: withAttention(moves(ReleaseRefused, StepRefused),
			AttentionReleaseFailed),
		OutcomePermanent: withAttention(moves(ReleasePermanent, StepPermanent),
			AttentionReleaseFailed),
		OutcomeTransient: {Status: StepDue},
	},
	// A confirmed cancel of the shipment closes the order; the refusal says that it was shipped.
	StepCancelShip: {
		OutcomeSucceeded: {Status: StepSucceeded},
		OutcomeRefused:   moves(ShipFound, StepRefused),
		OutcomePermanent: {Status: StepPermanent, Attention: AttentionPermanentError},
		OutcomeTransient: {Status: StepDue},
	},
	StepRefund: {
		OutcomeSucceeded: refunds(RefundSucceeded, StepSucceeded),
		OutcomeRefused:   refunds(RefundRefused, StepRefused),
		OutcomeUnknown:   refunds(RefundOutcomeUnknown, StepUnknown),
		OutcomeTransient: {Status: StepDue},
	},
	StepReconcileRefund: {
		OutcomeSucceeded:  refunds(RefundReconciledDone, StepSucceeded),
		OutcomeRefused:    refunds(RefundReconciledRefused, StepSucceeded),
		OutcomeNotFound:   refunds(RefundResent, StepSucceeded),
		OutcomeUnresolved: {Status: StepDue},
		OutcomeTransient:  {Status: StepDue},
		OutcomeVoided:     {Status: StepDue},
		OutcomeMismatch:   {Status: StepDue, Attention: AttentionMismatch},
	},
	StepCommit: {
		OutcomeSucceeded: {Status: StepSucceeded},
		OutcomeRefused:   {Status: StepRefused, Attention: AttentionCommitFailed},
		OutcomePermanent: {Status: StepPermanent, Attention: AttentionCommitFailed},
		OutcomeTransient: {Status: StepDue},
	},
}

// exhaustions is what follows when the last attempt of a step ended like one to be repeated.
var exhaustions = map[StepKind]Consequence{
	StepReserve: stays(CancelledEvent, CancelledEvent, StepExhausted,
		AttentionRetryExhausted),
	StepPay: stays(CancelVoiding, CancelledEvent, StepExhausted,
		AttentionRetryExhausted),
	StepReconcile: {Status: StepExhausted, Attention: AttentionUnresolved,
		NewSeries: true},
	StepVoid: {Status: StepExhausted, Attention: AttentionUnresolved},
	StepShip: withAttention(moves(ShipExhausted, StepExhausted),
		AttentionShippingFailed),
	StepRelease: withAttention(moves(ReleaseExhausted, StepExhausted),
		AttentionReleaseFailed),
	StepCancelShip:      {Status: StepExhausted, Attention: AttentionRetryExhausted},
	StepRefund:          {Status: StepExhausted, Attention: AttentionRetryExhausted},
	StepReconcileRefund: {Status: StepExhausted, Attention: AttentionRefundUnresolved},
	StepCommit:          {Status: StepExhausted, Attention: AttentionCommitFailed},
}

func withAttention(c Consequence, a Attention) Consequence {
	c.Attention = a
	return c
}
