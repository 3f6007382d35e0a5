package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"ordeal/chaos"
	"ordeal/reports"
)

// replayCmd plays a case's boundary in the simulation.
type replayCmd struct {
	Case string `arg:"" help:"Id of a case."`
	From uint64 `default:"1" help:"First seed to look at."`
	Most int    `default:"400" help:"How many seeds to look at (default ${default})."`
}

// Run looks for the first seed whose run meets the boundary, and plays it with its event log. The
// exit code is that of the simulation.
func (c *replayCmd) Run(ctx context.Context) error {
	one, err := chaos.Lookup(c.Case)
	if err != nil {
		return exit{reports.ExitUsage, err}
	}
	code, err := chaos.Replay(ctx, one, c.From, c.Most, os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, chaos.ErrNoSeed):
		return exit{reports.ExitNothingRan, fmt.Errorf("%w; try --from and --most", err)}
	case errors.Is(err, chaos.ErrOtherRun):
		return exit{reports.ExitNondeterministic, err}
	case err != nil:
		return environment(ctx, err)
	case code != reports.ExitHeld:
		return exit{code: code}
	}
	return nil
}
