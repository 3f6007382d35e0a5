package imitation

import (
	"cmp"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

// Config is what every imitation needs.
type Config struct {
	// Clock dates ledgers and times hangs and late arrivals. Required.
	Clock clockwork.Clock
	// Planner chooses behaviours; nil means Happy. Scripts given over HTTP go first.
	Planner Planner
	// Hang bounds how long a call without an answer keeps its connection; zero means 30 s.
	// The client's own timeout usually ends it earlier.
	Hang time.Duration
}

// WarehouseConfig is Config with the stock of the warehouse.
type WarehouseConfig struct {
	Config
	// Stock is the supply in pieces per SKU.
	Stock map[string]int64
	// DefaultSupply stocks each SKU that Stock does not name; zero means unknown_sku.
	DefaultSupply int64
	// SafetyTTL frees stock that was held and forgotten; zero means seven days. It is far
	// longer than any reservation deadline: its firing is a discrepancy, never routine.
	SafetyTTL time.Duration
}

// KeyState is what a provider holds under one key.
type KeyState struct {
	Operation Operation `json:"operation"`
	Key       string    `json:"key"`
	OrderID   string    `json:"order_id"`
	State     State     `json:"state"`
	// Amount is what the key asked for and Returned what refunds gave back or will, in
	// minor units.
	Amount   int64  `json:"amount,omitempty"`
	Returned int64  `json:"returned,omitempty"`
	Currency string `json:"currency,omitempty"`
}

// machine is the business of one provider, free of I/O, called under the book's lock.
type machine interface {
	perform(req request, plan Behaviour) deed
	look(req request, plan Behaviour) deed
	advance()
	keys() []KeyState
}

// provider is what the three imitations share: the business under its lock, the plan, and
// the HTTP front.
type provider struct {
	book     *book
	machine  machine
	script   *Scripted
	clock    clockwork.Clock
	hang     time.Duration
	mux      *http.ServeMux
	closing  sync.Once
	closed   chan struct{}
	ordinals map[Call]int
}

// newProvider assembles a provider whose machine and routes its caller adds.
func newProvider(c Config) *provider {
	p := &provider{
		book:     newBook(),
		clock:    c.Clock,
		hang:     c.Hang,
		mux:      http.NewServeMux(),
		closed:   make(chan struct{}),
		ordinals: map[Call]int{},
	}
	if p.hang == 0 {
		p.hang = 30 * time.Second
	}
	scripted, ok := c.Planner.(*Scripted)
	switch {
	case ok:
		p.script = scripted
	case c.Planner == nil:
		p.script = NewScripted(Happy{})
	default:
		p.script = NewScripted(c.Planner)
	}
	p.routeCommon()
	return p
}

// Payment imitates the payment provider. It is an http.Handler.
type Payment struct{ *provider }

// NewPayment returns a payment provider without charges.
func NewPayment(c Config) *Payment {
	p := newProvider(c)
	p.machine = newBank(p.book)
	p.route("POST /v1/charges", Charge)
	p.route("GET /v1/charges/{key}", StatusCharge)
	p.route("POST /v1/charges/{key}/void", Void)
	p.route("POST /v1/refunds", Refund)
	p.route("GET /v1/refunds/{key}", StatusRefund)
	return &Payment{provider: p}
}

// Warehouse imitates the warehouse. It is an http.Handler.
type Warehouse struct {
	*provider
	shelf *shelf
}

// NewWarehouse returns a warehouse whose stock is all available.
func NewWarehouse(c WarehouseConfig) *Warehouse {
	if c.SafetyTTL == 0 {
		c.SafetyTTL = 7 * 24 * time.Hour
	}
	p := newProvider(c.Config)
	w := &Warehouse{provider: p, shelf: newShelf(c.Stock, c.DefaultSupply)}
	p.machine = newDepot(p.book, w.shelf, c.SafetyTTL)
	p.route("POST /v1/reservations", Reserve)
	p.route("GET /v1/reservations/{key}", StatusReserve)
	p.route("POST /v1/reservations/{key}/release", Release)
	p.route("POST /v1/reservations/{key}/commit", Commit)
	p.mux.HandleFunc("GET /v1/stock", func(rw http.ResponseWriter, _ *http.Request) {
		writeJSON(rw, http.StatusOK, w.Stock())
	})
	return w
}

// Stock returns a copy of all stock, ordered by SKU.
func (w *Warehouse) Stock() []StockLine {
	w.enter()
	defer w.book.mu.Unlock()
	return w.shelf.snapshot()
}

// Shipping imitates the shipper. It is an http.Handler.
type Shipping struct{ *provider }

// NewShipping returns a shipper without shipments.
func NewShipping(c Config) *Shipping {
	p := newProvider(c)
	p.machine = newCarrier(p.book)
	p.route("POST /v1/shipments", Ship)
	p.route("GET /v1/shipments/{key}", StatusShip)
	p.route("POST /v1/shipments/{key}/cancel", CancelShip)
	return &Shipping{provider: p}
}

// Ledger returns a copy of all entries, oldest first.
func (p *provider) Ledger() []Entry {
	p.enter()
	defer p.book.mu.Unlock()
	return p.book.copyEntries()
}

// LedgerFrom returns a copy of the entries after the first n, for readers who follow along.
// It returns none where there are no more than n.
func (p *provider) LedgerFrom(n int) []Entry {
	p.enter()
	defer p.book.mu.Unlock()
	return slices.Clone(p.book.entries[min(n, len(p.book.entries)):])
}

// Keys returns the state of every key, ordered by operation and key.
func (p *provider) Keys() []KeyState {
	p.enter()
	defer p.book.mu.Unlock()
	all := p.machine.keys()
	slices.SortFunc(all, func(a, b KeyState) int {
		return cmp.Or(cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Key, b.Key))
	})
	return all
}

