package imitation

// Refusal and fault codes of the providers' own rules.
const (
	codeKeyClosed     = "key_closed"
	codeKeyReused     = "key_reused"
	codeOrderMismatch = "order_mismatch"

	codeAlreadyCharged = "already_charged"
	codeChargeRefused  = "charge_refused"
	codeUnknownCharge  = "unknown_charge"
	codeExceedsCharge  = "exceeds_charge"
)

// bank is the payment provider's state: charges and refunds by key. It does no I/O and
// knows no clock; its caller holds the book's lock.
type bank struct {
	book    *book
	charges map[string]*charge
	refunds map[string]*refund
}

// charge is what is known under one charge key.
type charge struct {
	state    State
	order    string
	code     string  // of a refusal
	request  request // the charge itself; empty under a key that was only voided
	plan     Behaviour
	returned int64 // refunded, and promised to pending refunds
}

// refund is what is known under one refund key.
type refund struct {
	state   State
	code    string
	request request
	plan    Behaviour
}

func newBank(b *book) *bank {
	return &bank{book: b, charges: map[string]*charge{}, refunds: map[string]*refund{}}
}

// perform decides a request whose key has no definite answer yet.
func (b *bank) perform(req request, plan Behaviour) deed {
	switch req.op {
	case Void:
		return b.void(req, plan)
	case Refund:
		return b.refund(req, plan)
	}
	return b.charge(req, plan)
}

// charge takes the money, refuses, or waits, as planned; a voided key refuses.
func (b *bank) charge(req request, plan Behaviour) deed {
	c, known := b.charges[req.key]
	if !known {
		c = &charge{state: Absent, order: req.order, request: req, plan: plan}
		b.charges[req.key] = c
	}
	if c.state == Closed {
		return unmoved(refusal(codeKeyClosed), Closed)
	}
	return c.decide(plan)
}

// decide moves a charge that is absent or pending. The first plan is kept while it waits and
// tells how it ends, unless the later plan refuses.
func (c *charge) decide(plan Behaviour) deed {
	before := c.state
	switch {
	case plan.Kind == Pending:
		c.state = Waiting
		return deed{answer: answer{Outcome: Undecided}, before: before, after: Waiting}
	case plan.Kind == Refuse:
		c.state, c.code = Declined, plan.refusal(Charge)
	case before == Waiting && c.plan.SettleRefused:
		c.state, c.code = Declined, c.plan.refusal(Charge)
	default:
		c.state = Charged
		return moved(c.report(), before, Charged)
	}
	return deed{answer: refusal(c.code), before: before, after: Declined}
}

// settle makes a pending charge definite on behalf of another request.
func (b *bank) settle(c *charge, plan Behaviour) {
	if c.state != Waiting || plan.Kind == Pending {
		return
	}
	b.book.settle(c.request, c.decide(plan))
}

// report is the answer to a status query of a charge.
func (c *charge) report() answer {
	switch c.state {
	case Charged:
		return c.request.paid("ch")
	case Declined:
		return refusal(c.code)
	case Closed:
		return answer{Outcome: Voided, OrderID: c.order}
	}
	return answer{Outcome: Undecided}
}

// paid is the success of a charge or refund: an echo of what was asked.
func (r request) paid(prefix string) answer {
	return answer{
		Outcome:   Succeeded,
		Reference: reference(prefix, r.key),
		OrderID:   r.order,
		Amount:    r.amount,
		Currency:  r.currency,
	}
}

