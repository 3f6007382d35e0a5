// Package chaos kills real processes of the service, exactly at their commit boundaries, and
// judges what is left with the same invariants as the simulation.
//
// # Boundaries
//
// A step of an order is three things: an intent that is committed, a call to a provider, and a
// result that is committed. Between them lie the boundaries at which a process may die:
//
//	TakeSteps commits        call leaves     provider acts     RecordResults      commits
//	─────────┬───────────────────┬─────────────────┬─────────────────┬───────────────┬─────>
//	     after_take         before_call      after_effect      before_commit    after_commit
//
// They are found from outside, by proxies on every connection (packages wire and provider): the
// call tells order and step, the statement that records a result tells them too, so a boundary is
// hit by (step kind, boundary) and never by sleeping. A case whose boundary was not hit fails: it
// has shown nothing.
//
// # A case
//
//	open stage ──> arm trap ──> customers ──> trap springs: act ──> recovery
//	                                                                   │
//	   verdict <── evidence <── rest, or patience is over <── links up, all processes run
//
// Cases are data (catalogue.go): which step, which boundary, what is done there. Orders reach
// every kind of step by stories (story.go), which script the providers. Recovery is the time from
// the act to the next move of the order that it hit: as a rule a lease, a retry delay and a sweep.
//
// Leases are configuration, so cases run with 4 s (a lease must outlast a call of 3 s), and one
// case with the real 30 s. Which instant is hit is exact; what else happens at that instant, in
// other orders, is up to the machine. The same boundary under a seed that replays event for event
// is the simulation's: each case names it (replay.go).
package chaos
