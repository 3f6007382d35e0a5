package invariant

import (
	"testing"
	"time"

	"ordeal/scenarios/evidence"
)

// breaking tells a flawless story and then breaks it.
func breaking(tell func() *evidence.Run, spoil func(*evidence.Run)) func() *evidence.Run {
	return func() *evidence.Run {
		run := tell()
		spoil(run)
		return run
	}
}

func TestSingleChargeNotices(t *testing.T) {
	again := func(spoil func(*evidence.Entry)) func(*evidence.Run) {
		return func(r *evidence.Run) {
			e := r.Payment[0]
			e.Seq += 100
			spoil(&e)
			r.Payment = append(r.Payment, e)
		}
	}
	expectRed(t, []broken{
		{"charged twice under one key", breaking(shippedStory, again(func(*evidence.Entry) {})),
			"INV-01", "charged 2 times"},
		{"charged twice under two keys", breaking(shippedStory, again(func(e *evidence.Entry) {
			e.Key = "order-1-pay-2"
		})), "INV-01", "2 keys for one payment"},
		{"two keys, one charge", breaking(shippedStory, again(func(e *evidence.Entry) {
			e.Key, e.Effect = "order-1-pay-2", false
		})), "INV-01", "2 keys for one payment"},
		{"two keys in steps", breaking(shippedStory, func(r *evidence.Run) {
			s := r.Steps[1]
			s.No, s.Key = 9, "order-1-pay-2"
			r.Steps = append(r.Steps, s)
		}), "INV-01", "2 keys for one payment"},
		{"two keys in calls", breaking(shippedStory, func(r *evidence.Run) {
			for i := range r.Calls {
				if r.Calls[i].Operation == evidence.OpCharge {
					r.Calls[i].Key = "drawn"
				}
			}
		}), "INV-01", "2 keys for one payment"},
		{"one key charged two orders", breaking(shippedStory, again(func(e *evidence.Entry) {
			e.Order = "order-2"
		})), "INV-01", "had charged for order order-1"},
	})
}

func TestPaidMeansChargedNotices(t *testing.T) {
	expectRed(t, []broken{
		{"paid without charge", breaking(shippedStory, func(r *evidence.Run) {
			r.Payment = nil
		}), "INV-06", "has no charge of it"},
		{"charged after paid", breaking(shippedStory, func(r *evidence.Run) {
			r.Payment[0].At = r.Horizon
		}), "INV-06", "made the order paid"},
		{"other amount", breaking(shippedStory, func(r *evidence.Run) {
			r.Payment[0].Amount++
		}), "INV-06", "but the order's total is"},
		{"other currency", breaking(shippedStory, func(r *evidence.Run) {
			r.Payment[0].Currency = "EUR"
		}), "INV-06", "but the order's total is"},
		{"other reference", breaking(shippedStory, func(r *evidence.Run) {
			r.Orders[0].PaymentRef = "ch_2"
		}), "INV-06", `but the order stores "ch_2"`},
		{"charge of a failed order", breaking(refusedStory, func(r *evidence.Run) {
			r.Payment[0].Effect = true
		}), "INV-06", "but the order is payment_failed"},
		{"charge of nobody", breaking(shippedStory, func(r *evidence.Run) {
			r.Payment[0].Order = "order-2"
		}), "INV-06", "an order that does not exist"},
		{"still paying at rest", breaking(shippedStory, func(r *evidence.Run) {
			r.Orders[0].State = paying
		}), "INV-06", "but the order is paying"},
	})
}

// While a run is under way, a charge may be ahead of the order.
func TestPayingMayBeChargedUnderWay(t *testing.T) {
	s := newStory()
	s.reserve()
	s.pay()
	s.call(evidence.OpCharge, evidence.ReplyAnswered, charged())
	s.charge(true)
	if r := paidMeansCharged.Check(&s.run); !r.Held() || r.Checked == 0 {
		t.Errorf("got %+v, want one check and no violation", r)
	}
}

