package main

import (
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"ordeal/chaos"
	"ordeal/reports"
)

// soakCmd kills at random.
type soakCmd struct {
	programs
	Duration time.Duration `required:"" help:"How long workers are killed; coming to rest is extra."`
	Kills    int           `help:"Stop after so many kills."`
	Seed     uint64        `default:"1" help:"Seed of the choices."`
	Out      string        `default:"reports/out/chaos-soak" type:"path" placeholder:"DIR" help:"Folder of the result and the logs (default ${default})."`
}

// Validate is called by kong.
func (c *soakCmd) Validate() error {
	if c.Duration <= 0 || c.Kills < 0 {
		return errors.New("--duration must be above zero, --kills not below")
	}
	return nil
}

// Run soaks, writes the result and prints what was hit and the summary.
func (c *soakCmd) Run(ctx context.Context) error {
	logs, err := logFolder(c.Out)
	if err != nil {
		return exit{reports.ExitEnvironment, err}
	}
	outcome, hits, err := chaos.Soak(ctx, chaos.SoakConfig{
		Programs: chaos.Programs(c.programs),
		Duration: c.Duration,
		Kills:    c.Kills,
		Seed:     c.Seed,
		Logs:     logs,
		Log:      os.Stderr,
	})
	if err != nil {
		return environment(ctx, err)
	}
	result := chaos.Places(chaos.Result(reports.New(build(), map[string]string{
		"duration": c.Duration.String(),
		"seed":     strconv.FormatUint(c.Seed, 10),
	}), []chaos.Outcome{outcome}), hits)
	err = errors.Join(chaos.HitsTable(os.Stdout, hits),
		chaos.Table(os.Stdout, []chaos.Outcome{outcome}))
	return finish(ctx, result, c.Out, err)
}
