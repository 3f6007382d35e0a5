package sim

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ordeal/reports"
	"ordeal/scenarios"
	"ordeal/sim/engine"
)

// ExploreConfig says what is enumerated.
type ExploreConfig struct {
	Scenario scenarios.Scenario
	Seed     uint64
	// Crashes is the greatest number of crashes in one run, Outcomes that of calls that come
	// to something else than success.
	Crashes, Outcomes int
	// Workers is the number of worker processes, Worker starts one.
	Workers int
	Worker  WorkerCommand
	Build   reports.Build
	// Folder is where the replay files of failing runs will lie; their commands name it.
	Folder string
	// Before is told what is about to be played, Progress about every run; they must not
	// block.
	Before   func(ExploreLevel)
	Progress func(Progress)
}

// ExploreLevel is all runs with one number of deviations from the default run.
type ExploreLevel struct {
	// Deviations is that number: crashes and outcomes together.
	Deviations int
	// Runs is how many runs there are, Crashes how many of them add a crash to a run of the
	// level before, Outcomes how many an outcome.
	Runs, Crashes, Outcomes int
}

// Explored is what an enumeration came to.
type Explored struct {
	Levels []ExploreLevel
	// Runs is the number of runs played, Distinct how many different event logs they had.
	Runs, Distinct int
	Elapsed        time.Duration
	Result         reports.Result
	// Replays are the first failing runs, by file name.
	Replays map[string]Replay
}

// Explore plays every run that differs from the default run of a scenario by at most so many
// crashes and outcomes, each exactly once.
//
// The default run makes every choice the plainest: the smallest workload, no faults, operations
// in the order of their content, the shortest times. On it, and on each run that follows, these
// questions are asked until the scenario heals:
//
//	at each statement, call and response of a process   no crash; crash before it; after it,
//	                                                    without the answer; after the answer
//	at each call to a provider                          one of the closed list of outcomes
//	                                                    of its operation (enumeration.go)
//
// The runs form a tree: a child has one answer more than its parent, at a question after the
// parent's last, so that no combination is played twice, and every prefix is played once. All
// runs of one depth are a level, whose size is known exactly before it is played: it is the sum,
// over the runs of the level before, of the answers to the questions that they asked.
func Explore(
	ctx context.Context, g *Ground, c ExploreConfig, result reports.Result,
) (Explored, error) {
	p, err := g.openPool(ctx, c.Workers, c.Worker)
	if err != nil {
		return Explored{}, err
	}
	defer p.close()
	e := &explorer{ExploreConfig: c, pool: p, start: time.Now(), hashes: map[string]bool{},
		tally: newTally(func(string, uint64) string { return "" }), replays: map[string]Replay{}}
	level := []branch{{}}
	for n := 0; len(level) > 0 && err == nil; n++ {
		level, err = e.level(ctx, n, level)
	}
	c.Scenario.Mandatory = nil // which no enumeration can fire: it draws nothing
	return Explored{
		Levels:   e.levels,
		Runs:     e.runs,
		Distinct: len(e.hashes),
		Elapsed:  time.Since(e.start),
		Result: e.tally.result(result, time.Since(e.start),
			[]scenarios.Scenario{c.Scenario}),
		Replays: e.replays,
	}, err
}

// branch is a run of the tree: its answers other than zero.
type branch struct {
	answers           []engine.Deviation
	crashes, outcomes int
}

// explorer is an enumeration under way.
type explorer struct {
	ExploreConfig
	pool    *pool
	start   time.Time
	runs    int
	hashes  map[string]bool
	levels  []ExploreLevel
	tally   tally
	replays map[string]Replay
}