func TestNoReleaseBesideChargeNotices(t *testing.T) {
	expectRed(t, []broken{
		{"released during payment_unknown", func() *evidence.Run {
			s := newStory()
			s.reserve()
			s.payVaguely(false)
			s.move("voided", releasing, 0, 0)
			s.release(keyHeld, paymentFailed)
			return s.done()
		}, "INV-05", "had ended unknown"},
		{"released while a charge is in flight", func() *evidence.Run {
			s := newStory()
			s.reserve()
			s.pay()
			s.move("cancelled", releasing, 0, 0)
			s.release(keyHeld, cancelled)
			return s.done()
		}, "INV-05", "had no result"},
		{"released after a transient charge that was sent", func() *evidence.Run {
			s := newStory()
			s.reserve()
			s.pay()
			s.call(evidence.OpCharge, evidence.ReplyAnswered, said(notProcessed))
			s.record("transient", "due", true)
			s.move("cancelled", releasing, 0, 0)
			s.release(keyHeld, cancelled)
			return s.done()
		}, "INV-05", "no confirmed non-charge followed"},
		{"released on not_found", func() *evidence.Run {
			s := newStory()
			s.reserve()
			s.payVaguely(false)
			step := s.step(stepReconcile)
			_, attempt := s.take("w1")
			s.call(evidence.OpStatusCharge, evidence.ReplyAnswered, said("not_found"))
			s.record(refused, succeeded, true)
			s.move("reconciled_refused", releasing, step, attempt)
			s.release(keyHeld, paymentFailed)
			return s.done()
		}, "INV-05", "had ended unknown"},
		{"late charge after the release", breaking(voidedStory, func(r *evidence.Run) {
			r.Payment = append(r.Payment, evidence.Entry{
				Seq: 99, At: r.Horizon, Operation: evidence.OpCharge, Order: orderID,
				Key: "order-1-pay-1", Amount: total, Currency: "RUB", Effect: true,
			})
		}), "INV-05", "but payment entry 99 charged"},
		{"refused only after the release", breaking(refusedStory, func(r *evidence.Run) {
			r.Attempts[1].RecordedAt = r.Horizon
		}), "INV-05", "had no result"},
		{"said to be unsent, but it left", func() *evidence.Run {
			s := newStory()
			s.reserve()
			s.pay()
			s.call(evidence.OpCharge, evidence.ReplyNone, evidence.Answer{})
			s.record(notSent, "due", false)
			s.move("cancelled", releasing, 0, 0)
			s.release(keyHeld, cancelled)
			return s.done()
		}, "INV-05", "had ended not_sent"},
		{"charge call without attempt", func() *evidence.Run {
			s := newStory()
			s.reserve()
			s.call(evidence.OpCharge, evidence.ReplyNone, evidence.Answer{})
			s.run.Calls[1].Step = 7
			s.move("cancelled", releasing, 0, 0)
			s.release(keyHeld, cancelled)
			return s.done()
		}, "INV-05", "belongs to no attempt"},
		{"only asked for", breaking(unresolvedStory, func(r *evidence.Run) {
			r.Calls = append(r.Calls, evidence.Call{
				Seq: 99, Process: "w1", Method: "POST", Operation: evidence.OpRelease,
				Order: orderID, Step: 9, Attempt: 1, At: r.Horizon, Reply: evidence.ReplyNone,
			})
		}), "INV-05", "w1 asked for the release"},
		{"lapsed at the warehouse", breaking(unresolvedStory, func(r *evidence.Run) {
			r.Warehouse = append(r.Warehouse, evidence.Entry{
				Seq: 99, At: r.Horizon, Origin: originLapse, Operation: evidence.OpRelease,
				TargetKey: "order-1-reserve-1", Order: orderID, Effect: true,
			})
		}), "INV-05", "(lapse"},
	})
}

