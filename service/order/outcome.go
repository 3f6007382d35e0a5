package order

// Outcome is what an attempt came to, as far as we know (STEP-8).
type Outcome string

// The outcomes of an attempt.
const (
	// OutcomeSucceeded: the effect is confirmed.
	OutcomeSucceeded Outcome = "succeeded"
	// OutcomeRefused: a business refusal, confirmed; the provider remembers it for the key.
	OutcomeRefused Outcome = "refused"
	// OutcomeTransient: worth repeating under the same key.
	OutcomeTransient Outcome = "transient"
	// OutcomePermanent: our fault or a misconfiguration; repeating cannot help.
	OutcomePermanent Outcome = "permanent"
	// OutcomeUnknown: money may or may not have moved; only reconciliation can tell.
	OutcomeUnknown Outcome = "unknown"
	// OutcomeNotSent: the attempt was handed back before anything was sent; it does not count.
	OutcomeNotSent Outcome = "not_sent"
	// OutcomeVoided: a status query found the key voided.
	OutcomeVoided Outcome = "voided"
	// OutcomeMismatch: a status query found another charge than ours (amount, currency, order).
	OutcomeMismatch Outcome = "mismatch"
	// OutcomeNotFound: a status query found that the key of a refund was never seen.
	OutcomeNotFound Outcome = "not_found"
	// OutcomeUnresolved: a status query did not tell.
	OutcomeUnresolved Outcome = "unresolved"
)

// Outcomes lists every outcome.
var Outcomes = []Outcome{
	OutcomeSucceeded, OutcomeRefused, OutcomeTransient, OutcomePermanent, OutcomeUnknown,
	OutcomeNotSent, OutcomeVoided, OutcomeMismatch, OutcomeNotFound, OutcomeUnresolved,
}

// Answer is what was seen of a provider's answer, before it is judged.
type Answer string

// The answers that can be told apart.
const (
	// AnswerSucceeded: 2xx, a definite success that names our order, amount and currency.
	AnswerSucceeded Answer = "succeeded"
	// AnswerRefused: a definite refusal.
	AnswerRefused Answer = "refused"
	// AnswerVoided: a status query's definite word that the key was voided.
	AnswerVoided Answer = "voided"
	// AnswerNotFound: a status query's word that the key was never seen.
	AnswerNotFound Answer = "not_found"
	// AnswerNotProcessed: the provider says that it has not processed the request.
	AnswerNotProcessed Answer = "not_processed"
	// AnswerDialFailed: no connection; not a byte left.
	AnswerDialFailed Answer = "dial_failed"
	// AnswerBusy: 409, 425, 429 or 5xx without a definite body.
	AnswerBusy Answer = "busy"
	// AnswerTimeout: no answer in time.
	AnswerTimeout Answer = "timeout"
	// AnswerReset: the connection ended after the request had begun to leave.
	AnswerReset Answer = "reset"
	// AnswerPending: accepted, but not decided.
	AnswerPending Answer = "pending"
	// AnswerMalformed: 2xx whose body cannot be understood, or is of the wrong type.
	AnswerMalformed Answer = "malformed"
	// AnswerContradictory: a success about another order, amount or currency.
	AnswerContradictory Answer = "contradictory"
	// AnswerRejected: 400, 401, 403, 404, 405, 415, 422, any other 4xx or a redirect, without a
	// definite body.
	AnswerRejected Answer = "rejected"
)

// Answers lists every answer.
var Answers = []Answer{
	AnswerSucceeded, AnswerRefused, AnswerVoided, AnswerNotFound, AnswerNotProcessed,
	AnswerDialFailed, AnswerBusy, AnswerTimeout, AnswerReset, AnswerPending, AnswerMalformed,
	AnswerContradictory, AnswerRejected,
}

// outcomeRow is one row of the outcome table: the outcome of an answer per group of operations.
type outcomeRow struct {
	goods, money, query Outcome
}

// outcomes is the outcome table. Goods are reserve, release, ship, cancel_ship and commit, which
// may be repeated under their key; money are pay, refund and void, where a vague answer means
// that the charge may have happened; queries only look.
var outcomes = map[Answer]outcomeRow{
	AnswerSucceeded:     {OutcomeSucceeded, OutcomeSucceeded, OutcomeSucceeded},
	AnswerRefused:       {OutcomeRefused, OutcomeRefused, OutcomeRefused},
	AnswerVoided:        {OutcomeTransient, OutcomeUnknown, OutcomeVoided},
	AnswerNotFound:      {OutcomePermanent, OutcomeUnknown, OutcomeUnresolved},
	AnswerNotProcessed:  {OutcomeTransient, OutcomeTransient, OutcomeUnresolved},
	AnswerDialFailed:    {OutcomeTransient, OutcomeTransient, OutcomeUnresolved},
	AnswerBusy:          {OutcomeTransient, OutcomeUnknown, OutcomeUnresolved},
	AnswerTimeout:       {OutcomeTransient, OutcomeUnknown, OutcomeUnresolved},
	AnswerReset:         {OutcomeTransient, OutcomeUnknown, OutcomeUnresolved},
	AnswerPending:       {OutcomeTransient, OutcomeUnknown, OutcomeUnresolved},
	AnswerMalformed:     {OutcomeTransient, OutcomeUnknown, OutcomeUnresolved},
	AnswerContradictory: {OutcomeTransient, OutcomeUnknown, OutcomeMismatch},
	AnswerRejected:      {OutcomePermanent, OutcomeUnknown, OutcomeUnresolved},
}

// Classify returns the outcome of an answer to a step of the given kind. An answer outside the
// list is judged like a malformed one.
func Classify(kind StepKind, a Answer) Outcome {
	row, ok := outcomes[a]
	if !ok {
		row = outcomes[AnswerMalformed]
	}
	switch kind {
	case StepPay, StepRefund, StepVoid:
		return row.money
	case StepReconcile:
		return row.query
	case StepReconcileRefund:
		// Unlike a charge, a refund may be sent again after the provider has not seen it: a late
		// arrival of the first request then meets its own key (REF-3).
		if a == AnswerNotFound {
			return OutcomeNotFound
		}
		return row.query
	default:
		return row.goods
	}
}

// Sent reports whether something of the request may have reached the provider.
func (a Answer) Sent() bool { return a != AnswerDialFailed }
