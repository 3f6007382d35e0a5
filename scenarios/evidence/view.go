package evidence

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// View is all evidence about one order, each slice in the order of its identities. Its slices
// are windows on those of the Run: read, never write.
type View struct {
	ID string
	// Order is nil where something tells of an order that has no row.
	Order     *Order
	Steps     []Step
	Attempts  []Attempt
	History   []Change
	Audit     []Audit
	Outbox    []Event
	Attention []Attention
	Refunds   []Refund
	Payment   []Entry
	Warehouse []Entry
	Shipping  []Entry
	Calls     []Call
	// Client is every exchange that names the order in its path or its answer.
	Client []Exchange
}

// Views returns the evidence by order, ordered by id. It indexes the run if nobody did.
func (r *Run) Views() []View {
	r.Index()
	return r.views
}

// View returns the evidence about one order; ok is false if there is none.
func (r *Run) View(id string) (v View, ok bool) {
	r.Index()
	at, ok := r.place(id)
	if !ok {
		return View{}, false
	}
	return r.views[at], true
}

// place finds the view of an order.
func (r *Run) place(id string) (at int, ok bool) {
	at = sort.Search(len(r.views), func(i int) bool { return r.views[i].ID >= id })
	return at, at < len(r.views) && r.views[at].ID == id
}

// Index sorts the evidence by identity and builds the views. Only the first call does anything;
// whoever adds evidence afterwards starts from a new Run. It is not safe for concurrent use.
func (r *Run) Index() {
	if r.indexed {
		return
	}
	r.indexed = true
	r.sort()
	ids := r.ids()
	r.views = make([]View, len(ids))
	for i, id := range ids {
		r.views[i].ID = id
	}
	r.window()
	r.attach()
}

// sort gives every slice the order of its identities.
func (r *Run) sort() {
	slices.SortStableFunc(r.Orders, func(a, b Order) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortStableFunc(r.Steps, func(a, b Step) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.No, b.No))
	})
	slices.SortStableFunc(r.Attempts, func(a, b Attempt) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Step, b.Step),
			cmp.Compare(a.No, b.No))
	})
	slices.SortStableFunc(r.History, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Version, b.Version))
	})
	slices.SortStableFunc(r.Audit, func(a, b Audit) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), a.At.Compare(b.At),
			cmp.Compare(a.Key, b.Key))
	})
	slices.SortStableFunc(r.Outbox, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Sequence, b.Sequence))
	})
	slices.SortStableFunc(r.Attention, func(a, b Attention) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Reason, b.Reason),
			cmp.Compare(a.Step, b.Step))
	})
	slices.SortStableFunc(r.Refunds, func(a, b Refund) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.No, b.No))
	})
	for _, ledger := range [][]Entry{r.Payment, r.Warehouse, r.Shipping} {
		slices.SortStableFunc(ledger, func(a, b Entry) int {
			return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Seq, b.Seq))
		})
	}
	slices.SortStableFunc(r.Stock, func(a, b StockLine) int { return cmp.Compare(a.SKU, b.SKU) })
	slices.SortStableFunc(r.Client, func(a, b Exchange) int { return cmp.Compare(a.Seq, b.Seq) })
	slices.SortStableFunc(r.Calls, func(a, b Call) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Seq, b.Seq))
	})
	slices.SortStableFunc(r.Processes, func(a, b Process) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Incarnation, b.Incarnation))
	})
}

