package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"ordeal/reports"
)

// surroundings are conditions that must not show in a run.
type surroundings struct {
	name string
	// procs is GOMAXPROCS, gc GOGC, load how many goroutines spin beside the run.
	procs, gc, load int
	// unaided asks the database every time, plans are those of otherPlans.
	unaided bool
	plans   string
}

// allSurroundings differ in everything that could show: how many goroutines run at once, how
// often and when the garbage collector stops them, how long a goroutine waits for a processor, and
// in which order a server comes upon rows.
var allSurroundings = []surroundings{
	{name: "one processor", procs: 1, gc: 400},
	{name: "two processors", procs: 2, gc: 100, unaided: true},
	{name: "collecting all the time", procs: 2, gc: 5},
	{name: "other plans of the server", procs: 1, gc: 100, plans: otherPlans},
	{name: "under load", procs: 4, gc: 50, load: 4},
}

// Surroundings lists the names of what Determinism varies.
func Surroundings() (names []string) {
	for _, s := range allSurroundings {
		names = append(names, s.name)
	}
	return names
}

// Determinism plays every run of a sweep in several processes at once, each with surroundings of
// its own, and compares their event logs. Every difference is a failure. Of the configuration,
// Workers, Verify and Compare mean nothing. As with Sweep, the result is complete as far as it
// goes also when the error is not nil.
func Determinism(
	ctx context.Context, g *Ground, c SweepConfig, result reports.Result,
) (reports.Result, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c.Verify, c.Compare = 0, 0
	s := &sweep{SweepConfig: c, stop: stop, tally: newTally(c.Command)}
	s.progress.Total = s.total()
	var crew []*worker
	for _, around := range allSurroundings {
		w, err := s.hire(ctx, g, around.procs)
		if err != nil {
			return result, err
		}
		w.gc, w.plans = around.gc, around.plans
		defer w.stop()
		crew = append(crew, w)
	}
	start := time.Now()
	var err error
	for j := range s.jobs() {
		if err = s.playEverywhere(ctx, crew, j); err != nil {
			break
		}
	}
	return s.tally.result(result, time.Since(start), s.Scenarios), err
}

// playEverywhere plays a run in all surroundings and counts it.
func (s *sweep) playEverywhere(ctx context.Context, crew []*worker, j job) error {
	j.Trace = true
	verdicts := make([]Verdict, len(crew))
	errs := make([]error, len(crew))
	var all sync.WaitGroup
	for i, w := range crew {
		all.Go(func() {
			mine := j
			mine.Load = allSurroundings[i].load
			if allSurroundings[i].unaided {
				mine = mine.unaided()
			}
			verdicts[i], errs[i] = w.play(ctx, mine)
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	s.finish(verdicts[0], compareEverywhere(verdicts))
	return nil
}

// compareEverywhere looks for the first surroundings that show.
func compareEverywhere(verdicts []Verdict) check {
	c := check{repeats: exact}
	same := 0
	for i, v := range verdicts {
		if v.EventHash == verdicts[0].EventHash && v.EventHash != "" {
			same++
			continue
		}
		if c.difference == nil {
			c.difference = part(verdicts[0].Trace, v.Trace)
			c.difference.Between = [2]string{allSurroundings[0].name, allSurroundings[i].name}
		}
	}
	if same < len(verdicts) {
		c.repeats = fmt.Sprintf("%d of %d", same, len(verdicts))
	}
	return c
}

// burden keeps n goroutines busy until the returned function is called.
func burden(n int) (lift func()) {
	done := make(chan struct{})
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					runtime.Gosched()
				}
			}
		})
	}
	return func() {
		close(done)
		all.Wait()
	}
}
