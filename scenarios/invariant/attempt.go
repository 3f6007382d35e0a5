package invariant

import (
	"cmp"
	"time"

	"ordeal/scenarios/evidence"
)

var noBlindCharge = Invariant{
	ID:    "INV-07",
	Title: "No charge after an unknown one",
	Text: "No pay attempt is recorded after an unknown outcome; at most one request with effect per " +
		"recorded attempt; no request without an attempt that was committed before it left.",
	Needs: []string{"steps", "attempts", "calls"},
	Check: perOrder(judgeNoBlindCharge),
}

func judgeNoBlindCharge(t *tally, _ *evidence.Run, v evidence.View) {
	var earlier evidence.Attempt
	for _, a := range v.Attempts {
		if kindOf(v, a.Step) != stepPay {
			continue
		}
		t.met()
		if why := unknownEnd(v, earlier); earlier.No > 0 && why != "" {
			t.violated(v.ID, a.TakenAt, "pay step %d attempt %d was taken at %s by %s although "+
				"step %d attempt %d %s", a.Step, a.No, clock(a.TakenAt), a.Executor,
				earlier.Step, earlier.No, why)
		}
		earlier = a
	}
	judgeRequests(t, v)
}

// unknownEnd says in which way the outcome of a pay attempt is unknown; empty if it is not. The
// answer that came back weighs as much as the recorded outcome: a timeout that was recorded as
// worth repeating is unknown nevertheless.
func unknownEnd(v evidence.View, a evidence.Attempt) string {
	if !a.Recorded() {
		return "never got a result"
	}
	if a.Outcome == unknown {
		return "ended unknown at " + clock(a.RecordedAt)
	}
	for _, c := range v.Calls {
		if c.Operation == evidence.OpCharge && c.Step == a.Step && c.Attempt == a.No {
			if why := vague(v, c); why != "" {
				return "was recorded " + a.Outcome + ", but its request " + why
			}
		}
	}
	return ""
}

// vague says in which way the reply to a charge leaves open what happened; empty if it does not.
func vague(v evidence.View, c evidence.Call) string {
	switch c.Reply {
	case evidence.ReplyDialFailed:
		return ""
	case evidence.ReplyAnswered:
	default:
		return "got no answer (" + string(c.Reply) + ")"
	}
	switch c.Answer.Outcome {
	case refused, notProcessed:
		return ""
	case succeeded:
		if c.Status >= 200 && c.Status < 300 && matches(v, c.Answer) {
			return ""
		}
		return "was answered with the success of something else"
	}
	return "was answered without a definite outcome"
}

// matches reports whether a success is about the order and its amount.
func matches(v evidence.View, a evidence.Answer) bool {
	return v.Order != nil && a.Order == v.ID && a.Amount == v.Order.Total &&
		a.Currency == v.Order.Currency
}

// judgeRequests matches every request with its attempt. A status query moves nothing, so one
// attempt may make several.
func judgeRequests(t *tally, v evidence.View) {
	for i, c := range v.Calls {
		t.met()
		if !asks(c) {
			if n := sentBefore(v.Calls[:i], c); n > 0 {
				t.violated(v.ID, c.At, "%s call %d is request %d of step %d attempt %d",
					c.Operation, c.Seq, n+1, c.Step, c.Attempt)
			}
		}
		a, ok := v.Attempt(c.Step, c.Attempt)
		if !ok {
			t.violated(v.ID, c.At, "%s call %d left %s at %s without an attempt row (step %d "+
				"attempt %d)", c.Operation, c.Seq, c.Process, clock(c.At), c.Step, c.Attempt)
			continue
		}
		judgeMoment(t, v, c, a)
	}
}

// judgeMoment compares when a request left with when its attempt began and ended.
func judgeMoment(t *tally, v evidence.View, c evidence.Call, a evidence.Attempt) {
	if c.At.Before(a.TakenAt) {
		t.violated(v.ID, c.At, "%s call %d left %s at %s, before its attempt was taken at %s "+
			"(step %d attempt %d)", c.Operation, c.Seq, c.Process, clock(c.At),
			clock(a.TakenAt), a.Step, a.No)
	}
	if !asks(c) && a.Outcome == notSent && c.Left() {
		t.violated(v.ID, c.At, "%s call %d left %s, but its attempt (step %d attempt %d) is "+
			"recorded as not sent", c.Operation, c.Seq, c.Process, a.Step, a.No)
	}
}

// asks reports whether a request only asks.
func asks(c evidence.Call) bool { return c.Method == "GET" }

// sentBefore counts the requests of the same attempt that left before.
func sentBefore(calls []evidence.Call, c evidence.Call) (n int) {
	for _, b := range calls {
		if b.Step == c.Step && b.Attempt == c.Attempt && !asks(b) {
			n++
		}
	}
	return n
}

var fencedResults = Invariant{
	ID:    "INV-08",
	Title: "Only the holder is heard",
	Text: "No result is accepted from a stale generation; at most one result per attempt; a step " +
		"has at most 5 attempts, those that were not sent apart; retries wait at least 1, 2, 4 " +
		"and 8 s (queries of a later reconciliation series a minute).",
	Needs: []string{"steps", "attempts", "history"},
	Check: perOrder(judgeFencedResults),
}

// Limits of a step (STEP-4, STEP-5, STEP-10). The lease is that of a run which says nothing else.
const (
	attemptsMax    = 5
	leaseTime      = 30 * time.Second
	reconcileEvery = time.Minute
)

// retryDelays are the least delays after the first, second, … attempt.
var retryDelays = [...]time.Duration{
	time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second,
}

