package invariant

import (
	"slices"
	"testing"

	"ordeal/scenarios/evidence"
)

// without removes the audit rows of an action.
func without(action string) func(*evidence.Run) {
	return func(r *evidence.Run) {
		r.Audit = slices.DeleteFunc(r.Audit, func(a evidence.Audit) bool {
			return a.Action == action
		})
	}
}

func TestAuditedReleaseNotices(t *testing.T) {
	field := func(value string) func(*evidence.Run) {
		return func(r *evidence.Run) { r.Orders[0].Compensation = value }
	}
	expectRed(t, []broken{
		{"no start", breaking(refusedStory, without(auditStarted)),
			"INV-03", "no audit row says that a compensation started"},
		{"no attempt, seen in the ledger", breaking(refusedStory, without(auditAttempt)),
			"INV-03", "warehouse entry 3 released"},
		{"no attempt, seen in our rows", breaking(unreleasedStory, without(auditAttempt)),
			"INV-03", "release step 3 attempt 1"},
		{"no end", breaking(refusedStory, without(auditDone)),
			"INV-03", "compensation_done, audit has 0 rows"},
		{"no incomplete end", breaking(unreleasedStory, without(auditIncomplete)),
			"INV-03", "compensation_incomplete, audit has 0 rows"},
		{"end without compensation", breaking(shippedStory, func(r *evidence.Run) {
			r.Audit = append(r.Audit, evidence.Audit{Order: orderID, Action: auditDone})
			r.History = append(r.History, evidence.Change{Order: orderID, Version: 99,
				From: releasing, To: releaseFailed})
		}), "INV-03", "compensation_done, audit has 1 rows"},
		{"field says none", breaking(refusedStory, field("none")), "INV-03", `should be "done"`},
		{"field still pending", breaking(cancelledStory, field("pending")),
			"INV-03", `should be "done"`},
		{"field says done too early", breaking(unreleasedStory, field("done")),
			"INV-03", "never confirmed a release"},
		{"field done, nothing begun", breaking(shippedStory, field("done")),
			"INV-03", `should be "none"`},
		{"done, still held", breaking(refusedStory, func(r *evidence.Run) {
			r.Warehouse[len(r.Warehouse)-1].After = keyHeld
		}), "INV-03", "but the warehouse holds"},
		{"none, but held at the end", breaking(untouchedStory, func(r *evidence.Run) {
			r.Warehouse = append(r.Warehouse, evidence.Entry{Seq: 1, Order: orderID, Key: "k",
				Operation: evidence.OpReserve, After: keyHeld, Effect: true})
		}), "INV-03", "the warehouse holds k"},
		{"none, but released", breaking(shippedStory, func(r *evidence.Run) {
			r.Warehouse = append(r.Warehouse, evidence.Entry{Seq: 9, Order: orderID, Key: "k",
				Operation: evidence.OpRelease, TargetKey: "t", Effect: true})
		}), "INV-03", "compensation is none"},
	})
}

// Under way, the audit row of an attempt may be missing only as long as the attempt has no result.
func TestReleaseAttemptsUnderWay(t *testing.T) {
	run := unreleasedStory()
	without(auditAttempt)(run)
	run.AtRest = false
	if auditedRelease.Check(run).Held() {
		t.Error("a recorded release attempt without audit row went unnoticed")
	}
	s := newStory()
	s.reserve()
	s.end(2, "closed")
	s.move("reservation_expired", releasing, 0, 0)
	s.step(stepRelease)
	s.take("w1")
	without(auditAttempt)(&s.run)
	if r := auditedRelease.Check(&s.run); !r.Held() {
		t.Errorf("in flight: got %+v, want no violation", r)
	}
}

// What the warehouse frees by itself, and a release that changes nothing, is no compensation.
func TestOnlyOurReleasesAreCompensations(t *testing.T) {
	run := unresolvedStory()
	run.Warehouse = append(run.Warehouse,
		evidence.Entry{Seq: 98, Order: orderID, Operation: evidence.OpRelease,
			Origin: originLapse, TargetKey: "order-1-reserve-1", Effect: true},
		evidence.Entry{Seq: 99, Order: orderID, Operation: evidence.OpRelease, Origin: "call",
			TargetKey: "order-1-reserve-1", Step: 8, Attempt: 1})
	if r := auditedRelease.Check(run); !r.Held() {
		t.Errorf("got %+v, want no violation", r)
	}
}

func TestHistoryPathNotices(t *testing.T) {
	change := func(n int, spoil func(*evidence.Change)) func(*evidence.Run) {
		return func(r *evidence.Run) { spoil(&r.History[n]) }
	}
	expectRed(t, []broken{
		{"pair not in the table", breaking(shippedStory, change(2, func(c *evidence.Change) {
			c.Event = "reserve_refused"
		})), "INV-04", "is not in the table"},
		{"wrong start", breaking(shippedStory, change(0, func(c *evidence.Change) {
			c.To = reserved
		})), "INV-04", "is not in the table"},
		{"starts elsewhere", breaking(shippedStory, change(3, func(c *evidence.Change) {
			c.From = created
		})), "INV-04", `starts from "created", but the order was "reserved"`},
		{"version left out", breaking(shippedStory, change(3, func(c *evidence.Change) {
			c.Version = 40
		})), "INV-04", "expected"},
		{"change lost", breaking(shippedStory, func(r *evidence.Run) {
			r.History = slices.Delete(r.History, 2, 3)
		}), "INV-04", "has version 4, expected 3"},
		{"state without history", breaking(shippedStory, func(r *evidence.Run) {
			r.History = nil
		}), "INV-04", "without history"},
		{"row ahead of history", breaking(shippedStory, func(r *evidence.Run) {
			r.Orders[0].State = shippingFailed
		}), "INV-04", "but its history ends in shipped"},
		{"row of another version", breaking(shippedStory, func(r *evidence.Run) {
			r.Orders[0].Version++
		}), "INV-04", "but its history ends in shipped"},
		{"history of nobody", breaking(shippedStory, func(r *evidence.Run) {
			r.Orders = append(r.Orders[:0], evidence.Order{ID: "other", State: created,
				Version: 1})
		}), "INV-04", "tells of an order that has no row"},
		{"release ends elsewhere", breaking(refusedStory, func(r *evidence.Run) {
			r.History[len(r.History)-1].To = cancelled
			r.Orders[0].State = cancelled
		}), "INV-04", "it began as one that ends in payment_failed"},
		{"retried release ends elsewhere", func() *evidence.Run {
			s := newStory()
			s.reserve()
			s.move("reservation_expired", releasing, 0, 0)
			s.move("release_refused", releaseFailed, 0, 0)
			s.move("release_retried", releasing, 0, 0)
			s.release(keyHeld, cancelled)
			return s.done()
		}, "INV-04", "it began as one that ends in reservation_failed"},
		{"void of a cancelled order ends elsewhere", breaking(voidedStory, func(r *evidence.Run) {
			r.History[len(r.History)-1].To = paymentFailed
			r.Orders[0].State = paymentFailed
		}), "INV-04", "it began as one that ends in cancelled"},
	})
}
