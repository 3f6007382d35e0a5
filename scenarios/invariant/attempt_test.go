package invariant

import (
	"testing"
	"time"

	"ordeal/scenarios/evidence"
)

// chargedAgain tells of a charge that is attempted again, after the first attempt ended somehow.
func chargedAgain(first func(*story)) func() *evidence.Run {
	return func() *evidence.Run {
		s := newStory()
		s.reserve()
		step, _ := s.pay()
		first(s)
		s.pass(leaseTime + 2*time.Second)
		_, attempt := s.take("w1")
		s.call(evidence.OpCharge, evidence.ReplyAnswered, charged())
		s.charge(true)
		s.record(succeeded, succeeded, true)
		s.move("pay_succeeded", paid, step, attempt)
		s.step(stepShip)
		s.ship()
		return s.done()
	}
}

func TestNoBlindChargeNotices(t *testing.T) {
	expectRed(t, []broken{
		{"after an unknown outcome", chargedAgain(func(s *story) {
			s.call(evidence.OpCharge, evidence.ReplyNone, evidence.Answer{})
			s.record(unknown, "due", true)
		}), "INV-07", "ended unknown"},
		{"after a takeover", chargedAgain(func(*story) {}), "INV-07", "never got a result"},
		{"after a timeout taken for transient", chargedAgain(func(s *story) {
			s.call(evidence.OpCharge, evidence.ReplyNone, evidence.Answer{})
			s.record("transient", "due", true)
		}), "INV-07", "got no answer (none)"},
		{"after a reset taken for transient", chargedAgain(func(s *story) {
			s.call(evidence.OpCharge, evidence.ReplyReset, evidence.Answer{})
			s.record("transient", "due", true)
		}), "INV-07", "got no answer (reset)"},
		{"after a vague answer", chargedAgain(func(s *story) {
			s.call(evidence.OpCharge, evidence.ReplyAnswered, evidence.Answer{Code: "busy"})
			s.record("transient", "due", true)
		}), "INV-07", "without a definite outcome"},
		{"after a success of another amount", chargedAgain(func(s *story) {
			answer := charged()
			answer.Amount++
			s.call(evidence.OpCharge, evidence.ReplyAnswered, answer)
			s.record("transient", "due", true)
		}), "INV-07", "success of something else"},
		{"two requests of one attempt", breaking(shippedStory, func(r *evidence.Run) {
			c := r.Calls[1]
			c.Seq = 99
			r.Calls = append(r.Calls, c)
		}), "INV-07", "charge call 99 is request 2 of step 2 attempt 1"},
		{"request without attempt", breaking(shippedStory, func(r *evidence.Run) {
			r.Calls[1].Attempt = 2
		}), "INV-07", "without an attempt row"},
		{"request before its attempt", breaking(shippedStory, func(r *evidence.Run) {
			r.Calls[1].At = start
		}), "INV-07", "before its attempt was taken"},
		{"sent, but recorded as not sent", breaking(shippedStory, func(r *evidence.Run) {
			r.Attempts[1].Outcome = notSent
		}), "INV-07", "recorded as not sent"},
	})
}

// What the process allows: a charge is repeated after a word that nothing was processed, after a
// failed dial, and after it was handed back.
func TestChargeMayBeRepeated(t *testing.T) {
	for name, first := range map[string]func(*story){
		"not processed": func(s *story) {
			s.call(evidence.OpCharge, evidence.ReplyAnswered, said(notProcessed))
			s.record("transient", "due", true)
		},
		"dial failed": func(s *story) {
			s.call(evidence.OpCharge, evidence.ReplyDialFailed, evidence.Answer{})
			s.record("transient", "due", false)
		},
		"handed back": func(s *story) { s.record(notSent, "due", false) },
	} {
		run := chargedAgain(first)()
		for _, f := range Judge(run, All()) {
			for _, v := range f.Result.Violations {
				t.Errorf("%s: %s: %s", name, f.ID, v.Message)
			}
		}
	}
}

