// Package imitation holds a warehouse, a payment provider and a shipper: three HTTP handlers that
// behave as such systems do, well or badly, and remember what they really did.
//
// They serve by hand and under chaos as real servers (the command imitations), inside cmd/local,
// and in-process under the deterministic simulation. One call passes three layers:
//
//	HTTP front    parses, bounds and checks the request; carries the plan out; writes the answer
//	   │
//	Planner       is asked once per call and answers a Behaviour
//	   │
//	business      decides by its state under one lock, without I/O, and appends to the ledger
//
// # Business
//
// Every operation has its own idempotency key. The first definite answer (succeeded or refused)
// under a key is remembered and given to every repeat. The same key with another operation,
// target or body answers 422 with code key_reused and changes nothing; bodies are compared as raw
// bytes. A key that others name moves through these states, and never back:
//
//	charge        absent ─► pending ─► charged | refused
//	                 └──────────┴────► closed            by void
//	refund        absent ─► pending ─► refunded | refused
//	reservation   absent ─► pending ─► held | refused
//	                 └──────────┴────► closed            by release
//	              held ─► released                       by release
//	              held ─► committed                      by commit
//	              held ─► lapsed ─► held | refused       by the safety TTL, then a new reserve
//	                         └────► released             by release
//	shipment      absent ─► pending ─► shipped | refused
//	                 └──────────┴────► closed            by cancel
//
// A void, release or cancel may come before the operation that it names: the key is closed and
// the late operation is refused with key_closed. A void never reverses a charge, a cancel never
// brings a parcel back, a release never undoes a commit. Refunds, pending ones included, never
// exceed their charge. The warehouse holds all lines of a reservation or none, never more than it
// has, and frees nothing by itself except when the safety TTL, which is days long, runs out: that
// is noticed at the next call, dated at the moment when it happened, and an entry of its own in
// the ledger.
//
// # Behaviours
//
// Succeed lets the state decide. Refuse forces a refusal where the provider has a choice (charge,
// refund, reserve, release, ship). A Pending charge, refund, reservation or shipment is decided by
// the next status query or repeat whose plan is not Pending: with Refuse it is refused, else it
// ends as its first plan said (SettleRefused). A void or cancel of a pending key kills it; planned
// as Refuse it comes too late instead, and the key settles before the answer. Pending voids,
// releases, commits and cancels have done nothing yet.
//
// Transient, NotProcessed, Permanent and Redirect answer before the business sees the call.
// Duplicate delivers it twice. Malformed, WrongType, Huge, ContradictAmount and ContradictOrder do
// the work and spoil the answer. For all these ServeHTTP works entirely in the caller's
// goroutine and returns when everything has happened; Kind.Timing tells them apart from the rest.
//
// TimeoutWithoutEffect, TimeoutWithEffect, LostAnswer, ResetWithoutEffect and LateArrival play
// with time and connections. They need a real server around the handler. In the simulation, whose
// network does all this itself at instants of its choosing, a plan must not contain them.
//
// # Ledger
//
// A ledger is append-only and independent of what clients were told: each delivery of a request
// is an entry, with the state of its key before and after, and Effect marks the one entry that
// moved money, stock or a parcel, or closed a key. A pending key that settles on behalf of another
// request gets an entry of origin settlement. References are derived from keys and times come from
// the injected clock, so that equal calls leave equal ledgers.
//
// # By hand
//
// Beside the routes of the provider each handler serves GET /healthz, GET /v1/ledger and GET
// /v1/keys; the warehouse GET /v1/stock. A script decides the next calls of an operation, of one
// order or (without order_id) of any:
//
//	POST /control/script
//	Content-Type: application/json
//
//	{"operation": "charge", "order_id": "…", "behaviours": [
//	  {"kind": "timeout_with_effect"},
//	  {"kind": "refuse", "code": "card_declined"},
//	  {"kind": "late_arrival", "after": "7s"},
//	  {"kind": "pending", "settle_refused": true}
//	]}
//
// Entries are used up one a call; then the planner that the handler was made with decides again.
// GET /control/script shows what is left and DELETE /control/script drops it. Every POST of the
// provider's own routes needs the headers Idempotency-Key, Ordeal-Order-Id, Ordeal-Step and
// Ordeal-Attempt, and a Content-Type of application/json.
package imitation