// ids lists every order that anything tells of, sorted.
func (r *Run) ids() []string {
	var ids []string
	ids = gather(ids, r.Orders, orderOfOrder)
	ids = gather(ids, r.Steps, orderOfStep)
	ids = gather(ids, r.Attempts, orderOfAttempt)
	ids = gather(ids, r.History, orderOfChange)
	ids = gather(ids, r.Audit, orderOfAudit)
	ids = gather(ids, r.Outbox, orderOfEvent)
	ids = gather(ids, r.Attention, orderOfAttention)
	ids = gather(ids, r.Refunds, orderOfRefund)
	ids = gather(ids, r.Payment, orderOfEntry)
	ids = gather(ids, r.Warehouse, orderOfEntry)
	ids = gather(ids, r.Shipping, orderOfEntry)
	ids = gather(ids, r.Calls, orderOfCall)
	ids = gather(ids, r.Client, orderOfExchange)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// gather appends the order ids of items, leaving out empty ones.
func gather[T any](ids []string, items []T, orderOf func(*T) string) []string {
	for i := range items {
		if id := orderOf(&items[i]); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// window hands every view its part of the sorted slices.
func (r *Run) window() {
	for i := range r.views {
		v := &r.views[i]
		if rows := part(r.Orders, v.ID, orderOfOrder); len(rows) > 0 {
			v.Order = &rows[0]
		}
		v.Steps = part(r.Steps, v.ID, orderOfStep)
		v.Attempts = part(r.Attempts, v.ID, orderOfAttempt)
		v.History = part(r.History, v.ID, orderOfChange)
		v.Audit = part(r.Audit, v.ID, orderOfAudit)
		v.Outbox = part(r.Outbox, v.ID, orderOfEvent)
		v.Attention = part(r.Attention, v.ID, orderOfAttention)
		v.Refunds = part(r.Refunds, v.ID, orderOfRefund)
		v.Payment = part(r.Payment, v.ID, orderOfEntry)
		v.Warehouse = part(r.Warehouse, v.ID, orderOfEntry)
		v.Shipping = part(r.Shipping, v.ID, orderOfEntry)
		v.Calls = part(r.Calls, v.ID, orderOfCall)
	}
}

// attach copies every exchange to the order that it is about: exchanges stay in the order in
// which they were sent, so they cannot be windows.
func (r *Run) attach() {
	for i := range r.Client {
		if at, ok := r.place(orderOfExchange(&r.Client[i])); ok {
			r.views[at].Client = append(r.views[at].Client, r.Client[i])
		}
	}
}

// part returns the run of items of one order in a slice sorted by order.
func part[T any](items []T, id string, orderOf func(*T) string) []T {
	from := sort.Search(len(items), func(i int) bool { return orderOf(&items[i]) >= id })
	to := from
	for to < len(items) && orderOf(&items[to]) == id {
		to++
	}
	return items[from:to:to]
}

// The order that each kind of fact is about.
func orderOfOrder(o *Order) string         { return o.ID }
func orderOfStep(s *Step) string           { return s.Order }
func orderOfAttempt(a *Attempt) string     { return a.Order }
func orderOfChange(c *Change) string       { return c.Order }
func orderOfAudit(a *Audit) string         { return a.Order }
func orderOfEvent(e *Event) string         { return e.Order }
func orderOfAttention(a *Attention) string { return a.Order }
func orderOfRefund(r *Refund) string       { return r.Order }
func orderOfEntry(e *Entry) string         { return e.Order }
func orderOfCall(c *Call) string           { return c.Order }

// orderOfExchange prefers the order in the path: it was meant, whatever the answer shows.
func orderOfExchange(e *Exchange) string { return cmp.Or(e.Order, e.Shown.Order) }

// Step returns the step of a number; ok is false if it has no row.
func (v View) Step(no int) (s Step, ok bool) {
	for _, s := range v.Steps {
		if s.No == no {
			return s, true
		}
	}
	return Step{}, false
}

// Attempt returns an attempt of a step; ok is false if it has no row.
func (v View) Attempt(step, no int) (a Attempt, ok bool) {
	for _, a := range v.Attempts {
		if a.Step == step && a.No == no {
			return a, true
		}
	}
	return Attempt{}, false
}

// AttemptsOf returns the attempts of one step, first to last.
func (v View) AttemptsOf(step int) []Attempt {
	from := 0
	for from < len(v.Attempts) && v.Attempts[from].Step < step {
		from++
	}
	to := from
	for to < len(v.Attempts) && v.Attempts[to].Step == step {
		to++
	}
	return v.Attempts[from:to:to]
}

// Entered returns the first change into a state; ok is false if the order never was in it.
func (v View) Entered(state string) (c Change, ok bool) {
	for _, c := range v.History {
		if c.To == state {
			return c, true
		}
	}
	return Change{}, false
}

// Asks reports whether the order has the given reason for attention.
func (v View) Asks(reason string) bool {
	return slices.ContainsFunc(v.Attention, func(a Attention) bool { return a.Reason == reason })
}

// LastAt returns the time of the last change of the order, zero if it has no history.
func (v View) LastAt() time.Time {
	if len(v.History) == 0 {
		return time.Time{}
	}
	return v.History[len(v.History)-1].At
}