// Which replies to a charge are definite, one by one.
func TestVagueReplies(t *testing.T) {
	run := shippedStory()
	v, _ := run.View(orderID)
	for name, c := range map[string]struct {
		call evidence.Call
		want bool
	}{
		"dial failed":                            {evidence.Call{Reply: evidence.ReplyDialFailed}, false},
		"timeout":                                {evidence.Call{Reply: evidence.ReplyNone}, true},
		"reset":                                  {evidence.Call{Reply: evidence.ReplyReset}, true},
		"refused":                                {answered(402, said(refused)), false},
		"untouched":                              {answered(503, said(notProcessed)), false},
		"charged":                                {answered(201, charged()), false},
		"charged, it says, with an error status": {answered(500, charged()), true},
		"other order": {answered(201, evidence.Answer{Outcome: succeeded, Order: "order-2",
			Amount: total, Currency: "RUB"}), true},
		"other currency": {answered(201, evidence.Answer{Outcome: succeeded, Order: orderID,
			Amount: total, Currency: "EUR"}), true},
		"pending": {answered(202, said("pending")), true},
		"empty":   {answered(201, evidence.Answer{}), true},
	} {
		if why := vague(v, c.call); (why != "") != c.want {
			t.Errorf("%s: vague says %q", name, why)
		}
	}
}

func answered(status int, answer evidence.Answer) evidence.Call {
	return evidence.Call{Reply: evidence.ReplyAnswered, Status: status, Answer: answer}
}

// An attempt that was handed back may be followed at once, and does not count towards five; nor
// do several status queries break the rule of one request.
func TestHandedBackAttemptsDoNotCount(t *testing.T) {
	s := newStory()
	step, attempt := s.take("w1")
	s.move("reserve_started", reserving, step, attempt)
	for range 3 {
		s.record(notSent, "due", false)
		_, attempt = s.take("w2")
	}
	for _, delay := range retryDelays {
		s.record("transient", "due", false)
		s.pass(delay)
		s.take("w1")
		s.record(notSent, "due", false)
		_, attempt = s.take("w2")
	}
	s.hold(step, attempt)
	s.payVaguely(true)
	step = s.step(stepReconcile)
	_, attempt = s.take("w1")
	s.call(evidence.OpStatusCharge, evidence.ReplyAnswered, said("pending"))
	s.call(evidence.OpStatusCharge, evidence.ReplyAnswered, charged())
	s.record(succeeded, succeeded, true)
	s.move("reconciled_paid", paid, step, attempt)
	s.step(stepShip)
	s.ship()
	for _, f := range Judge(s.done(), All()) {
		for _, v := range f.Result.Violations {
			t.Errorf("%s: %s", f.ID, v.Message)
		}
	}
}

// An attempt may ask how its own request fared.
func TestStatusQueryBesideRequest(t *testing.T) {
	run := shippedStory()
	ask := run.Calls[2]
	ask.Seq, ask.Method, ask.Operation, ask.Key = 99, "GET", evidence.OpStatusShip, ""
	run.Calls = append(run.Calls, ask)
	if r := noBlindCharge.Check(run); !r.Held() {
		t.Errorf("got %+v, want no violation", r)
	}
}

// Changes that name no step, and changes that take and sweep make, are no results.
func TestOnlyResultsAreFenced(t *testing.T) {
	run := takenOverStory()
	run.History = append(run.History,
		evidence.Change{Order: orderID, Version: 90, Event: "voided", At: run.Horizon},
		evidence.Change{Order: orderID, Version: 91, Event: "voided", At: run.Horizon},
		evidence.Change{Order: orderID, Version: 92, Event: "cancelled", At: run.Horizon,
			Step: 1, Attempt: 1})
	if r := fencedResults.Check(run); !r.Held() {
		t.Errorf("got %+v, want no violation", r)
	}
}

// second returns the second attempt of the first step.
func second(r *evidence.Run) *evidence.Attempt { return &r.Attempts[1] }

