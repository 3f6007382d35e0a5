// Command simulate plays the order service under a seeded deterministic simulation.
//
// Exit codes: 0 all held, 1 an invariant was violated, 2 usage, 3 nondeterminism, 4 nothing ran,
// 5 no database or another fault of the surroundings, 130 interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"

	"ordeal/reports"
)

type cli struct {
	List        listCmd        `cmd:"" help:"List the scenarios."`
	Sweep       sweepCmd       `cmd:"" help:"Play scenarios over a range of seeds and report what held."`
	Run         runCmd         `cmd:"" help:"Play one seed of one scenario."`
	Replay      replayCmd      `cmd:"" help:"Play a replay file and tell whether it fails as recorded."`
	Shrink      shrinkCmd      `cmd:"" help:"Make a failing run as small as possible and write its replay file."`
	Explore     exploreCmd     `cmd:"" help:"Play every crash and every outcome of a provider, on one order."`
	Determinism determinismCmd `cmd:"" help:"Play runs in different surroundings and compare them event for event."`
	Merge       mergeCmd       `cmd:"" help:"Make one result of those of shards."`
	Worker      workerCmd      `cmd:"" hidden:"" help:"Play runs for a sweep, asked for on standard input."`
}

const description = `Plays the order service under a seeded deterministic simulation.

Exit codes: 0 all held, 1 an invariant was violated, 2 usage, 3 nondeterminism,
4 nothing ran, 5 no database or another fault of the surroundings, 130 interrupted.`

// exit ends the program with a code.
type exit struct {
	code int
	err  error
}

func (e exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

// environment is a failure of the surroundings.
func environment(err error) error { return exit{reports.ExitEnvironment, err} }

func main() {
	var c cli
	parser := kong.Must(&c, kong.Name("simulate"), kong.Description(description))
	k, err := parser.Parse(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "simulate: %v (see simulate --help)\n", err)
		os.Exit(reports.ExitUsage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	k.BindTo(ctx, (*context.Context)(nil))
	os.Exit(code(k.Run()))
}

// code reports an error and returns the exit code that it asks for.
func code(err error) int {
	if err == nil {
		return reports.ExitHeld
	}
	var e exit
	if !errors.As(err, &e) {
		e = exit{reports.ExitUsage, err}
	}
	if e.err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", e.err)
	}
	return e.code
}

// build tells what is running.
func build() reports.Build {
	b := reports.Build{Version: "unknown", Commit: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Go = info.GoVersion
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Commit = s.Value
		}
	}
	return b
}