func judgeFencedResults(t *tally, r *evidence.Run, v evidence.View) {
	lease := cmp.Or(r.Lease, leaseTime)
	for _, s := range v.Steps {
		attempts := v.AttemptsOf(s.No)
		counted := 0
		for i, a := range attempts {
			t.met()
			if i > 0 {
				judgeGeneration(t, v, attempts[i-1], a)
				judgeDelay(t, v, s, attempts[i-1], a, counted, lease)
			}
			judgeResult(t, v, s, a, attempts[i+1:])
			if a.Generation > s.Generation {
				t.violated(v.ID, a.TakenAt, "%s step %d has generation %d, but attempt %d was "+
					"taken with %d", s.Kind, s.No, s.Generation, a.No, a.Generation)
			}
			if a.Outcome != notSent {
				counted++
			}
		}
		if counted > attemptsMax {
			last := attempts[len(attempts)-1]
			t.violated(v.ID, last.TakenAt, "%s step %d has %d attempts, at most %d are allowed",
				s.Kind, s.No, counted, attemptsMax)
		}
	}
	judgeResultChanges(t, v)
}

// judgeGeneration looks for a take that did not raise the fencing token.
func judgeGeneration(t *tally, v evidence.View, earlier, a evidence.Attempt) {
	if a.Generation <= earlier.Generation {
		t.violated(v.ID, a.TakenAt, "step %d attempt %d was taken with generation %d, attempt %d "+
			"had %d", a.Step, a.No, a.Generation, earlier.No, earlier.Generation)
	}
}

// judgeResult looks for a result that came after the attempt had lost its step. An attempt that
// was handed back may be followed at the same instant, and one that ends its step does so at the
// instant of its result.
func judgeResult(t *tally, v evidence.View, s evidence.Step, a evidence.Attempt,
	later []evidence.Attempt) {
	if !a.Recorded() {
		return
	}
	if len(later) > 0 {
		next := later[0]
		stale := !a.RecordedAt.Before(next.TakenAt)
		if a.Outcome == notSent {
			stale = a.RecordedAt.After(next.TakenAt)
		}
		if stale {
			t.violated(v.ID, a.RecordedAt, "%s step %d attempt %d (generation %d, %s) recorded %s "+
				"at %s, after attempt %d (generation %d, %s) was taken at %s", s.Kind, s.No,
				a.No, a.Generation, a.Executor, a.Outcome, clock(a.RecordedAt), next.No,
				next.Generation, next.Executor, clock(next.TakenAt))
		}
	}
	if !s.EndedAt.IsZero() && a.RecordedAt.After(s.EndedAt) {
		t.violated(v.ID, a.RecordedAt, "%s step %d attempt %d (%s) recorded %s at %s, but the "+
			"step had ended %s at %s", s.Kind, s.No, a.No, a.Executor, a.Outcome,
			clock(a.RecordedAt), s.Status, clock(s.EndedAt))
	}
}

// judgeDelay looks for a take that came too soon after the attempt before it. An attempt whose
// holder died ended, at the earliest, with its first lease. One whose result came after the take
// was stale, which judgeResult says.
func judgeDelay(t *tally, v evidence.View, s evidence.Step, earlier, a evidence.Attempt,
	counted int, lease time.Duration) {
	stale := earlier.Recorded() && earlier.RecordedAt.After(a.TakenAt)
	if earlier.Outcome == notSent || stale || counted < 1 || counted > len(retryDelays) {
		return
	}
	delay := retryDelays[counted-1]
	if s.Kind == stepReconcile && s.Series > 1 {
		delay = reconcileEvery
	}
	end, how := earlier.RecordedAt, "ended"
	if !earlier.Recorded() {
		end, how = earlier.TakenAt.Add(lease), "could not lose its lease before"
	}
	if a.TakenAt.Before(end.Add(delay)) {
		t.violated(v.ID, a.TakenAt, "%s step %d attempt %d was taken at %s, but attempt %d %s %s "+
			"and %s must pass", s.Kind, s.No, a.No, clock(a.TakenAt), earlier.No, how,
			clock(end), delay)
	}
}

// resultEvents are the changes that the result of an attempt makes.
var resultEvents = map[string]bool{
	"reserve_succeeded":            true,
	"reserve_succeeded_cancelling": true,
	"reserve_refused":              true,
	"pay_succeeded":                true,
	"pay_refused":                  true,
	"reconciled_paid":              true,
	"reconciled_refused":           true,
	"voided":                       true,
	"ship_succeeded":               true,
	"ship_refused":                 true,
	"ship_permanent":               true,
	"release_succeeded":            true,
	"release_refused":              true,
	"release_permanent":            true,
}

// judgeResultChanges looks for changes of state that the result of a lost attempt made, or that
// one attempt made twice. Events that also a takeover or a sweep makes are left to the attempts.
func judgeResultChanges(t *tally, v evidence.View) {
	for i, c := range v.History {
		if !resultEvents[c.Event] || c.Step == 0 {
			continue
		}
		t.met()
		for _, a := range v.AttemptsOf(c.Step) {
			if a.No > c.Attempt && !c.At.Before(a.TakenAt) {
				t.violated(v.ID, c.At, "version %d (%s) is the result of step %d attempt %d, but "+
					"attempt %d had been taken at %s", c.Version, c.Event, c.Step,
					c.Attempt, a.No, clock(a.TakenAt))
				break
			}
		}
		for _, b := range v.History[:i] {
			if resultEvents[b.Event] && b.Step == c.Step && b.Attempt == c.Attempt {
				t.violated(v.ID, c.At, "step %d attempt %d has two results: version %d (%s) and "+
					"version %d (%s)", c.Step, c.Attempt, b.Version, b.Event,
					c.Version, c.Event)
			}
		}
	}
}