// Script returns the planner that holds the scripted lists.
func (p *provider) Script() *Scripted { return p.script }

// Close ends hanging calls and drops late arrivals that are still on their way, so that a
// server around the handler can shut down. It may be called more than once.
func (p *provider) Close() { p.closing.Do(func() { close(p.closed) }) }

// enter locks the book and brings it to the clock's now.
func (p *provider) enter() {
	now := p.clock.Now().UTC()
	p.book.mu.Lock()
	if now.After(p.book.now) {
		p.book.now = now
	}
	p.machine.advance()
}

// plan asks the planner about a request, once, outside the lock.
func (p *provider) plan(req request) Behaviour {
	plan := p.script.Plan(req.call(p.ordinal(req)))
	if err := plan.Validate(); err != nil {
		panic("imitation: planner: " + err.Error())
	}
	return plan
}

// ordinal counts calls that are equal in all that they say about themselves.
func (p *provider) ordinal(req request) int {
	same := req.call(0)
	p.book.mu.Lock()
	defer p.book.mu.Unlock()
	p.ordinals[same]++
	return p.ordinals[same]
}

// apply lets the business process one delivery of a request and records it.
func (p *provider) apply(req request, plan Behaviour) answer {
	p.enter()
	defer p.book.mu.Unlock()
	d := p.process(req, plan)
	p.book.record(req, FromCall, plan.Kind, d)
	return d.answer
}

// process finds the answer of a request: a key that was used for something else is an error,
// a remembered one is answered from memory, and everything else is business.
func (p *provider) process(req request, plan Behaviour) deed {
	if req.op.isStatus() {
		return p.machine.look(req, plan)
	}
	if print, bound := p.book.prints[req.key]; bound && print != req.print {
		return deed{answer: fault(codeKeyReused)}
	}
	if known, ok := p.book.answers[req.key]; ok {
		return deed{answer: known, duplicate: true}
	}
	d := p.machine.perform(req, plan)
	if d.Outcome != "" {
		p.book.remember(req, d.answer)
	}
	return d
}

// note records a request that the business never saw.
func (p *provider) note(req request, plan Behaviour) {
	d := deed{}
	if plan.Kind == NotProcessed {
		d.Outcome = Untouched
	}
	p.enter()
	defer p.book.mu.Unlock()
	p.book.record(req, FromCall, plan.Kind, d)
}
