// Package corpus holds runs that once broke an invariant, each shrunk to what it needs: the first
// thing that every sweep plays. A file is written by "simulate shrink" and named after what was
// wrong. The service that they are played on is another one than the one that failed, so what no
// longer fits is left out; what must hold is everything.
package corpus

import "embed"

// Files holds the replays.
//
//go:embed *.json
var Files embed.FS
