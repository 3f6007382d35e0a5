// Package api is the REST API of the service: it creates, shows and cancels orders over HTTP.
//
// A request passes these gates in this order, and the first that refuses it answers:
//
//	request id, headers, panics ─► route (404, 405) ─► token (401) ─► role (403)
//	   ─► order id in canonical form (404) ─► Idempotency-Key (400)
//	   ─► content type (415), size (413), JSON (400), values (422)
//	   ─► one statement of the store (200, 201, 202, 404, 409, 422)
//
// Nothing that a client sends leads to a 500, and every answer that is not a success is a
// problem (RFC 9457) with a code of the table in problem.go.
//
// # Idempotency
//
// A POST names itself by its Idempotency-Key within caller, route and order (API-1). The key,
// what the request did and the response commit together in one statement of the store, so no
// crash can leave a key without its answer:
//
//	           ┌ key unused ──► decided, stored with its answer ─────────────► the answer
//	statement ─┼ key used ────► stored answer ─┬ same fingerprint ───────────► the same bytes
//	           │                               └ another one ───────────────► 422
//	           └ no end in time ─► look again ─┬ an answer ──► as key used
//	                                           ├ none, but the database answers ─► 409, retry
//	                                           └ the database does not answer ───► 503, retry
//
// The fingerprint is a hash of the decoded request, so key order and white space do not matter.
// A statement that does not end in time waits for a twin, or is itself still running on the
// server: both are "in progress", and both end with the database, never with the client.
// Stored are the answers decided under the lock of the order (2xx and 409 invalid_transition)
// and nothing else. The id of an order derives from its customer and the key of its creation,
// hence a create key never expires.
//
// # Who is calling
//
// A bearer token is looked up by its SHA-256 and compared in constant time. A principal that was
// found is remembered for 10 s by the process clock: this is also how long a revoked or changed
// token goes on being accepted. At most 1024 are remembered, the oldest is forgotten first, and
// a token that was not found is never remembered, so a new one works at once.
// A customer sees only its own orders; another customer's order answers exactly like a missing
// one. The operator sees all, and can neither create nor cancel (API-3).
//
// # Strict input
//
// The decoder walks the text along what the request may contain and stops at the first thing
// that it may not. It never descends into what it does not know, so no depth of nesting costs
// stack or memory. Names are case-sensitive and unique, numbers are integers as written, without
// fraction, exponent or sign of zero, and text is UTF-8 without NUL and lone surrogates (API-4).
//
// # Time
//
// A request waits at most 3 s for the database with its token and 3 s with its work (STEP-7),
// and one second more where it looks again; a server's write timeout must be longer than that
// and the time granted to read a body. Slow senders are the server's business, not this
// package's.
package api
