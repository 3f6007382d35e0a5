package main

import (
	"fmt"

	"ordeal/sim"
)

// strategyFlags choose how the order of events is drawn. They are part of several commands.
type strategyFlags struct {
	Strategy string `default:"random" placeholder:"NAME" help:"How the next event is drawn: random (evenly) or pct (priorities that change depth-1 times) (default ${default})."`
	Depth    int    `default:"3" help:"Depth of pct: how many orderings a bug may need (default ${default})."`
}

// course checks the flags and turns them into a course.
func (f strategyFlags) course() (sim.Course, error) {
	c := sim.Course{Strategy: sim.Strategy(f.Strategy), Depth: f.Depth}
	return c, c.Check()
}

// reproduce is the command that plays one run again.
func (f strategyFlags) reproduce(scenario string, seed uint64) string {
	command := fmt.Sprintf("go run ./cmd/simulate run --scenario %s --seed %d --trace", scenario,
		seed)
	if f.Strategy != string(sim.Random) {
		command += fmt.Sprintf(" --strategy %s --depth %d", f.Strategy, f.Depth)
	}
	return command
}
