package invariant

import (
	"testing"
	"time"

	"ordeal/scenarios/evidence"
)

// quiet removes all attention.
func quiet(r *evidence.Run) { r.Attention = nil }

func TestComesToRestNotices(t *testing.T) {
	expectRed(t, []broken{
		{"unknown payment, nobody told", breaking(unresolvedStory, quiet), "INV-15", "payment_unknown"},
		{"failed release, nobody told", breaking(unreleasedStory, quiet), "INV-15", "release_failed"},
		{"stuck, nobody told", breaking(stuckStory, quiet), "INV-15", "nobody is told"},
		{"attention that names another action", breaking(unresolvedStory, func(r *evidence.Run) {
			r.Attention[0].Reason = "retry_exhausted"
		}), "INV-15", "nobody is told"},
		{"still on its way", func() *evidence.Run {
			s := newStory()
			s.reserve()
			return s.done()
		}, "INV-15", "at rest in reserved"},
		{"cancellation waits for ever", breaking(stuckStory, func(r *evidence.Run) {
			r.Orders[0].CancelStatus = "waiting"
		}), "INV-15", "still waits"},
		{"final with open work", breaking(shippedStory, func(r *evidence.Run) {
			r.Steps[3].Status = "due"
		}), "INV-15", "steps are still open: commit due"},
		{"expired, but still paying", func() *evidence.Run {
			s := newStory()
			s.reserve()
			s.pay()
			s.record("transient", "exhausted", false)
			s.attend("retry_exhausted")
			return s.done()
		}, "INV-15", "although the reservation expired"},
	})
}

// Before rest nothing is judged, a sweep may take its time, and a closed order is final.
func TestComesToRestIsPatient(t *testing.T) {
	under := newStory()
	under.reserve()
	if r := comesToRest.Check(&under.run); r.Checked != 0 || !r.Held() {
		t.Errorf("under way: got %+v, want nothing checked", r)
	}
	s := newStory()
	s.reserve()
	s.pay()
	s.record("transient", "exhausted", false)
	s.attend("retry_exhausted")
	s.run.AtRest, s.run.Horizon = true, s.order().Deadline.Add(sweepTime)
	if r := comesToRest.Check(&s.run); !r.Held() {
		t.Errorf("not overdue: got %+v, want no violation", r)
	}
	run := unreleasedStory()
	run.Attention, run.Orders[0].ClosedAt = nil, run.Horizon
	if r := comesToRest.Check(run); r.Checked != 1 || !r.Held() {
		t.Errorf("closed: got %+v, want one check and no violation", r)
	}
}

func TestNothingForgottenNotices(t *testing.T) {
	expectRed(t, []broken{
		{"no step and nobody told", breaking(stuckStory, quiet), "INV-16", "without an open step"},
		{"due pay step of a releasing order", breaking(refusedStory, func(r *evidence.Run) {
			r.Orders[0].State = releasing
			r.Steps[1].Status = "due"
		}), "INV-16", "nobody may take it"},
		{"running without lease", breaking(shippedStory, func(r *evidence.Run) {
			r.Steps[3].Status = "running"
		}), "INV-16", "running without a lease"},
		{"due at no time", breaking(shippedStory, func(r *evidence.Run) {
			r.Steps[3].Status, r.Steps[3].DueAt = "due", time.Time{}
		}), "INV-16", "due at no time"},
		{"commit given up in silence", breaking(shippedStory, func(r *evidence.Run) {
			r.Steps[3].Status = "exhausted"
		}), "INV-16", "nobody is told"},
		{"commit never created", breaking(shippedStory, func(r *evidence.Run) {
			r.Steps = r.Steps[:3]
		}), "INV-16", "commit of stock did not succeed"},
	})
}

// A commit of stock that was given up is in a person's hands.
func TestFailedCommitMayBeFlagged(t *testing.T) {
	run := shippedStory()
	run.Steps[3].Status = "exhausted"
	run.Attention = append(run.Attention, evidence.Attention{
		Order: orderID, Reason: "stock_commit_failed", Step: 4,
	})
	for _, i := range []Invariant{comesToRest, nothingForgotten} {
		if r := i.Check(run); !r.Held() {
			t.Errorf("%s: got %+v, want no violation", i.ID, r)
		}
	}
}

