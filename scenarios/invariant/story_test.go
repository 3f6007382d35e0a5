package invariant

import (
	"strconv"
	"time"

	"ordeal/scenarios/evidence"
)

// A story builds the evidence of one order as a flawless service would leave it, step by step.
// Tests take a story and break one thing.
type story struct {
	run evidence.Run
	now time.Time
	// seq numbers the entries of the ledgers.
	seq int
}

const (
	orderID  = "order-1"
	customer = "alice"
	total    = int64(1500)
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// newStory begins with an accepted create.
func newStory() *story {
	s := &story{now: start}
	s.run.Orders = []evidence.Order{{
		ID:             orderID,
		Customer:       customer,
		ProcessVersion: 1,
		Items:          []evidence.Item{{SKU: "tea", Quantity: 3, UnitPrice: 500}},
		Total:          total,
		Currency:       "RUB",
		Compensation:   "none",
		CreatedAt:      s.now,
		UpdatedAt:      s.now,
	}}
	s.run.Stock = []evidence.StockLine{{SKU: "tea", Supplied: 10, Available: 10}}
	s.move("order_created", created, 0, 0)
	s.step(stepReserve)
	s.exchange(evidence.RouteCreate, "", "create-1", 201)
	s.exchange(evidence.RouteCreate, "", "create-1", 201)
	return s
}

func (s *story) pass(d time.Duration) { s.now = s.now.Add(d) }

func (s *story) order() *evidence.Order { return &s.run.Orders[0] }

// move is a transition.
func (s *story) move(event, to string, step, attempt int) {
	o := s.order()
	s.run.History = append(s.run.History, evidence.Change{
		Order: orderID, Version: o.Version + 1, From: o.State, To: to, Event: event,
		Step: step, Attempt: attempt, At: s.now,
	})
	s.run.Outbox = append(s.run.Outbox, evidence.Event{
		Order: orderID, Sequence: o.Version + 1, EventID: "e-" + strconv.Itoa(o.Version+1),
		Type: "order." + to, TraceID: "t-1", CreatedAt: s.now,
	})
	o.State, o.Version, o.UpdatedAt = to, o.Version+1, s.now
	switch to {
	case releasing:
		s.audit(auditStarted, 0, 0)
		o.Compensation = "pending"
	case releaseFailed:
		s.audit(auditIncomplete, step, attempt)
		o.Compensation = "incomplete"
	}
}

func (s *story) audit(action string, step, attempt int) {
	s.run.Audit = append(s.run.Audit, evidence.Audit{
		Order: orderID, Key: action + strconv.Itoa(step) + "." + strconv.Itoa(attempt), At: s.now,
		Action: action, Step: step, Attempt: attempt,
	})
}

// step adds a due step and returns its number.
func (s *story) step(kind string) int {
	key := orderID + "-" + kind + "-1"
	if kind == stepReconcile {
		key = ""
	}
	s.run.Steps = append(s.run.Steps, evidence.Step{
		Order: orderID, No: len(s.run.Steps) + 1, Kind: kind, Status: "due", Sequence: 1,
		Series: 1, DueAt: s.now, Key: key, CreatedAt: s.now,
	})
	return len(s.run.Steps)
}

// take begins an attempt of the last step.
func (s *story) take(executor string) (step, attempt int) {
	st := &s.run.Steps[len(s.run.Steps)-1]
	st.Status, st.LeaseOwner, st.LeaseExpiresAt = "running", executor, s.now.Add(leaseTime)
	st.Generation++
	st.Taken++
	s.run.Attempts = append(s.run.Attempts, evidence.Attempt{
		Order: orderID, Step: st.No, No: st.Taken, Generation: st.Generation,
		Executor: executor, TakenAt: s.now,
	})
	if st.Kind == stepRelease {
		s.audit(auditAttempt, st.No, st.Taken)
	}
	return st.No, st.Taken
}

// record ends the last attempt, and its step unless the status is due.
func (s *story) record(outcome, status string, sent bool) {
	a := &s.run.Attempts[len(s.run.Attempts)-1]
	a.RecordedAt, a.Outcome, a.Sent = s.now, outcome, sent
	s.end(a.Step, status)
}

func (s *story) end(step int, status string) {
	st := &s.run.Steps[step-1]
	st.Status, st.LeaseOwner, st.LeaseExpiresAt = status, "", time.Time{}
	if status != "due" {
		st.EndedAt = s.now
	}
}

// call adds the request of the last attempt and what came back.
func (s *story) call(operation string, reply evidence.Reply, answer evidence.Answer) {
	a := s.run.Attempts[len(s.run.Attempts)-1]
	method, key, status := "POST", orderID+"-"+operation, 201
	if operation == evidence.OpStatusCharge {
		method, key, status = "GET", "", 200
	}
	if operation == evidence.OpCharge {
		key = orderID + "-pay-1"
	}
	if answer.Outcome == refused {
		status = 409
	}
	if operation == evidence.OpStatusCharge || operation == evidence.OpVoid {
		s.asked(operation)
	}
	s.run.Calls = append(s.run.Calls, evidence.Call{
		Seq: len(s.run.Calls) + 1, Process: a.Executor, Method: method, Operation: operation,
		Key: key, Order: orderID, Step: a.Step, Attempt: a.No, At: s.now,
		Reply: reply, Status: status, Answer: answer,
	})
}

// asked puts what only looks at the charge, or closes its key, into the payment ledger.
func (s *story) asked(operation string) {
	key := orderID + "-" + operation
	if operation == evidence.OpStatusCharge {
		key = ""
	}
	s.seq++
	s.run.Payment = append(s.run.Payment, evidence.Entry{
		Seq: s.seq, At: s.now, Origin: "call", Operation: operation, Key: key,
		TargetKey: orderID + "-pay-1", Order: orderID, Effect: operation == evidence.OpVoid,
	})
}

// charge puts a charge of the order into the payment ledger.
func (s *story) charge(effect bool) {
	s.seq++
	s.run.Payment = append(s.run.Payment, evidence.Entry{
		Seq: s.seq, At: s.now, Origin: "call", Operation: evidence.OpCharge,
		Key: orderID + "-pay-1", Order: orderID, Amount: total, Currency: "RUB",
		Reference: "ch_1", Effect: effect,
	})
	if effect {
		s.order().PaymentRef = "ch_1"
	}
}

// warehouse puts an entry about the order's reservation into the warehouse ledger.
func (s *story) warehouse(operation, before, after string) {
	a := s.run.Attempts[len(s.run.Attempts)-1]
	s.seq++
	e := evidence.Entry{
		Seq: s.seq, At: s.now, Origin: "call", Operation: operation, Key: orderID + "-reserve-1",
		Order: orderID, Step: a.Step, Attempt: a.No, Before: before, After: after,
		Outcome: succeeded, Effect: before != after,
	}
	if operation != evidence.OpReserve {
		e.Key, e.TargetKey = orderID+"-"+operation+"-1", orderID+"-reserve-1"
	}
	s.run.Warehouse = append(s.run.Warehouse, e)
	s.stock(before, -3)
	s.stock(after, 3)
}

func (s *story) stock(state string, pieces int64) {
	line := &s.run.Stock[0]
	switch state {
	case keyHeld:
		line.Reserved += pieces
	case keyCommitted:
		line.Shipped += pieces
	default:
		return
	}
	line.Available -= pieces
}

// exchange adds a request of the customer and its answer.
func (s *story) exchange(route, order, key string, status int) {
	s.run.Client = append(s.run.Client, evidence.Exchange{
		Seq: len(s.run.Client) + 1, Client: customer, Route: route, Order: order, Key: key,
		Fingerprint: "f-" + key, SentAt: s.now, AnsweredAt: s.now, Status: status,
		AnswerDigest: "d-" + key, Shown: evidence.Shown{
			Order: orderID, State: s.order().State, Version: s.order().Version,
		},
	})
}

func (s *story) attend(reason string) {
	s.run.Attention = append(s.run.Attention, evidence.Attention{
		Order: orderID, Reason: reason, Since: s.now,
	})
}

// charged is a definite success of the order's charge.
func charged() evidence.Answer {
	return evidence.Answer{
		Outcome: succeeded, Reference: "ch_1", Order: orderID, Amount: total, Currency: "RUB",
	}
}

func said(outcome string) evidence.Answer {
	return evidence.Answer{Outcome: outcome, Order: orderID}
}

// reserve holds the stock.
func (s *story) reserve() {
	step, attempt := s.take("w1")
	s.move("reserve_started", reserving, step, attempt)
	s.hold(step, attempt)
}

// hold is a reserve attempt that succeeds, once it was taken.
func (s *story) hold(step, attempt int) {
	s.pass(5 * time.Millisecond)
	s.call(evidence.OpReserve, evidence.ReplyAnswered, said(succeeded))
	s.warehouse(evidence.OpReserve, "absent", keyHeld)
	s.pass(5 * time.Millisecond)
	s.record(succeeded, succeeded, true)
	s.order().Deadline = s.now.Add(15 * time.Minute)
	s.move("reserve_succeeded", reserved, step, attempt)
	s.step(stepPay)
	s.pass(time.Millisecond)
}

// pay takes the pay step and lets the given things happen to its request.
func (s *story) pay() (step, attempt int) {
	step, attempt = s.take("w2")
	s.move("pay_started", paying, step, attempt)
	s.pass(2 * time.Millisecond)
	return step, attempt
}

// payWell charges.
func (s *story) payWell() {
	step, attempt := s.pay()
	s.call(evidence.OpCharge, evidence.ReplyAnswered, charged())
	s.charge(true)
	s.pass(2 * time.Millisecond)
	s.record(succeeded, succeeded, true)
	s.move("pay_succeeded", paid, step, attempt)
	s.step(stepShip)
}

// payVaguely loses the answer of the charge.
func (s *story) payVaguely(effect bool) {
	step, attempt := s.pay()
	s.call(evidence.OpCharge, evidence.ReplyNone, evidence.Answer{})
	if effect {
		s.charge(true)
	}
	s.pass(3 * time.Second)
	s.record(unknown, unknown, true)
	s.move("pay_outcome_unknown", paymentUnknown, step, attempt)
}

// ship ships and commits.
func (s *story) ship() {
	step, attempt := s.take("w1")
	s.move("ship_started", shipping, step, attempt)
	s.call(evidence.OpShip, evidence.ReplyAnswered, said(succeeded))
	s.pass(time.Millisecond)
	s.record(succeeded, succeeded, true)
	s.move("ship_succeeded", shipped, step, attempt)
	s.step(stepCommit)
	s.take("w1")
	s.call(evidence.OpCommit, evidence.ReplyAnswered, said(succeeded))
	s.warehouse(evidence.OpCommit, keyHeld, keyCommitted)
	s.record(succeeded, succeeded, true)
}

// release gives the stock back, from the state before until the release's end.
func (s *story) release(before, end string) {
	s.step(stepRelease)
	step, attempt := s.take("w2")
	s.pass(time.Millisecond)
	s.call(evidence.OpRelease, evidence.ReplyAnswered, said(succeeded))
	s.warehouse(evidence.OpRelease, before, "released")
	s.pass(time.Millisecond)
	s.record(succeeded, succeeded, true)
	s.move("release_succeeded", end, step, attempt)
	s.audit(auditDone, step, attempt)
	s.order().Compensation = "done"
}

// cancel is a request of the customer to cancel, and what became of it.
func (s *story) cancel(status int, fate string) {
	s.order().CancelRequestedAt = s.now
	s.order().CancelStatus = fate
	s.exchange(evidence.RouteCancel, orderID, "cancel-1", status)
}

// done ends the story at rest.
func (s *story) done() *evidence.Run {
	s.pass(20 * time.Minute)
	s.run.AtRest, s.run.Horizon = true, s.now
	return &s.run
}