// A charge is resolved only by what the provider told and the service recorded, both in time.
func TestClaimsDoNotResolveCharges(t *testing.T) {
	expectRed(t, []broken{
		{"refused, it claims", breaking(refusedStory, reply(evidence.OpCharge, "pending")),
			"INV-05", "had ended refused"},
		{"refused, but not recorded", breaking(refusedStory, func(r *evidence.Run) {
			r.Attempts[1].Outcome = "transient"
		}), "INV-05", "had ended transient"},
		{"voided, it claims", breaking(voidedStory, reply(evidence.OpVoid, "pending")),
			"INV-05", "had ended unknown"},
		{"voided, but not recorded", breaking(voidedStory, func(r *evidence.Run) {
			r.Attempts[2].Outcome = unknown
		}), "INV-05", "had ended unknown"},
		{"found voided, it claims", foundVoided("not_found", voided), "INV-05", "had ended unknown"},
		{"found voided, but not recorded", foundVoided(voided, "unresolved"),
			"INV-05", "had ended unknown"},
		{"unsent only after the release", breaking(unsentStory, func(r *evidence.Run) {
			r.Attempts[1].RecordedAt = r.Horizon
		}), "INV-05", "had no result"},
		{"dial failed, but recorded as sent", breaking(unsentStory, func(r *evidence.Run) {
			r.Attempts[1].Sent = true
		}), "INV-05", "had ended transient"},
	})
}

// reply changes what the provider answered to an operation.
func reply(operation, outcome string) func(*evidence.Run) {
	return func(r *evidence.Run) {
		for i := range r.Calls {
			if r.Calls[i].Operation == operation {
				r.Calls[i].Answer = said(outcome)
			}
		}
	}
}

// foundVoided tells of a status query that was answered in one way and recorded in another.
func foundVoided(answer, recorded string) func() *evidence.Run {
	return func() *evidence.Run {
		s := newStory()
		s.reserve()
		s.payVaguely(false)
		step := s.step(stepReconcile)
		_, attempt := s.take("w1")
		s.call(evidence.OpStatusCharge, evidence.ReplyAnswered, said(answer))
		s.record(recorded, succeeded, true)
		s.move("voided", releasing, step, attempt)
		s.release(keyHeld, paymentFailed)
		return s.done()
	}
}

// A status query that finds the key refused or voided resolves the charge; a refused charge call
// that never left, and one whose attempt is known, are no danger of their own.
func TestConfirmedNonChargesAllowRelease(t *testing.T) {
	found := foundVoided(voided, voided)()
	foundRefused := foundVoided(refused, refused)()
	stray := unsentStory()
	stray.Calls = append(stray.Calls, evidence.Call{Seq: 99, Operation: evidence.OpCharge,
		Order: orderID, Step: 9, Attempt: 1, Reply: evidence.ReplyDialFailed})
	for name, run := range map[string]*evidence.Run{
		"found voided": found, "found refused": foundRefused, "stray call that never left": stray,
	} {
		r := noReleaseBesideCharge.Check(run)
		if !r.Held() || r.Checked == 0 {
			t.Errorf("%s: got %+v, want checks and no violation", name, r)
		}
	}
}

// The one release beside a charge that a person may decide.
func TestCloseMayReleaseStock(t *testing.T) {
	s := newStory()
	s.reserve()
	s.payWell()
	step, attempt := s.take("w1")
	s.move("ship_started", shipping, step, attempt)
	s.call(evidence.OpShip, evidence.ReplyAnswered, said(refused))
	s.record(refused, refused, true)
	s.move("ship_refused", shippingFailed, step, attempt)
	s.run.Client = append(s.run.Client, evidence.Exchange{
		Seq: 9, Client: "op", Route: evidence.RouteClose, Order: orderID, ReleaseStock: true,
		Status: 202, SentAt: s.now,
	})
	s.pass(time.Second)
	s.step(stepRelease)
	s.take("w1")
	s.call(evidence.OpRelease, evidence.ReplyAnswered, said(succeeded))
	s.warehouse(evidence.OpRelease, keyHeld, "released")
	if r := noReleaseBesideCharge.Check(&s.run); !r.Held() {
		t.Errorf("got %+v, want no violation", r)
	}
	s.run.Client[len(s.run.Client)-1].ReleaseStock = false
	spoiled := evidence.Run{
		Orders: s.run.Orders, Steps: s.run.Steps, Attempts: s.run.Attempts,
		Payment: s.run.Payment, Warehouse: s.run.Warehouse, Calls: s.run.Calls,
		Client: s.run.Client,
	}
	if r := noReleaseBesideCharge.Check(&spoiled); r.Held() {
		t.Error("a close without release_stock released the stock unnoticed")
	}
}