// level plays all runs of a level and returns those of the next.
func (e *explorer) level(ctx context.Context, n int, level []branch) ([]branch, error) {
	now := ExploreLevel{Deviations: n, Runs: len(level)}
	for _, b := range level {
		if len(b.answers) > 0 && isCrash(b.answers[len(b.answers)-1].Label) {
			now.Crashes++
		} else if len(b.answers) > 0 {
			now.Outcomes++
		}
	}
	e.levels = append(e.levels, now)
	if e.Before != nil {
		e.Before(now)
	}
	jobs := make([]job, len(level))
	for i, b := range level {
		jobs[i] = e.job(b, !e.leaf(b))
	}
	children := make([][]branch, len(level))
	progress := Progress{Total: len(level)}
	var failed []branch
	err := e.pool.play(ctx, jobs, func(i int, v Verdict) {
		e.count(level[i], v)
		children[i] = e.children(level[i], v.Choices)
		progress.Done++
		if !v.Passed() {
			progress.Failed++
			failed = append(failed, level[i])
		}
		if e.Progress != nil {
			e.Progress(progress)
		}
	})
	if err == nil {
		err = e.keep(ctx, failed)
	}
	return slices.Concat(children...), err
}

func isCrash(label string) bool { return strings.HasPrefix(label, crashQuestion+"@") }

// leaf tells whether a run has all that it may have.
func (e *explorer) leaf(b branch) bool {
	return b.crashes == e.Crashes && b.outcomes == e.Outcomes
}

func (e *explorer) course() Course { return Course{Strategy: Exhaustive, Crashes: e.Crashes} }

func (e *explorer) job(b branch, choices bool) job {
	c := e.course()
	c.Follow, c.Recorded, c.Choices = Strictly, b.answers, choices
	return job{Scenario: e.Scenario.Name, Seed: e.Seed, Course: &c}
}

// count adds the verdict of a run up.
func (e *explorer) count(b branch, v Verdict) {
	e.runs++
	e.hashes[v.EventHash] = true
	v.Replay = filepath.Join(e.Folder, e.name(b))
	e.tally.add(v, check{})
}

// name is the file name of a run: its answers.
func (e *explorer) name(b branch) string {
	name := fmt.Sprintf("%s-%d", e.Scenario.Name, e.Seed)
	for _, d := range b.answers {
		name += fmt.Sprintf("-%d.%d", d.At, d.Value)
	}
	return name + ".json"
}

// children lists the runs that have one answer more than b, whose choices are given.
func (e *explorer) children(b branch, choices []engine.Choice) []branch {
	from := 0
	if n := len(b.answers); n > 0 {
		from = b.answers[n-1].At + 1
	}
	nth := map[string]int{}
	var all []branch
	for at, c := range choices {
		if c.Stream != engine.StreamFaults {
			continue
		}
		nth[c.Label]++
		crash, outcome := isCrash(c.Label), strings.HasPrefix(c.Label, outcomeQuestion)
		if at < from || crash && b.crashes == e.Crashes || outcome && b.outcomes == e.Outcomes ||
			!crash && !outcome {
			continue
		}
		for value := 1; value < c.N; value++ {
			child := branch{crashes: b.crashes, outcomes: b.outcomes}
			child.answers = append(slices.Clone(b.answers), engine.Deviation{At: at,
				Stream: c.Stream, Label: c.Label, Nth: nth[c.Label], N: c.N, Value: value})
			if crash {
				child.crashes++
			} else {
				child.outcomes++
			}
			all = append(all, child)
		}
	}
	return all
}

// keep plays the first failing runs again, to record them whole. Runs that fail later are counted
// and named, but their files are not written.
func (e *explorer) keep(ctx context.Context, failed []branch) error {
	for _, b := range failed {
		if len(e.replays) == failuresKept {
			return nil
		}
		all, err := e.pool.verdicts(ctx, []job{e.job(b, true)})
		if err != nil {
			return err
		}
		e.replays[e.name(b)] = NewReplay(e.Build, e.course(), all[0])
	}
	return nil
}

// Names lists the kept replays in order.
func (e Explored) Names() []string { return slices.Sorted(maps.Keys(e.Replays)) }
