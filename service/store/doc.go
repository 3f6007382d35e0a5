// Package store holds all SQL of the service, one file per statement, and its mapping to Go.
//
// # One statement moves an order
//
// A step's life is two statements. TakeSteps claims due steps: it raises the generation (the
// fencing token), writes the attempt row, which is the committed intent, and moves the orders by
// their started events. RecordResults writes what came of the attempts, guarded by generation
// and owner, moves the orders, and creates the next steps. Each is one SQL statement of
// data-modifying CTEs: one round trip and one implicit transaction, so state, step, history,
// audit and outbox event commit together or not at all (STEP-2, STEP-3).
//
//	         TakeSteps                     RecordResults
//	 due ───────────────► running ───────────────────────────► succeeded, refused, permanent,
//	  ▲                     │                                   unknown, exhausted
//	  ├─────────────────────┤ transient, or handed back unsent
//	  └─────────────────────┘ lease expired (RecordResults with Lost)
//	any ──────────────────────────────────────────────────────► closed (the order moved on)
//
// # The building block
//
// Every statement that moves an order defines the CTEs chosen and own and then includes
// moveOrders and journalMoves (move.go): table lookup, version, history, audit, event, next
// steps. They exist once. Triggers refuse any other change.
//
// # Four traps, each with a test on the real statements
//
// A take locks the order and the step together and hands out only rows whose order moved. A
// record locks the order even where it leaves it untouched, and a cancellation locks it in a
// statement of its own, earlier in the same pipelined batch. The next step derives from the
// RETURNING of the order's update, never from a snapshot read beside it. No row is updated twice
// in one statement: a batch of results holds at most one per order.
//
// Leases, due times and deadlines use the database clock, so a worker with a skewed clock cannot
// steal. Each statement starts with a comment that names it.
package store
