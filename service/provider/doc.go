// Package provider speaks to the warehouse, the payment provider and the shipper over HTTP, and
// turns whatever comes back into one of the answers that the domain knows.
//
// A call ends in exactly one Reply, never in an error: what an executor must learn from a broken
// connection is not a text but an outcome. Three stages lead there, and each can only narrow
// what the next one sees:
//
//	exchange    one request out, at most 64 KiB of answer in, or the way in which that failed
//	   │
//	   ▼
//	statement   the body as a strict JSON object with known fields, or nothing at all
//	   │
//	   ▼
//	order.Answer ──(order.Classify, the outcome table)──► order.Outcome
//
// # One attempt, at most one request
//
// A second request that nobody recorded could charge twice or, worse, make a recorded "not sent"
// untrue. Two parts of net/http would send one. Redirects: NewClient does not follow them. The
// transport: on a reused connection that breaks it repeats requests that it holds for harmless,
// which are GETs and everything that carries an Idempotency-Key. It can only do so when it is
// able to read the body again, so every request, the queries too, gets a body that cannot be
// re-read. NewTransport speaks HTTP/1.1 only, because HTTP/2 has retry rules of its own.
//
// For the same reason a dial error proves that not a byte left: it can only be the first dial.
//
// # What is believed
//
// A provider's word counts when it is JSON by type and by syntax, without duplicate names, and
// when its fields have the right types and lengths. A success must name what we asked for: our
// order, amount and currency, with a reference to store. Everything else is treated as if the
// body were missing, and then the status alone decides. References are printable ASCII; codes
// are a-z, 0-9 and _; no other text of a provider leaves this package.
package provider