// void closes a charge key for ever, or says why it cannot.
func (b *bank) void(req request, plan Behaviour) deed {
	c, known := b.charges[req.target]
	if !known {
		c = &charge{state: Absent, order: req.order}
	}
	if c.order != req.order {
		return unmoved(fault(codeOrderMismatch), c.state)
	}
	if plan.Kind == Pending && (c.state == Absent || c.state == Waiting) {
		return unmoved(answer{Outcome: Undecided}, c.state)
	}
	if plan.Kind == Refuse {
		b.settle(c, Behaviour{Kind: Succeed})
	}
	switch c.state {
	case Charged:
		return unmoved(refusal(codeAlreadyCharged), Charged)
	case Declined:
		return unmoved(refusal(codeChargeRefused), Declined)
	case Closed:
		return unmoved(answer{Outcome: Succeeded, OrderID: c.order}, Closed)
	}
	before := c.state
	c.state = Closed
	b.charges[req.target] = c
	return moved(answer{Outcome: Succeeded, OrderID: c.order}, before, Closed)
}

// refund gives money of a charge back, never more than was taken.
func (b *bank) refund(req request, plan Behaviour) deed {
	r, known := b.refunds[req.key]
	if !known {
		r = &refund{state: Absent, request: req, plan: plan}
		b.refunds[req.key] = r
		if code := b.admit(req); code != "" {
			r.state, r.code = Declined, code
			return deed{answer: refusal(code), before: Absent, after: Declined}
		}
		b.charges[req.target].returned += req.amount
	}
	return b.decideRefund(r, plan)
}

// admit checks a refund against its charge.
func (b *bank) admit(req request) (code string) {
	c, known := b.charges[req.target]
	sameCharge := known && c.state == Charged && c.order == req.order &&
		c.request.currency == req.currency
	if !sameCharge {
		return codeUnknownCharge
	}
	if req.amount > c.request.amount-c.returned {
		return codeExceedsCharge
	}
	return ""
}

// decideRefund moves a refund that is absent or pending and already admitted: its amount is
// promised, and a refusal frees it again.
func (b *bank) decideRefund(r *refund, plan Behaviour) deed {
	before := r.state
	switch {
	case plan.Kind == Pending:
		r.state = Waiting
		return deed{answer: answer{Outcome: Undecided}, before: before, after: Waiting}
	case plan.Kind == Refuse:
		r.state, r.code = Declined, plan.refusal(Refund)
	case before == Waiting && r.plan.SettleRefused:
		r.state, r.code = Declined, r.plan.refusal(Refund)
	default:
		r.state = Returned
		return moved(r.report(), before, Returned)
	}
	b.charges[r.request.target].returned -= r.request.amount
	return deed{answer: refusal(r.code), before: before, after: Declined}
}

// report is the answer to a status query of a refund.
func (r *refund) report() answer {
	switch r.state {
	case Returned:
		return r.request.paid("rf")
	case Declined:
		return refusal(r.code)
	}
	return answer{Outcome: Undecided}
}

// look answers a status query; a plan other than Pending first settles what is pending.
func (b *bank) look(req request, plan Behaviour) deed {
	if req.op == StatusRefund {
		return b.lookRefund(req.target, plan)
	}
	c, known := b.charges[req.target]
	if !known {
		return unmoved(answer{Outcome: NotFound}, Absent)
	}
	b.settle(c, plan)
	return unmoved(c.report(), c.state)
}

func (b *bank) lookRefund(key string, plan Behaviour) deed {
	r, known := b.refunds[key]
	if !known {
		return unmoved(answer{Outcome: NotFound}, Absent)
	}
	if r.state == Waiting && plan.Kind != Pending {
		b.book.settle(r.request, b.decideRefund(r, plan))
	}
	return unmoved(r.report(), r.state)
}

// advance does nothing: no money moves by the mere passing of time.
func (b *bank) advance() {}

// keys lists the states of all charge and refund keys.
func (b *bank) keys() []KeyState {
	var all []KeyState
	for key, c := range b.charges {
		all = append(all, KeyState{
			Operation: Charge, Key: key, OrderID: c.order, State: c.state,
			Amount: c.request.amount, Returned: c.returned, Currency: c.request.currency,
		})
	}
	for key, r := range b.refunds {
		all = append(all, KeyState{
			Operation: Refund, Key: key, OrderID: r.request.order, State: r.state,
			Amount: r.request.amount, Currency: r.request.currency,
		})
	}
	return all
}
