// Command local starts everything that it takes to play with the order service, as one process
// in the foreground:
//
//	local ─┬─ PostgreSQL, a throw-away cluster with full durability, migrated and seeded
//	       ├─ warehouse, payment and shipping imitations, real HTTP servers on free ports
//	       └─ the service: REST API and one executor, wired as in orderd
//
// When all of it answers, it prints the addresses, the tokens of the two principals and commands
// to paste on standard output; progress and logs go to standard error. It then runs until SIGINT
// or SIGTERM, drains as orderd does, and leaves neither processes nor files nor data. A second
// signal ends it at once: steps in work are then cut, and the database removes itself.
//
// The exit code is 0 after a stop, 1 when something fails, and 80 for a command line that cannot
// be understood.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"ordeal/sim/imitation"
)

// flags is the command line.
type flags struct {
	Listen string `default:"127.0.0.1:8080" help:"Address of the REST API (port 0: any free)."`
	Plan   string `default:"happy" enum:"happy,seeded" help:"How providers treat calls: ${enum}. Seeded, one call in five goes wrong in one of many ways."`
	Seed   uint64 `default:"1" help:"Seed of the seeded plan."`
}

// planner makes the planner that the flags ask for.
func (f flags) planner() (imitation.Planner, error) {
	if f.Plan == "happy" {
		return imitation.Happy{}, nil
	}
	weights := imitation.Weights{}
	for _, kind := range imitation.Kinds() {
		weights[kind] = 1
	}
	weights[imitation.Succeed] = 4 * len(weights)
	return imitation.NewSeeded(f.Seed, weights)
}

func main() {
	var f flags
	kong.Parse(&f, kong.Name("local"),
		kong.Description("Starts a database, three providers and the order service to play with."))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := run(ctx, f, os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "local:", err)
		os.Exit(1)
	}
}
