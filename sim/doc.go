// Package sim is the harness: it puts the unmodified order service (an API process and two or
// more executors) into an engine world, with the imitations as its providers and simulated
// customers as its clients, plays a scenario from a seed, and judges what the run left behind.
//
//	scenario + seed ──► world: api, executor-1, executor-2 … ──► evidence ──► invariants
//	                      ▲          │            │
//	                 customers   PostgreSQL   warehouse, payment, shipping
//
// The parts:
//
//	database.go   the template database, and the reset between runs
//	lab.go        plays and judges one seed on one database
//	rig.go        wires the service's production seams to the world
//	faults.go     turns a scenario's fault mix into fates of operations
//	outages.go    faults of the world: pauses, cuts, restarts of the database, clocks
//	limits.go     how many of each a run may have
//	pace.go       the service's configuration, drawn with the workload
//	quiet.go      which polls of idle processes need not be asked twice
//	twin.go       whether a fault mattered
//	plan.go       turns its outcomes into behaviours of providers
//	customers.go  turns its workload into REST requests
//	calls.go      witnesses of requests that leave a process
//	rest.go       decides when a run has come to rest
//	collect.go    reads the evidence
//	sweep.go      spreads seeds over worker processes
//	crew.go       a worker process, and what its death tells
//	verify.go     plays a run again and compares it event for event
//	determinism.go  plays runs in different surroundings
//	course.go     how the choices of a run are made: seed, strategy, recording
//	replay.go     replay files: a run as its deviations from the default run
//	corpus.go     the replays that every sweep plays first
//	shrink.go     makes a failing run smaller (delta debugging over its choices)
//	explore.go    plays the tree of all crashes and outcomes of calls
//	enumeration.go  the questions of that tree, and the closed lists of answers
//
// Nothing here decides whether the service is right: scenarios/invariant does, from evidence.
package sim
