// Command chaos kills real processes of the order service at their commit boundaries and judges
// what is left.
//
// Exit codes: 0 all held, 1 an invariant was violated or a boundary was not hit, 2 usage,
// 4 nothing ran, 5 no database or another fault of the surroundings, 130 interrupted.
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
	List   listCmd   `cmd:"" help:"List the cases."`
	Run    runCmd    `cmd:"" help:"Play cases and report what held."`
	Soak   soakCmd   `cmd:"" help:"Kill workers at random boundaries, under load."`
	Replay replayCmd `cmd:"" help:"Play the boundary of a case in the simulation."`
}

const description = `Kills real processes of the order service at their commit boundaries.

Exit codes: 0 all held, 1 an invariant was violated or a boundary was not hit, 2 usage,
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

// environment is a failure of the surroundings, or the interruption that caused it.
func environment(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return exit{reports.ExitInterrupted, errors.New("interrupted")}
	}
	return exit{reports.ExitEnvironment, err}
}

func main() {
	var c cli
	parser := kong.Must(&c, kong.Name("chaos"), kong.Description(description))
	k, err := parser.Parse(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "chaos: %v (see chaos --help)\n", err)
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
		fmt.Fprintln(os.Stderr, "chaos:", e.err)
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
