// Package evidence holds what a run left behind: the rows of the database, the ledgers of the
// providers, the requests that left each process, and what the clients saw. It is filled alike
// by whoever ran the service (a simulation, real processes) and read by the invariants. It knows
// nothing of how the service works and imports nothing of this project.
//
// Three independent witnesses meet here, and most invariants compare two of them:
//
//	clients ──requests──▶ service ──requests──▶ providers
//	   │                     │                      │
//	Exchanges         rows of the database       ledgers
//	                  and Calls seen leaving
//
// Conventions. Times are read on the database clock, whoever tells them; a zero time means that
// it did not happen. Money is kopecks in int64. Texts are the names that the specification
// uses for states, events, step kinds, outcomes and operations; the package does not check them,
// because a row with an unknown name is evidence too. Facts about an order that has no row are
// kept: they are what some invariants look for.
//
// Fill the slices of a Run in any order, then call Index, once: it sorts everything by identity,
// so that no reader depends on the order of arrival, and builds a View per order.
package evidence

import "time"

// Run is everything that one run left behind, either at the end or at some quiet moment within.
type Run struct {
	// Orders and the slices up to Refunds are the rows of the database.
	Orders    []Order
	Steps     []Step
	Attempts  []Attempt
	History   []Change
	Audit     []Audit
	Outbox    []Event
	Attention []Attention
	Refunds   []Refund

	// Payment, Warehouse and Shipping are the providers' own ledgers.
	Payment   []Entry
	Warehouse []Entry
	Shipping  []Entry
	// Stock is the warehouse's stock now.
	Stock []StockLine

	// Client is every REST exchange as its client saw it.
	Client []Exchange
	// Calls is every request that was seen leaving a process towards a provider. Copies that
	// the network made of a request are not in it: they show in the ledgers.
	Calls []Call
	// Processes is every incarnation of every process.
	Processes []Process

	// Lease is how long the executors of the run held a step; zero means 30 s.
	Lease time.Duration
	// AtRest says that faults are over, everything healed, and the service had the time that
	// its liveness is bounded by: what is open now stays open.
	AtRest bool
	// Horizon is the moment at which the evidence was collected.
	Horizon time.Time

	views   []View
	indexed bool
}

// Order is a row of orders.
type Order struct {
	ID       string
	Customer string
	// ProcessVersion selects the process that drives the order.
	ProcessVersion int
	State          string
	// Version counts the changes of state; creation is 1.
	Version int
	Items   []Item
	// Total is in kopecks.
	Total    int64
	Currency string
	// Reason is the last stable reason code, empty if none.
	Reason string
	// Compensation is none, pending, done or incomplete.
	Compensation string
	// ReleaseEnd is the state in which a running or ended release ends, empty if none began.
	ReleaseEnd     string
	ReservationRef string
	PaymentRef     string
	ShipmentRef    string
	// Deadline is when the reservation expires; zero until stock was held.
	Deadline time.Time
	// CancelStatus is waiting, done, refused or superseded, empty if nobody asked.
	CancelStatus      string
	CancelRequestedAt time.Time
	CreatedAt         time.Time
	UpdatedAt         time.Time
	// ClosedAt is set where a person closed the order.
	ClosedAt time.Time
}

// Item is one line of an order.
type Item struct {
	SKU      string
	Quantity int64
	// UnitPrice is in kopecks.
	UnitPrice int64
}

// Step is a row of workflow_steps.
type Step struct {
	Order string
	// No numbers the steps of an order from 1.
	No     int
	Kind   string
	Status string
	// Sequence numbers the logical operation, which its key is derived from; Series counts
	// the series of one reconciliation from 1.
	Sequence int
	Series   int
	// Generation is the fencing token; it grows with every take and every forced end.
	Generation int
	// Taken counts the attempts, Unsent those of them that were handed back.
	Taken  int
	Unsent int
	DueAt  time.Time
	// LeaseOwner and LeaseExpiresAt are set while the step is leased.
	LeaseOwner     string
	LeaseExpiresAt time.Time
	// Key is the step's own idempotency key, TargetKey the key that it names; either may be
	// empty.
	Key       string
	TargetKey string
	CreatedAt time.Time
	EndedAt   time.Time
}

// Attempt is a row of step_attempts: the recorded intent and, once RecordedAt is set, the result.
type Attempt struct {
	Order string
	Step  int
	// No numbers the attempts of a step from 1.
	No         int
	Generation int
	Executor   string
	TakenAt    time.Time
	RecordedAt time.Time
	// Outcome is empty while there is no result.
	Outcome string
	// Sent tells whether something of the request may have left; meaningless without a result.
	Sent      bool
	Code      string
	Reference string
}

// Recorded reports whether the attempt has a result.
func (a Attempt) Recorded() bool { return !a.RecordedAt.IsZero() }

// Change is a row of order_history: one transition of one order.
type Change struct {
	Order   string
	Version int
	// From is empty for the creation.
	From  string
	To    string
	Event string
	// Reason, Step and Attempt are empty and zero where the change has none.
	Reason  string
	Step    int
	Attempt int
	At      time.Time
}

// Audit is a row of audit_events.
type Audit struct {
	Order string
	// Key is the row's own identity within its order.
	Key       string
	At        time.Time
	ActorType string
	ActorID   string
	Action    string
	Result    string
	Reason    string
	// Step and Attempt are zero where the row is about neither.
	Step    int
	Attempt int
}

// Event is a row of outbox.
type Event struct {
	Order string
	// Sequence numbers the events of an order from 1.
	Sequence    int
	EventID     string
	Type        string
	TraceID     string
	CreatedAt   time.Time
	PublishedAt time.Time
	ParkedAt    time.Time
	Tries       int
}

// Attention is a row of order_attention: a reason why a person should look at an order.
type Attention struct {
	Order  string
	Reason string
	Step   int
	Since  time.Time
}

// Refund is a row of refunds.
type Refund struct {
	Order string
	// No numbers the refunds of an order from 1.
	No      int
	State   string
	Version int
	// Amount is in kopecks.
	Amount    int64
	Currency  string
	Reference string
}

// Process is one incarnation of one process of the service.
type Process struct {
	// Name is the process's stable name, which is also the executor in attempts.
	Name string
	// Role is api, executor or relay.
	Role string
	// Incarnation counts the starts of the process from 1.
	Incarnation int
	StartedAt   time.Time
	EndedAt     time.Time
	// Crashed says that the incarnation ended without a word.
	Crashed bool
}
