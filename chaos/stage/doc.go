// Package stage puts the real service on a stage: real processes of the real binaries against a
// real PostgreSQL and imitations of the providers, with a proxy on every connection that leaves a
// process. It starts, kills, stops and continues processes, and collects what they left behind.
// It decides nothing: cases do.
//
//	customers ──HTTP──> api ───── wire proxy ─────┐
//	                    worker-1 ─ wire proxy ─────┼──> PostgreSQL (Ground)
//	                      └──────── provider proxies ──> imitations
//	                    worker-2 ─ wire proxy ─────┘
//	                      └──────── provider proxies ──> imitations
//
// Each node is one process of the service with proxies of its own, so that it is known who sends
// what. A node may start again after its end: that is a new incarnation, with new proxies.
//
// Nothing outlives the program that opened a stage; see package process.
package stage
