// Package api is the REST API of the service: customers create, watch and cancel orders, operators
// decide what the process leaves to a person. The document openapi.yaml describes every route,
// header, status and code; it is served, and tests hold every response against it.
//
// A request passes these gates in this order, and the first that refuses it answers:
//
//	request id, headers, panics ─► route (404, 405) ─► token (401) ─► rate (429)
//	   ─► syntax: order id in canonical form (404), query, Idempotency-Key (400),
//	      content type (415), size (413), JSON (400), expected version (428)
//	   ─► role (403) ─► values (422)
//	   ─► one statement of the store (200, 201, 202, 404, 409, 412, 422)
//
// Nothing that a client sends leads to a 500, and every answer that is not a success is a
// problem (RFC 9457) with a code of the table in problem.go; its type leads to an explanation.
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
// and nothing else; a stored one outranks a stale version. The id of an order derives from its
// customer and the key of its creation, hence a create key never expires.
//
// # Operators
//
// A decision names a reason of a closed list (reason.go), may have a note, and says which version
// of the order it is about. It is audited, by the store where the store decides it, and here where
// its caller may not decide (403), there is no such order (404), a value is not allowed or its key
// is that of another request (422): a row each (API-5). Requests that are not well-formed, replays,
// requests in progress and failures leave none. A refusal to show the audit trail is audited too,
// showing it is not. A refusal that cannot be audited is a failure.
//
// # Lists
//
// A list is walked by cursors: places between orders, not pages, so orders that are created
// meanwhile neither repeat nor hide any other. A cursor is signed (cursor.go) and good for its
// caller and its filters only. The next actions in a list are those that the row tells; the order
// itself shows all.
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
// Each token has a token bucket, and each network one for authentications that fail; behind a
// proxy, all of the proxy's clients are one network. A network that has used up its bucket is
// answered 429 before the database is asked, but tokens that are remembered go on. The buckets
// are those of one process, on its clock, and at most 4096 of each kind are kept.
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
