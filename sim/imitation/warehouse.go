package imitation

import "time"

// depot is the warehouse's state: reservations by key, over a shelf. It does no I/O; its
// caller holds the book's lock and has set the book's clock.
type depot struct {
	book         *book
	shelf        *shelf
	reservations map[string]*reservation
	safetyTTL    time.Duration
	expiries     []expiry // holds in the order in which they lapse
}

// reservation is what is known under one reservation key.
type reservation struct {
	state   State
	order   string
	code    string
	request request // the reserve itself; empty under a key that was only released
	plan    Behaviour
	heldAt  time.Time
}

// expiry is the moment at which the safety TTL of one hold runs out.
type expiry struct {
	key    string
	heldAt time.Time
}

func newDepot(b *book, s *shelf, ttl time.Duration) *depot {
	return &depot{
		book:         b,
		shelf:        s,
		reservations: map[string]*reservation{},
		safetyTTL:    ttl,
	}
}

// perform decides a request whose key has no definite answer yet.
func (d *depot) perform(req request, plan Behaviour) deed {
	switch req.op {
	case Release:
		return d.release(req, plan)
	case Commit:
		return d.commit(req, plan)
	}
	return d.reserve(req, plan)
}

// reserve holds all items, refuses, or waits, as planned and as the stock allows.
func (d *depot) reserve(req request, plan Behaviour) deed {
	r, known := d.reservations[req.key]
	if !known {
		r = &reservation{state: Absent, order: req.order, request: req, plan: plan}
		d.reservations[req.key] = r
	}
	if r.state == Closed || r.state == Released { // released and unremembered: it had lapsed
		return unmoved(refusal(codeKeyClosed), r.state)
	}
	return d.decide(r, plan)
}

// decide moves a reservation that is absent, pending or lapsed. A lapsed one holds again or
// is refused for ever.
func (d *depot) decide(r *reservation, plan Behaviour) deed {
	before := r.state
	switch {
	case plan.Kind == Pending && before != Lapsed:
		r.state = Waiting
		return deed{answer: answer{Outcome: Undecided}, before: before, after: Waiting}
	case plan.Kind == Refuse:
		r.code = plan.refusal(Reserve)
	case before == Waiting && r.plan.SettleRefused:
		r.code = r.plan.refusal(Reserve)
	default:
		r.code = d.shelf.hold(r.request.items)
	}
	if r.code != "" {
		r.state = Declined
		return deed{answer: refusal(r.code), before: before, after: Declined}
	}
	r.state, r.heldAt = Held, d.book.now
	d.expiries = append(d.expiries, expiry{key: r.request.key, heldAt: r.heldAt})
	return moved(r.reserved(), before, Held)
}

// reserved is the success of a reserve.
func (r *reservation) reserved() answer {
	return answer{
		Outcome:   Succeeded,
		Reference: reference("rs", r.request.key),
		OrderID:   r.order,
	}
}

// report is the answer to a status query.
func (r *reservation) report() answer {
	a := r.reserved()
	switch r.state {
	case Waiting:
		return answer{Outcome: Undecided}
	case Declined:
		return refusal(r.code)
	case Closed:
		return refusal(codeKeyClosed)
	case Lapsed:
		a.State = Released
	default:
		a.State = r.state
	}
	return a
}

// release gives held stock back, or closes a key that holds nothing.
func (d *depot) release(req request, plan Behaviour) deed {
	r, known := d.reservations[req.target]
	if !known {
		r = &reservation{state: Absent, order: req.order}
	}
	if r.order != req.order {
		return unmoved(fault(codeOrderMismatch), r.state)
	}
	if r.state == Committed {
		return unmoved(refusal(codeAlreadyCommitted), Committed)
	}
	switch plan.Kind {
	case Pending:
		return unmoved(answer{Outcome: Undecided}, r.state)
	case Refuse:
		return unmoved(refusal(plan.refusal(Release)), r.state)
	}
	d.reservations[req.target] = r
	return d.letGo(r)
}

// letGo ends a reservation that is not committed.
func (d *depot) letGo(r *reservation) deed {
	done := answer{Outcome: Succeeded, OrderID: r.order}
	before := r.state
	switch before {
	case Held:
		d.shelf.free(r.request.items)
		r.state = Released
	case Lapsed:
		r.state = Released
	case Absent, Waiting:
		r.state = Closed
	default:
		return unmoved(done, before)
	}
	return moved(done, before, r.state)
}

// commit lets held stock leave for good.
func (d *depot) commit(req request, plan Behaviour) deed {
	r, known := d.reservations[req.target]
	if !known {
		return unmoved(refusal(codeNotHeld), Absent)
	}
	if r.order != req.order {
		return unmoved(fault(codeOrderMismatch), r.state)
	}
	done := answer{Outcome: Succeeded, OrderID: r.order}
	switch r.state {
	case Committed:
		return unmoved(done, Committed)
	case Held:
		if plan.Kind == Pending {
			return unmoved(answer{Outcome: Undecided}, Held)
		}
		d.shelf.send(r.request.items)
		r.state = Committed
		return moved(done, Held, Committed)
	}
	return unmoved(refusal(codeNotHeld), r.state)
}

// look answers a status query; a plan other than Pending first settles what is pending.
func (d *depot) look(req request, plan Behaviour) deed {
	r, known := d.reservations[req.target]
	if !known {
		return unmoved(answer{Outcome: NotFound}, Absent)
	}
	if r.state == Waiting && plan.Kind != Pending {
		d.book.settle(r.request, d.decide(r, plan))
	}
	return unmoved(r.report(), r.state)
}

// advance lets every hold lapse whose safety TTL ran out before the book's now, dated at the
// moment when it did.
func (d *depot) advance() {
	for len(d.expiries) > 0 {
		next := d.expiries[0]
		due := next.heldAt.Add(d.safetyTTL)
		if due.After(d.book.now) {
			return
		}
		d.expiries = d.expiries[1:]
		d.lapse(next, due)
	}
}

// lapse frees one hold, unless it ended or was renewed meanwhile. The key forgets its old
// success: a reserve under it is decided anew.
func (d *depot) lapse(e expiry, due time.Time) {
	r := d.reservations[e.key]
	if r.state != Held || !r.heldAt.Equal(e.heldAt) {
		return
	}
	d.shelf.free(r.request.items)
	r.state = Lapsed
	delete(d.book.answers, e.key)
	d.book.append(Entry{
		At:        due,
		Origin:    FromLapse,
		Operation: Release,
		TargetKey: e.key,
		OrderID:   r.order,
		Reference: reference("rs", e.key),
		Outcome:   Succeeded,
		Code:      "safety_ttl",
		Before:    Held,
		After:     Lapsed,
		Effect:    true,
	})
}

// keys lists the states of all reservation keys.
func (d *depot) keys() []KeyState {
	all := make([]KeyState, 0, len(d.reservations))
	for key, r := range d.reservations {
		all = append(all, KeyState{
			Operation: Reserve, Key: key, OrderID: r.order, State: r.state,
		})
	}
	return all
}
