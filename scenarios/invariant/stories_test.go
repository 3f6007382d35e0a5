package invariant

import (
	"time"

	"ordeal/scenarios/evidence"
)

// shippedStory: nothing goes wrong.
func shippedStory() *evidence.Run {
	s := newStory()
	s.reserve()
	s.payWell()
	s.ship()
	return s.done()
}

// refusedStory: the charge is refused, the stock released.
func refusedStory() *evidence.Run {
	s := newStory()
	s.reserve()
	step, attempt := s.pay()
	s.call(evidence.OpCharge, evidence.ReplyAnswered, said(refused))
	s.charge(false)
	s.record(refused, refused, true)
	s.move("pay_refused", releasing, step, attempt)
	s.release(keyHeld, paymentFailed)
	return s.done()
}

// reconciledStory: the charge's answer was lost, a status query finds it.
func reconciledStory() *evidence.Run {
	s := newStory()
	s.reserve()
	s.payVaguely(true)
	step := s.step(stepReconcile)
	_, attempt := s.take("w1")
	s.call(evidence.OpStatusCharge, evidence.ReplyAnswered, charged())
	s.record(succeeded, succeeded, true)
	s.move("reconciled_paid", paid, step, attempt)
	s.step(stepShip)
	s.ship()
	return s.done()
}

// takenOverStory: the executor of the first reserve attempt dies.
func takenOverStory() *evidence.Run {
	s := newStory()
	step, attempt := s.take("w1")
	s.move("reserve_started", reserving, step, attempt)
	s.call(evidence.OpReserve, evidence.ReplyNone, evidence.Answer{})
	s.pass(leaseTime + time.Second)
	step, attempt = s.take("w2")
	s.hold(step, attempt)
	s.payWell()
	s.ship()
	return s.done()
}

// cancelledStory: the customer cancels a reserved order.
func cancelledStory() *evidence.Run {
	s := newStory()
	s.reserve()
	s.end(2, "closed")
	s.move("cancelled", releasing, 0, 0)
	s.cancel(202, "done")
	s.release(keyHeld, cancelled)
	s.cancel(202, "done")
	return s.done()
}

// voidedStory: a cancellation waits for an unknown charge, whose key is voided.
func voidedStory() *evidence.Run {
	s := newStory()
	s.reserve()
	s.pass(time.Millisecond)
	s.cancel(202, "waiting")
	s.payVaguely(false)
	reconcile := s.step(stepReconcile)
	step := s.step(stepVoid)
	_, attempt := s.take("w2")
	s.call(evidence.OpVoid, evidence.ReplyAnswered, said(succeeded))
	s.record(succeeded, succeeded, true)
	s.end(reconcile, "closed")
	s.move("voided", releasing, step, attempt)
	s.order().CancelStatus = "done"
	s.release(keyHeld, cancelled)
	return s.done()
}

// keyClosedStory: an operator voids the key of an unknown charge; nobody had cancelled.
func keyClosedStory() *evidence.Run {
	s := newStory()
	s.reserve()
	s.payVaguely(false)
	step := s.step(stepVoid)
	_, attempt := s.take("w2")
	s.call(evidence.OpVoid, evidence.ReplyAnswered, said(succeeded))
	s.record(succeeded, succeeded, true)
	s.move("voided", releasing, step, attempt)
	s.release(keyHeld, paymentFailed)
	return s.done()
}

// unsentStory: the payment provider is out of reach, and the customer cancels meanwhile.
func unsentStory() *evidence.Run {
	s := newStory()
	s.reserve()
	s.pay()
	s.call(evidence.OpCharge, evidence.ReplyDialFailed, evidence.Answer{})
	s.record("transient", "due", false)
	s.pass(time.Second)
	s.take("w1")
	s.record(notSent, "closed", false)
	s.move("cancelled", releasing, 0, 0)
	s.cancel(202, "done")
	s.release(keyHeld, cancelled)
	return s.done()
}

// unresolvedStory: the charge never arrived, and no status query can prove it.
func unresolvedStory() *evidence.Run {
	s := newStory()
	s.reserve()
	s.payVaguely(false)
	s.step(stepReconcile)
	for i, delay := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second,
		8 * time.Second, 0} {
		s.take("w1")
		s.call(evidence.OpStatusCharge, evidence.ReplyAnswered, said("not_found"))
		status := "due"
		if i == 4 {
			status = "exhausted"
		}
		s.record("unresolved", status, true)
		s.pass(delay)
	}
	s.attend("payment_unresolved")
	return s.done()
}

// unreleasedStory: the warehouse refuses to release.
func unreleasedStory() *evidence.Run {
	s := newStory()
	s.reserve()
	s.end(2, "closed")
	s.move("reservation_expired", releasing, 0, 0)
	s.step(stepRelease)
	step, attempt := s.take("w1")
	s.call(evidence.OpRelease, evidence.ReplyAnswered, said(refused))
	s.record(refused, refused, true)
	s.move("release_refused", releaseFailed, step, attempt)
	s.attend("release_failed")
	return s.done()
}

// untouchedStory: cancelled before anything was held.
func untouchedStory() *evidence.Run {
	s := newStory()
	s.end(1, "closed")
	s.move("cancelled", cancelled, 0, 0)
	s.cancel(200, "done")
	return s.done()
}

// stuckStory: the warehouse is out of reach until the attempts are used up.
func stuckStory() *evidence.Run {
	s := newStory()
	step, attempt := s.take("w1")
	s.move("reserve_started", reserving, step, attempt)
	for _, delay := range retryDelays {
		s.call(evidence.OpReserve, evidence.ReplyDialFailed, evidence.Answer{})
		s.record("transient", "due", false)
		s.pass(delay)
		s.take("w2")
	}
	s.record("transient", "exhausted", false)
	s.attend("retry_exhausted")
	return s.done()
}

// stories are all flawless runs by name.
var stories = []struct {
	name string
	tell func() *evidence.Run
}{
	{"shipped", shippedStory},
	{"refused", refusedStory},
	{"refunded", refundedStory},
	{"reconciled", reconciledStory},
	{"taken over", takenOverStory},
	{"cancelled", cancelledStory},
	{"voided", voidedStory},
	{"key closed", keyClosedStory},
	{"unsent", unsentStory},
	{"unresolved", unresolvedStory},
	{"unreleased", unreleasedStory},
	{"untouched", untouchedStory},
	{"stuck", stuckStory},
}
