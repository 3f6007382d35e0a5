package sim

import "ordeal/scenarios"

// limit names what a run may have only so many of.
type limit string

// The limits.
const (
	noLimit      limit = ""
	crashLimit   limit = "crashes"
	pauseLimit   limit = "pauses"
	cutLimit     limit = "cuts"
	restartLimit limit = "restarts"
	jumpLimit    limit = "jumps"
)

// mostJumps is how often clocks jump in a run.
const mostJumps = 2

// limitOf is the limit that a kind counts towards.
func limitOf(kind scenarios.FaultKind) limit {
	switch {
	case kind.IsCrash():
		return crashLimit
	case kind == scenarios.Pause:
		return pauseLimit
	case kind == scenarios.NetCut:
		return cutLimit
	case kind == scenarios.DBRestart:
		return restartLimit
	case kind == scenarios.ClockJump:
		return jumpLimit
	}
	return noLimit
}

// drawLimits draws the run's own limits.
func (f *faults) drawLimits() {
	draw := f.world.Faults()
	for _, x := range []struct {
		what  limit
		count scenarios.Range
	}{
		{crashLimit, f.scenario.Crashes.Count},
		{pauseLimit, f.scenario.Pauses.Count},
		{cutLimit, f.scenario.Cuts.Count},
		{restartLimit, f.scenario.Restarts.Count},
	} {
		f.left[x.what] = x.count.Min + draw.Choose(string(x.what), x.count.Max-x.count.Min+1)
	}
	f.left[jumpLimit] = mostJumps
}

// usedUp tells whether the run has had all of a kind that it may have.
func (f *faults) usedUp(kind scenarios.FaultKind) bool {
	l := limitOf(kind)
	return l != noLimit && f.left[l] == 0
}

// use counts one of a kind.
func (f *faults) use(kind scenarios.FaultKind) {
	if l := limitOf(kind); l != noLimit {
		f.left[l]--
	}
}
