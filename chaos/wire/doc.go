// Package wire puts a proxy between a process and its PostgreSQL server. The proxy understands the
// protocol well enough to say which named statement passes, how often it has passed, and whether
// the server has committed it, and it lets its owner act at exactly that instant. Neither side
// knows that it is there.
//
// A statement is named by a comment at its start, "-- name: TakeSteps". Prepared statements have
// names of their own, which a driver makes up per connection: the proxy learns from each Parse
// message which statement a prepared name stands for. Simple queries are recognised too.
//
// # Points
//
// A client sends messages and ends a batch with Sync (or with a simple Query); the server runs
// the batch, commits what is not inside an explicit transaction, and answers with ReadyForQuery.
// The proxy holds a batch back until it is complete, and holds its answers back until
// ReadyForQuery has come:
//
//	client            proxy                              server
//	  │ Bind Execute Sync │                                 │
//	  │ ────────────────> │ BeforeForward                   │
//	  │                   │ ──────────────────────────────> │ runs, commits
//	  │                   │ <────────────────────────────── │
//	  │                   │ BeforeAnswer    rows … ReadyForQuery
//	  │ <──────────────── │                                 │
//	  │                   │ AfterAnswer                     │
//
// At each point the owner's Hook is called, once per named statement of the batch, in the
// goroutine that carries the connection: while it works, that connection stands still and the
// others go on. What it returns decides about the connection: go on, cut, or fall silent. A
// statement that the server refused is told of as Failed.
//
// Batches that are not ended by Sync but by Flush are passed on as they come, since their client
// waits for answers before it ends them.
//
// # The link
//
// Beside single statements the whole link can be changed at any time: Down resets every connection
// and each new one; Silent keeps them open and lets nothing through, as a network does that
// drops everything, until the link is Up again and what waited arrives late. SetDelay and SetRate
// slow it.
//
// Encryption is refused (the client must use sslmode=disable); every kind of password passes
// through. Requests to cancel are forwarded as they are.
package wire