func TestStockAddsNotices(t *testing.T) {
	line := func(spoil func(*evidence.StockLine)) func(*evidence.Run) {
		return func(r *evidence.Run) { spoil(&r.Stock[0]) }
	}
	expectRed(t, []broken{
		{"pieces lost", breaking(shippedStory, line(func(l *evidence.StockLine) { l.Available-- })),
			"INV-11", "is not supplied 10"},
		{"oversold", breaking(shippedStory, line(func(l *evidence.StockLine) {
			l.Available, l.Supplied = -1, 2
		})), "INV-11", "is negative"},
		{"held for nobody", breaking(shippedStory, line(func(l *evidence.StockLine) {
			l.Available, l.Reserved = l.Available-1, 1
		})), "INV-11", "reserved 1 and shipped 3, but"},
		{"failed order holds", breaking(refusedStory, func(r *evidence.Run) {
			r.Warehouse = r.Warehouse[:1]
		}), "INV-11", "the warehouse has order-1-reserve-1 held"},
		{"failed order with a pending reserve", breaking(refusedStory, func(r *evidence.Run) {
			r.Warehouse[len(r.Warehouse)-1].After = keyPending
		}), "INV-11", "the warehouse has order-1-reserve-1 pending"},
	})
}

func TestOneAnswerPerKeyNotices(t *testing.T) {
	repeat := func(spoil func(*evidence.Exchange)) func(*evidence.Run) {
		return func(r *evidence.Run) { spoil(&r.Client[1]) }
	}
	expectRed(t, []broken{
		{"other answer", breaking(shippedStory, repeat(func(e *evidence.Exchange) {
			e.AnswerDigest = "else"
		})), "INV-13", "(body else)"},
		{"other status", breaking(shippedStory, repeat(func(e *evidence.Exchange) {
			e.Status = 200
		})), "INV-13", "was answered 200"},
		{"other order", breaking(shippedStory, repeat(func(e *evidence.Exchange) {
			e.Shown.Order = "order-2"
		})), "INV-13", "was answered with order order-2"},
		{"other body accepted", breaking(shippedStory, repeat(func(e *evidence.Exchange) {
			e.Fingerprint = "else"
		})), "INV-13", "instead of a conflict"},
		{"accepted and lost", breaking(shippedStory, func(r *evidence.Run) {
			r.Orders[0].ID = "other"
		}), "INV-13", "which does not exist"},
		{"order of somebody else", breaking(shippedStory, func(r *evidence.Run) {
			r.Orders[0].Customer = "bob"
		}), "INV-13", "was answered with an order of bob"},
		{"two orders for one key", breaking(shippedStory, func(r *evidence.Run) {
			o := r.Orders[0]
			o.ID = "order-2"
			r.Orders = append(r.Orders, o)
		}), "INV-13", "but has more orders"},
	})
}

// A conflict, a refusal for load and a lost answer are no answers of the key; what others read is
// nobody's create.
func TestRepeatsMayFail(t *testing.T) {
	run := shippedStory()
	for i, status := range []int{0, 422, 409, 429, 503} {
		e := run.Client[0]
		e.Seq, e.Status, e.Unknown, e.Shown = 50+i, status, status == 0, evidence.Shown{}
		e.Fingerprint, e.AnswerDigest, e.Code = "else", "else", "idempotency_key_reused"
		run.Client = append(run.Client, e)
	}
	read := run.Client[0]
	read.Seq, read.Client, read.Route, read.Key = 60, "op", evidence.RouteRead, ""
	run.Client = append(run.Client, read)
	if r := oneAnswerPerKey.Check(run); !r.Held() {
		t.Errorf("got %+v, want no violation", r)
	}
}

// What tells of an order without a row is judged, not stumbled over.
func TestOrdersWithoutRow(t *testing.T) {
	run := voidedStory()
	run.Orders, run.Stock = nil, nil
	for _, f := range Judge(run, All()) {
		if f.ID == "INV-04" && f.Result.Held() {
			t.Error("INV-04 held without an order")
		}
	}
}

// Violations name the order that they are about.
func TestViolationsNameTheirOrder(t *testing.T) {
	run := shippedStory()
	run.Client[1].AnswerDigest = "else"
	cancel := accepted(202, evidence.Shown{})
	other := cancel
	other.Seq, other.AnswerDigest = 91, "else"
	run.Client = append(run.Client, cancel, other)
	result := oneAnswerPerKey.Check(run)
	if len(result.Violations) != 2 {
		t.Fatalf("got %+v, want two violations", result)
	}
	for _, v := range result.Violations {
		if v.Order != orderID {
			t.Errorf("order %q: %s", v.Order, v.Message)
		}
	}
}

// An invariant that had nothing to check must say so.
func TestNothingToCheck(t *testing.T) {
	run := untouchedStory()
	for _, id := range []string{"INV-01", "INV-03", "INV-05", "INV-06", "INV-07"} {
		i, _ := Lookup(id)
		if r := i.Check(run); r.Checked != 0 {
			t.Errorf("%s checked %d things in an order that was cancelled at once", id, r.Checked)
		}
	}
}
