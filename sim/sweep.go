package sim

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"ordeal/reports"
	"ordeal/scenarios"
)

// SweepConfig says what a sweep runs.
type SweepConfig struct {
	Scenarios []scenarios.Scenario
	// From and To are the first and the last seed.
	From, To uint64
	// Workers is the number of worker processes. If anything is verified there is one more.
	Workers int
	// Budget ends the sweep after so much real time; zero means no bound.
	Budget time.Duration
	// ShardIndex, from 1, and ShardCount select every ShardCount-th run; zero means all.
	ShardIndex, ShardCount int
	// Verify is the share of runs that are played twice, in another process with another
	// GOMAXPROCS; failing ones always are.
	Verify float64
	// StopOnFirst ends the sweep at the first failure.
	StopOnFirst bool
	// Worker starts a worker process.
	Worker WorkerCommand
	// Command returns what reproduces a run when pasted into a shell.
	Command func(scenario string, seed uint64) string
	// Progress is told about every finished run; it must not block.
	Progress func(Progress)
}

// Progress is how far a sweep is.
type Progress struct {
	Done, Total, Failed int
}

// sweep is a sweep on its way.
type sweep struct {
	SweepConfig
	mu       sync.Mutex
	tally    tally
	progress Progress
	stop     context.CancelFunc
	err      error
}

// Sweep plays all runs and adds up their verdicts. The result is complete as far as it goes also
// when the error is not nil: ctx ended, or the surroundings failed.
func Sweep(
	ctx context.Context, g *Ground, c SweepConfig, result reports.Result,
) (reports.Result, error) {
	outer := ctx
	if c.Budget > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Budget)
		defer cancel()
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := &sweep{SweepConfig: c, stop: stop, tally: newTally(c.Command)}
	jobs := s.jobs()
	s.progress.Total = len(jobs)
	start := time.Now()
	s.work(ctx, g, jobs)
	result = s.tally.result(result, time.Since(start), s.Scenarios)
	if outer.Err() != nil {
		return result, outer.Err()
	}
	return result, s.err
}

// jobs lists the runs: seed by seed, all scenarios, so that a sweep that ends early has covered
// every scenario alike.
func (s *sweep) jobs() []job {
	var all []job
	for seed := s.From; ; seed++ {
		for _, x := range s.Scenarios {
			all = append(all, job{Scenario: x.Name, Seed: seed})
		}
		if seed == s.To {
			break
		}
	}
	if s.ShardCount == 0 {
		return all
	}
	var mine []job
	for i, j := range all {
		if i%s.ShardCount == s.ShardIndex-1 {
			mine = append(mine, j)
		}
	}
	return mine
}

// verifierProcs is the GOMAXPROCS of the process that plays runs for the second time.
const verifierProcs = 2

// work spreads jobs over the workers and waits for them.
func (s *sweep) work(ctx context.Context, g *Ground, jobs []job) {
	todo := make(chan job)
	suspects := make(chan Verdict, len(jobs))
	var players, verifiers sync.WaitGroup
	for range max(1, min(s.Workers, len(jobs))) {
		players.Go(func() { s.player(ctx, g, todo, suspects) })
	}
	verifiers.Go(func() { s.verifier(ctx, g, suspects) })
	for _, j := range jobs {
		select {
		case todo <- j:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(todo)
	players.Wait()
	close(suspects)
	verifiers.Wait()
}

// player plays jobs in a process of its own.
func (s *sweep) player(ctx context.Context, g *Ground, todo <-chan job, again chan<- Verdict) {
	w, err := s.hire(ctx, g, 1)
	if err != nil {
		s.fail(err)
		return
	}
	defer w.stop()
	for j := range todo {
		v, err := w.play(ctx, j)
		if err != nil {
			s.fail(err)
			return
		}
		if !v.Passed() || s.chosen(j) {
			again <- v
			continue
		}
		s.finish(v, nil)
	}
}

// verifier plays runs for the second time.
func (s *sweep) verifier(ctx context.Context, g *Ground, again <-chan Verdict) {
	var w *worker
	for first := range again {
		if w == nil {
			var err error
			if w, err = s.hire(ctx, g, verifierProcs); err != nil {
				s.fail(err)
				return
			}
			defer w.stop()
		}
		difference, err := w.verify(ctx, first)
		if err != nil {
			s.fail(err)
			return
		}
		s.finish(first, difference)
	}
}

// hire makes a worker; its process starts with the first job.
func (s *sweep) hire(ctx context.Context, g *Ground, procs int) (*worker, error) {
	url, err := g.clone(ctx)
	if err != nil {
		return nil, fmt.Errorf("database for a worker: %w", err)
	}
	return &worker{
		url: url, canSignal: g.server.CanSignal(), command: s.Worker, procs: procs,
	}, nil
}

// chosen draws, by a hash, whether a run is verified.
func (s *sweep) chosen(j job) bool {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "verify %s %d", j.Scenario, j.Seed)
	return float64(h.Sum32()%10_000) < s.Verify*10_000
}

// finish counts a verdict; difference is where a second run parted from it, nil if it did not.
func (s *sweep) finish(v Verdict, difference *Difference) {
	s.mu.Lock()
	defer s.mu.Unlock()
	failed := s.tally.add(v, difference)
	s.progress.Done++
	if failed {
		s.progress.Failed++
		if s.StopOnFirst {
			s.stop()
		}
	}
	if s.Progress != nil {
		s.Progress(s.progress)
	}
}

// fail notes that the surroundings failed and ends the sweep.
func (s *sweep) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && !errors.Is(err, context.Canceled) &&
		!errors.Is(err, context.DeadlineExceeded) {
		s.err = err
	}
	s.stop()
}

// Difference is where two runs of one seed part.
type Difference struct {
	// First and Again are the first events that differ; empty where only the hashes are known,
	// or where one log had ended.
	First, Again string
	// Index is their place in the logs, -1 where it is not known.
	Index int
}

// String tells the difference in words.
func (d Difference) String() string {
	if d.Index < 0 {
		return "the event hashes of two runs differ; more runs did not show where"
	}
	return fmt.Sprintf("two runs part at event %d: %q, then %q", d.Index, d.First, d.Again)
}

// searches is how many more runs look for the place where two runs part.
const searches = 10

// verify plays a run again and compares it with the first.
func (w *worker) verify(ctx context.Context, first Verdict) (*Difference, error) {
	j := job{Scenario: first.Scenario, Seed: first.Seed}
	again, err := w.play(ctx, j)
	if err != nil || again.EventHash == first.EventHash {
		return nil, err
	}
	j.Trace = true
	var before Verdict
	for n := range searches {
		v, err := w.play(ctx, j)
		if err != nil {
			return nil, err
		}
		if n > 0 && v.EventHash != before.EventHash {
			return part(before.Trace, v.Trace), nil
		}
		before = v
	}
	return &Difference{Index: -1}, nil
}

// part finds the first difference of two logs.
func part(a, b []string) *Difference {
	for i := range max(len(a), len(b)) {
		d := Difference{Index: i}
		if i < len(a) {
			d.First = a[i]
		}
		if i < len(b) {
			d.Again = b[i]
		}
		if d.First != d.Again {
			return &d
		}
	}
	return &Difference{Index: -1}
}
