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
//	plan.go       turns its outcomes into behaviours of providers
//	customers.go  turns its workload into REST requests
//	calls.go      witnesses of requests that leave a process
//	rest.go       decides when a run has come to rest
//	collect.go    reads the evidence
//	sweep.go      spreads seeds over worker processes and survives their death
//
// Nothing here decides whether the service is right: scenarios/invariant does, from evidence.
package sim