func TestFencedResultsNotices(t *testing.T) {
	expectRed(t, []broken{
		{"stale result accepted", breaking(takenOverStory, func(r *evidence.Run) {
			r.Attempts[0].Outcome, r.Attempts[0].RecordedAt = succeeded, r.Horizon
		}), "INV-08", "after attempt 2 (generation 2, w2) was taken"},
		{"stale result at the very take", breaking(takenOverStory, func(r *evidence.Run) {
			r.Attempts[0].Outcome, r.Attempts[0].RecordedAt = succeeded, second(r).TakenAt
		}), "INV-08", "after attempt 2"},
		{"result after the step ended", breaking(shippedStory, func(r *evidence.Run) {
			r.Attempts[1].RecordedAt = r.Horizon
		}), "INV-08", "but the step had ended succeeded"},
		{"stale result moved the order", breaking(takenOverStory, func(r *evidence.Run) {
			r.History[2].Attempt = 1
		}), "INV-08", "is the result of step 1 attempt 1, but attempt 2 had been taken"},
		{"two results of one attempt", breaking(shippedStory, func(r *evidence.Run) {
			c := r.History[2]
			c.Version, c.Event = 99, "reserve_refused"
			r.History = append(r.History, c)
		}), "INV-08", "has two results"},
		{"generation not raised", breaking(takenOverStory, func(r *evidence.Run) {
			second(r).Generation = 1
		}), "INV-08", "was taken with generation 1"},
		{"generation of the step went back", breaking(takenOverStory, func(r *evidence.Run) {
			r.Steps[0].Generation = 1
		}), "INV-08", "has generation 1, but attempt 2"},
		{"six attempts", breaking(stuckStory, func(r *evidence.Run) {
			a := r.Attempts[4]
			a.No, a.Generation, a.TakenAt = 6, 6, r.Horizon
			r.Attempts, r.Steps[0].Generation = append(r.Attempts, a), 6
		}), "INV-08", "has 6 attempts"},
		{"lease taken over early", breaking(takenOverStory, func(r *evidence.Run) {
			second(r).TakenAt = start.Add(leaseTime)
		}), "INV-08", "could not lose its lease before"},
		{"later query too early", breaking(unresolvedStory, func(r *evidence.Run) {
			r.Steps[2].Series = 2
		}), "INV-08", "1m0s must pass"},
	})
	for n := range retryDelays {
		expectRed(t, []broken{{"retry too early", breaking(stuckStory, func(r *evidence.Run) {
			r.Attempts[n+1].TakenAt = r.Attempts[n+1].TakenAt.Add(-time.Nanosecond)
		}), "INV-08", retryDelays[n].String() + " must pass"}})
	}
}

// A run with shorter leases is judged by its own: what is early for 30 s may be late for 4 s.
func TestTakeoverIsJudgedByTheLeaseOfTheRun(t *testing.T) {
	const lease = 4 * time.Second
	early := breaking(takenOverStory, func(r *evidence.Run) {
		r.Lease, second(r).TakenAt = lease, start.Add(lease)
	})
	expectRed(t, []broken{{"short lease taken over early", early, "INV-08",
		"could not lose its lease before"}})
	run := takenOverStory()
	run.Lease, second(run).TakenAt = lease, start.Add(lease+time.Second)
	if r := fencedResults.Check(run); !r.Held() {
		t.Errorf("got %+v, want no violation", r)
	}
}

func TestWorkWithinLeaseNotices(t *testing.T) {
	expectRed(t, []broken{
		{"call of a holder that lost its step", breaking(takenOverStory, func(r *evidence.Run) {
			r.Calls[0].At = r.Horizon
		}), "INV-09", "after attempt 2 was taken by w2"},
		{"too many steps in work", breaking(shippedStory, func(r *evidence.Run) {
			for i := range inWorkMax + 1 {
				r.Attempts = append(r.Attempts, evidence.Attempt{Order: "other", Step: i + 1,
					No: 1, Executor: "w9", TakenAt: start, Outcome: succeeded,
					RecordedAt: start.Add(time.Second)})
			}
		}), "INV-09", "executor w9 had 21 steps in work"},
	})
}

// Whoever died holding steps is not working on them.
func TestDeadHoldersDoNotWork(t *testing.T) {
	run := shippedStory()
	for i := range inWorkMax + 1 {
		run.Attempts = append(run.Attempts, evidence.Attempt{Order: "other", Step: i + 1, No: 1,
			Executor: "w9", TakenAt: start})
	}
	if r := workWithinLease.Check(run); !r.Held() {
		t.Errorf("got %+v, want no violation", r)
	}
}
