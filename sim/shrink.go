package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ordeal/reports"
	"ordeal/sim/engine"
)

// ShrinkConfig says what is shrunk.
type ShrinkConfig struct {
	// Scenario and Seed name the run, Course says how its choices are made.
	Scenario string
	Seed     uint64
	Course   Course
	// Invariant is what has to stay violated; empty means what the run violates first.
	Invariant string
	Build     reports.Build
	// Budget ends the search after so much real time, with the best found until then.
	Budget time.Duration
	// Workers is the number of worker processes, Worker starts one.
	Workers int
	Worker  WorkerCommand
	// Progress is told about every step; it must not block.
	Progress func(ShrinkProgress)
}

// ShrinkProgress is how far shrinking is: the number of choices that differ from the default
// run, before and now.
type ShrinkProgress struct {
	Runs, Before, Now int
	Elapsed           time.Duration
}

// Shrunk is what shrinking came to.
type Shrunk struct {
	Replay Replay
	ShrinkProgress
	// Exact counts how many of Repeats strict replays gave the same events.
	Exact, Repeats int
	// Difference is where two of the replays part, nil where none did.
	Difference *Difference
	// Finished says that nothing smaller was left to try when the search ended.
	Finished bool
}

// ErrNothingToShrink says that the run violates nothing (or not what was asked for).
var ErrNothingToShrink = errors.New("nothing to shrink: the run violates nothing")

// Shrink makes a failing run smaller. With an error it returns the best found until then, if any:
// ctx ended, or the surroundings failed.
//
// It sets choices back to zero, the plainest value, as long as the same invariant stays violated.
// Whole kinds of choices are tried first, then halves, quarters and so on down to single ones
// (delta debugging), faults before the schedule before the workload. What remains is what the
// failure needs.
//
// A candidate is played by engine.Adapt, so it keeps of the rest what still fits. What the run
// really did is then the next thing to shrink; it is never more.
func Shrink(ctx context.Context, g *Ground, c ShrinkConfig) (Shrunk, error) {
	p, err := g.openPool(ctx, c.Workers, c.Worker)
	if err != nil {
		return Shrunk{}, err
	}
	defer p.close()
	s := &shrinker{ShrinkConfig: c, pool: p, start: time.Now()}
	if err := s.begin(ctx); err != nil {
		return Shrunk{}, err
	}
	limited, cancel := context.WithTimeout(ctx, c.Budget)
	defer cancel()
	err = s.search(limited)
	switch {
	case ctx.Err() != nil:
		return s.shrunk(false), ctx.Err()
	case err != nil && limited.Err() == nil:
		return s.shrunk(false), err
	}
	return s.end(ctx, err == nil)
}

// shrinker is shrinking under way.
type shrinker struct {
	ShrinkConfig
	pool  *pool
	start time.Time
	runs  int
	// before is the size of the run that shrinking began with.
	before int
	best   Verdict
	now    []engine.Deviation
}

// begin plays the run to be shrunk.
func (s *shrinker) begin(ctx context.Context) error {
	course := s.Course
	course.Choices = true
	all, err := s.pool.verdicts(ctx, []job{s.job(course)})
	if err != nil {
		return err
	}
	v := all[0]
	if s.Invariant == "" {
		s.Invariant, _ = v.Finding()
	}
	if s.Invariant == "" || !v.Violates(s.Invariant) {
		return ErrNothingToShrink
	}
	if v.Choices == nil {
		return fmt.Errorf("the run ended its process, so its choices are not known: %s", v.Broken)
	}
	s.adopt(v)
	s.before = len(s.now)
	s.tell()
	return nil
}

func (s *shrinker) job(c Course) job {
	return job{Scenario: s.Scenario, Seed: s.Seed, Course: &c}
}

// course plays deviations by the rules of the run.
func (s *shrinker) course(d []engine.Deviation, f Follow) Course {
	c := Course{Recorded: d, Follow: f, Choices: true}
	if s.Course.Strategy == Exhaustive {
		c.Strategy, c.Crashes = Exhaustive, s.Course.Crashes
	}
	return c
}

// adopt takes a run as the smallest so far.
func (s *shrinker) adopt(v Verdict) { s.best, s.now = v, engine.Deviations(v.Choices) }

func (s *shrinker) progress() ShrinkProgress {
	return ShrinkProgress{Runs: s.runs, Before: s.before, Now: len(s.now),
		Elapsed: time.Since(s.start)}
}

func (s *shrinker) tell() {
	if s.Progress != nil {
		s.Progress(s.progress())
	}
}

// streams are shrunk in this order.
var streams = []string{engine.StreamFaults, engine.StreamSchedule, engine.StreamWorkload}

// search shrinks until nothing can be left out any more.
func (s *shrinker) search(ctx context.Context) error {
	for size := -1; size != len(s.now); {
		size = len(s.now)
		if err := s.leaveOutKinds(ctx); err != nil {
			return err
		}
		for _, stream := range streams {
			of := func(d engine.Deviation) bool { return d.Stream == stream }
			if err := s.leaveOutParts(ctx, of); err != nil {
				return err
			}
		}
	}
	return nil
}

