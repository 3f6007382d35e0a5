package sim

import (
	"time"

	"ordeal/sim/engine"
)

// pace is the service's configuration in a run, drawn with the workload: how often the loops of
// idle executors look for work, and when each executor is started. An idle poll finds nothing and
// costs a statement, so most runs have long pauses; production's own are short, and some runs
// come near them. Executors that start late meet orders that wait for them, all at once.
type pace struct {
	poll, sweep time.Duration
}

// paces are drawn from evenly; the first is the plainest.
var paces = [...]pace{
	{20 * time.Second, 30 * time.Second},
	{20 * time.Second, 30 * time.Second},
	{20 * time.Second, 30 * time.Second},
	{20 * time.Second, 30 * time.Second},
	{20 * time.Second, 30 * time.Second},
	{10 * time.Second, 15 * time.Second},
	{5 * time.Second, 10 * time.Second},
	{time.Second, 5 * time.Second},
}

// latestStart is when the last executor starts.
const latestStart = 2 * time.Second

// drawPace draws the configuration of the run.
func drawPace(d *engine.Draw) pace {
	p := paces[d.Choose("pace", len(paces))]
	d.Note("poll every " + p.poll.String())
	return p
}

// startIn draws when an executor is started: half of them at once.
func startIn(d *engine.Draw, process string) time.Duration {
	if d.Choose("start "+process+" later", 2) == 0 {
		return 0
	}
	return d.Duration("start "+process, engine.Range{Max: latestStart})
}
