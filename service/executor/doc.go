// Package executor drives orders: it takes due steps under a lease, calls the provider that a
// step is about, and records what came of it. Any number of executors compete for the steps of
// one database; none of them is special, and each may stop at any instant.
//
// # The life of a take
//
//	        take (lease 30 s, generation + 1)          call             record (guarded)
//	due ──────────────► running ───────────────► answer known ────────────────► ended or due
//	 ▲                    │ │                                        │
//	 │   handed back,     │ │ renewed every 10 s                     │ zero rows: lease lost,
//	 ├── not sent ────────┘ │                                        ▼ the answer is a late fact
//	 │                      ▼
//	 └── swept ◄──── lease expired (its executor died, hung, or lost the database)
//
// The intent is committed before the call leaves, and the result after it; no transaction is open
// during a call (STEP-2). Every write is guarded by the generation, which is a fencing token, and
// the owner, so an executor that lost its lease changes nothing (STEP-4).
//
// # Trust in a lease
//
// An executor counts a lease from the moment before the statement that took or renewed it was
// sent, by its own monotonic clock, so it gives up earlier than the database does. A call starts
// only if it must end inside that window. What the clock cannot exclude (a process stopped
// between the check and the send) is made harmless by the guard and by the idempotency key.
//
// # Loops
//
// Take, renew, sweep and record run in one goroutine each, beside one goroutine for each step in
// work, at most twenty. Results that arrive while a record is on its way go out together in the
// next one (group commit), at most one per order. Loops wait with jitter from an injected source
// and take is nudged whenever a step ends.
//
// # Stop
//
// When its context ends, Run takes nothing more, hands back steps whose call has not started,
// lets calls finish, records them, and returns within the drain timeout. Handed-back attempts do
// not count (STEP-5).
package executor