// kind is what a choice is about, whoever's it is.
func kind(d engine.Deviation) string {
	label, _, _ := strings.Cut(d.Label, "@")
	return d.Stream + " " + label
}

// leaveOutKinds tries to leave out all choices of a stream or kind at once.
func (s *shrinker) leaveOutKinds(ctx context.Context) error {
	for _, stream := range []string{engine.StreamSchedule, engine.StreamWorkload} {
		without := without(s.now, func(d engine.Deviation) bool { return d.Stream == stream })
		if _, err := s.first(ctx, [][]engine.Deviation{without}); err != nil {
			return err
		}
	}
	var kinds []string
	for _, d := range s.now {
		if !slices.Contains(kinds, kind(d)) {
			kinds = append(kinds, kind(d))
		}
	}
	for _, k := range kinds {
		without := without(s.now, func(d engine.Deviation) bool { return kind(d) == k })
		if _, err := s.first(ctx, [][]engine.Deviation{without}); err != nil {
			return err
		}
	}
	return nil
}

func without(all []engine.Deviation, drop func(engine.Deviation) bool) []engine.Deviation {
	return slices.DeleteFunc(slices.Clone(all), drop)
}

// leaveOutParts tries to leave out ever smaller parts of some choices, from the end: what comes
// late disturbs the least of the rest.
func (s *shrinker) leaveOutParts(ctx context.Context, of func(engine.Deviation) bool) error {
	for size := count(s.now, of); size > 0; size /= 2 {
		for end := count(s.now, of); end > 0; {
			var parts [][]engine.Deviation
			ends := []int{end}
			for range s.pool.workers {
				if last := ends[len(ends)-1]; last > 0 {
					begin := max(0, last-size)
					parts = append(parts, cutOut(s.now, of, begin, last))
					ends = append(ends, begin)
				}
			}
			hit, err := s.first(ctx, parts)
			if err != nil {
				return err
			}
			end = ends[len(parts)]
			if hit >= 0 {
				end = min(ends[hit+1], count(s.now, of))
			}
		}
	}
	return nil
}

func count(all []engine.Deviation, of func(engine.Deviation) bool) (n int) {
	for _, d := range all {
		if of(d) {
			n++
		}
	}
	return n
}

// cutOut leaves out those of the chosen deviations that have an index in [begin, end).
func cutOut(
	all []engine.Deviation, of func(engine.Deviation) bool, begin, end int,
) []engine.Deviation {
	n := -1
	return without(all, func(d engine.Deviation) bool {
		if !of(d) {
			return false
		}
		n++
		return begin <= n && n < end
	})
}

// first plays candidates side by side and adopts the first, in their order, that still fails. It
// returns its index, -1 where all hold.
func (s *shrinker) first(ctx context.Context, candidates [][]engine.Deviation) (int, error) {
	var jobs []job
	for _, c := range candidates {
		if len(c) < len(s.now) {
			jobs = append(jobs, s.job(s.course(c, Loosely)))
		}
	}
	if len(jobs) < len(candidates) {
		return -1, nil
	}
	all, err := s.pool.verdicts(ctx, jobs)
	if err != nil {
		return -1, err
	}
	s.runs += len(jobs)
	defer s.tell()
	for i, v := range all {
		if v.Violates(s.Invariant) && v.Choices != nil {
			s.adopt(v)
			return i, nil
		}
	}
	return -1, nil
}

// repeats is how often the result is replayed before it is handed out.
const repeats = 5

// shrunk is what was reached.
func (s *shrinker) shrunk(finished bool) Shrunk {
	r := Shrunk{ShrinkProgress: s.progress(), Finished: finished}
	r.Replay = NewReplay(s.Build, s.Course, s.best)
	if r.Replay.Expect.Invariant != s.Invariant {
		r.Replay.Expect.Invariant = s.Invariant
		r.Replay.Expect.Message = s.best.messageOf(s.Invariant)
	}
	return r
}

// end replays the smallest run, by its own word.
func (s *shrinker) end(ctx context.Context, finished bool) (Shrunk, error) {
	r := s.shrunk(finished)
	r.Repeats = repeats
	again := make([]job, repeats)
	for i := range again {
		again[i] = s.job(s.course(s.now, Strictly))
		again[i].Trace = true
	}
	all, err := s.pool.verdicts(ctx, again)
	for _, v := range all {
		if v.EventHash == s.best.EventHash && v.Violates(s.Invariant) {
			r.Exact++
		}
		if v.EventHash != all[0].EventHash {
			r.Difference = part(all[0].Trace, v.Trace)
		}
	}
	return r, err
}

// messageOf is what a run says about an invariant that it violates.
func (v Verdict) messageOf(id string) string {
	for _, j := range v.Invariants {
		if j.ID == id && len(j.Violations) > 0 {
			return fmt.Sprintf("order %s: %s", j.Violations[0].Order, j.Violations[0].Message)
		}
	}
	return v.Broken
}
