package sim

import (
	"fmt"
	"slices"
	"strings"

	"ordeal/sim/engine"
)

// Strategy names a way to choose in which order things happen.
type Strategy string

// The strategies.
const (
	// Random chooses every next operation evenly among all that are pending.
	Random Strategy = "random"
	// PCT gives senders and operations priorities that change a few times; see engine.PCT.
	PCT Strategy = "pct"
	// Exhaustive is what Explore does: crashes and outcomes of calls are forced, one by one,
	// on a run that is plain otherwise.
	Exhaustive Strategy = "exhaustive"
)

// Strategies lists those that a sweep can be asked for.
func Strategies() []Strategy { return []Strategy{Random, PCT} }

// DefaultDepth is the depth of PCT where none is given: two changes of priority.
const DefaultDepth = 3

// Course says how the choices of a run are made. The zero value draws them from the seed.
type Course struct {
	Strategy Strategy `json:"strategy,omitempty"`
	// Depth is that of PCT.
	Depth int `json:"depth,omitempty"`
	// Crashes is how many an exhaustive run may have.
	Crashes int `json:"crashes,omitempty"`
	// Follow says how Recorded is followed; empty: not at all.
	Follow Follow `json:"follow,omitempty"`
	// Recorded are the deviations of the run to repeat.
	Recorded []engine.Deviation `json:"recorded,omitempty"`
	// Choices asks for the choices of the run.
	Choices bool `json:"choices,omitempty"`
	// Unaided asks the database every time, also where its answer is known; see engine.Quiet.
	Unaided bool `json:"unaided,omitempty"`
	// Faultless leaves out everything that goes wrong.
	Faultless bool `json:"faultless,omitempty"`
	// Source decides the choices instead, for use within one process.
	Source engine.Source `json:"-"`
}

// Follow is a way to follow recorded deviations.
type Follow string

// The ways to follow.
const (
	// Strictly breaks the run off at the first deviation that does not fit.
	Strictly Follow = "strictly"
	// Loosely takes what fits; see engine.Adapt.
	Loosely Follow = "loosely"
)

// Check reports a strategy that is not in the closed list, or a depth that makes no sense.
func (c Course) Check() error {
	if c.Strategy != "" && !slices.Contains(Strategies(), c.Strategy) {
		var names []string
		for _, s := range Strategies() {
			names = append(names, string(s))
		}
		return fmt.Errorf("strategy %q is not one of %s", c.Strategy, strings.Join(names, ", "))
	}
	if c.Depth < 0 || c.Depth > 100 {
		return fmt.Errorf("depth %d is not within 1 and 100", c.Depth)
	}
	return nil
}

// source returns what decides the choices of a run.
func (c Course) source(seed uint64) engine.Source {
	switch {
	case c.Source != nil:
		return c.Source
	case c.Follow == Strictly:
		return engine.Recall(c.Recorded)
	case c.Follow == Loosely:
		return engine.Adapt(c.Recorded)
	case c.Strategy == PCT && c.Depth == 0:
		return engine.PCT(seed, DefaultDepth)
	case c.Strategy == PCT:
		return engine.PCT(seed, c.Depth)
	}
	return engine.Seeded(seed)
}
