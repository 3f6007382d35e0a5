package sim

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
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
	// Course says how the choices of the seeds' runs are made; nil means drawn evenly.
	Course *Course
	// Corpus are replays that are played before the seeds, those of the scenarios alone.
	Corpus []Replay
	// Workers is the number of worker processes. If anything is verified there is one more.
	Workers int
	// Budget ends the sweep after so much real time; zero means no bound.
	Budget time.Duration
	// ShardIndex, from 1, and ShardCount select every ShardCount-th run; zero means all.
	ShardIndex, ShardCount int
	// Verify is the share of runs that are played twice, in another process with another
	// GOMAXPROCS and other plans of the server; failing ones always are.
	Verify float64
	// Compare is the share of runs whose faultless twin is played too, where they had one kind
	// of fault.
	Compare float64
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
	s.progress.Total = s.total()
	start := time.Now()
	s.work(ctx, g)
	result = s.tally.result(result, time.Since(start), s.Scenarios)
	if outer.Err() != nil {
		return result, outer.Err()
	}
	return result, s.err
}

// jobs lists the runs: first the corpus, then seed by seed, all scenarios, so that a sweep that
// ends early has covered every scenario alike.
func (s *sweep) jobs() iter.Seq[job] {
	return func(yield func(job) bool) {
		n := 0
		mine := func(j job) bool {
			n++
			if s.ShardCount > 0 && (n-1)%s.ShardCount != s.ShardIndex-1 {
				return true
			}
			return yield(j)
		}
		for _, j := range corpusJobs(s.Corpus, s.Scenarios) {
			if !mine(j) {
				return
			}
		}
		for seed := s.From; ; seed++ {
			for _, x := range s.Scenarios {
				j := job{Scenario: x.Name, Seed: seed, Course: s.Course}
				j.Compare = share("compare", j) < s.Compare
				if !mine(j) {
					return
				}
			}
			if seed == s.To {
				return
			}
		}
	}
}

// total is how many runs there are.
func (s *sweep) total() int {
	all := uint64(len(corpusJobs(s.Corpus, s.Scenarios))) +
		(s.To-s.From+1)*uint64(len(s.Scenarios))
	if s.ShardCount == 0 {
		return int(all)
	}
	count, before := uint64(s.ShardCount), uint64(s.ShardIndex-1)
	return int((all + count - 1 - before) / count)
}

// verifierProcs is the GOMAXPROCS of the process that plays runs for the second time.
const verifierProcs = 2

// suspectsWaiting bounds the runs that wait to be played again; players wait for the verifier then.
const suspectsWaiting = 64

// work spreads jobs over the workers and waits for them.
func (s *sweep) work(ctx context.Context, g *Ground) {
	todo := make(chan job)
	suspects := make(chan suspect, suspectsWaiting)
	var players, verifiers sync.WaitGroup
	for range max(1, min(s.Workers, s.progress.Total)) {
		players.Go(func() { s.player(ctx, g, todo, suspects) })
	}
	verifiers.Go(func() { s.verifier(ctx, g, suspects) })
	for j := range s.jobs() {
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

// suspect is a run that is to be played for the second time.
type suspect struct {
	job   job
	first Verdict
}

// player plays jobs in a process of its own.
func (s *sweep) player(ctx context.Context, g *Ground, todo <-chan job, again chan<- suspect) {
	w, err := s.hire(ctx, g, 1)
	if err != nil {
		s.fail(err)
		return
	}
	defer w.stop()
	for j := range todo {
		verified := share("verify", j) < s.Verify
		j.Trace = verified
		v, err := w.play(ctx, j)
		if err != nil {
			s.fail(err)
			return
		}
		if v.Passed() && !verified {
			s.finish(v, check{})
			continue
		}
		select {
		case again <- suspect{j, v}:
		case <-ctx.Done(): // a failing run is a failing run, played again or not
			s.finish(v, check{})
		}
	}
}

// verifier plays runs for the second time. One that it no longer comes to counts as it is.
func (s *sweep) verifier(ctx context.Context, g *Ground, again <-chan suspect) {
	var w *worker
	defer func() {
		if w != nil {
			w.stop()
		}
	}()
	for run := range again {
		var err error
		if w == nil {
			if w, err = s.hire(ctx, g, verifierProcs); err != nil {
				s.fail(err)
				s.finish(run.first, check{})
				continue
			}
			w.plans = otherPlans
		}
		c, err := w.verify(ctx, run)
		if err != nil {
			s.fail(err)
		}
		s.finish(run.first, c)
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

// share draws, by a hash, a number from 0 to 1 for a run and a purpose.
func share(purpose string, j job) float64 {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%s %s %d", purpose, j.Scenario, j.Seed)
	return float64(h.Sum32()%10_000) / 10_000
}

// finish counts a verdict, and what playing it again came to.
func (s *sweep) finish(v Verdict, c check) {
	s.mu.Lock()
	defer s.mu.Unlock()
	failed := s.tally.add(v, c)
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
