package imitation

// Refusal code of the shipper: the parcel has left.
const codeAlreadyShipped = "already_shipped"

// carrier is the shipper's state: shipments by key. It does no I/O and knows no clock; its
// caller holds the book's lock.
type carrier struct {
	book      *book
	shipments map[string]*shipment
}

// shipment is what is known under one shipment key.
type shipment struct {
	state   State
	order   string
	code    string
	request request // the create itself; empty under a key that was only cancelled
	plan    Behaviour
}

func newCarrier(b *book) *carrier {
	return &carrier{book: b, shipments: map[string]*shipment{}}
}

// perform decides a request whose key has no definite answer yet.
func (c *carrier) perform(req request, plan Behaviour) deed {
	if req.op == CancelShip {
		return c.cancel(req, plan)
	}
	s, known := c.shipments[req.key]
	if !known {
		s = &shipment{state: Absent, order: req.order, request: req, plan: plan}
		c.shipments[req.key] = s
	}
	if s.state == Closed {
		return unmoved(refusal(codeKeyClosed), Closed)
	}
	return s.decide(plan)
}

// decide moves a shipment that is absent or pending.
func (s *shipment) decide(plan Behaviour) deed {
	before := s.state
	switch {
	case plan.Kind == Pending:
		s.state = Waiting
		return deed{answer: answer{Outcome: Undecided}, before: before, after: Waiting}
	case plan.Kind == Refuse:
		s.state, s.code = Declined, plan.refusal(Ship)
	case before == Waiting && s.plan.SettleRefused:
		s.state, s.code = Declined, s.plan.refusal(Ship)
	default:
		s.state = Shipped
		return moved(s.report(), before, Shipped)
	}
	return deed{answer: refusal(s.code), before: before, after: Declined}
}

// settle makes a pending shipment definite on behalf of another request.
func (c *carrier) settle(s *shipment, plan Behaviour) {
	if s.state != Waiting || plan.Kind == Pending {
		return
	}
	c.book.settle(s.request, s.decide(plan))
}

// report is the answer to a status query.
func (s *shipment) report() answer {
	switch s.state {
	case Shipped:
		return answer{
			Outcome:   Succeeded,
			Reference: reference("sh", s.request.key),
			OrderID:   s.order,
		}
	case Declined:
		return refusal(s.code)
	case Closed:
		return refusal(codeKeyClosed)
	}
	return answer{Outcome: Undecided}
}

// cancel closes a shipment key for ever, unless the parcel has left.
func (c *carrier) cancel(req request, plan Behaviour) deed {
	s, known := c.shipments[req.target]
	if !known {
		s = &shipment{state: Absent, order: req.order}
	}
	if s.order != req.order {
		return unmoved(fault(codeOrderMismatch), s.state)
	}
	if plan.Kind == Pending && (s.state == Absent || s.state == Waiting) {
		return unmoved(answer{Outcome: Undecided}, s.state)
	}
	if plan.Kind == Refuse {
		c.settle(s, Behaviour{Kind: Succeed})
	}
	done := answer{Outcome: Succeeded, OrderID: s.order}
	before := s.state
	switch before {
	case Shipped:
		return unmoved(refusal(codeAlreadyShipped), Shipped)
	case Declined, Closed:
		return unmoved(done, before)
	}
	s.state = Closed
	c.shipments[req.target] = s
	return moved(done, before, Closed)
}

// look answers a status query; a plan other than Pending first settles what is pending.
func (c *carrier) look(req request, plan Behaviour) deed {
	s, known := c.shipments[req.target]
	if !known {
		return unmoved(answer{Outcome: NotFound}, Absent)
	}
	c.settle(s, plan)
	return unmoved(s.report(), s.state)
}

// advance does nothing: no parcel moves by the mere passing of time.
func (c *carrier) advance() {}

// keys lists the states of all shipment keys.
func (c *carrier) keys() []KeyState {
	all := make([]KeyState, 0, len(c.shipments))
	for key, s := range c.shipments {
		all = append(all, KeyState{
			Operation: Ship, Key: key, OrderID: s.order, State: s.state,
		})
	}
	return all
}
