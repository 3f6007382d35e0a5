package sim

import (
	"context"
	"fmt"
	"sync"
)

// pool is a few worker processes that play jobs side by side.
type pool struct{ workers []*worker }

// openPool makes n workers; their processes start with their first jobs.
func (g *Ground) openPool(ctx context.Context, n int, command WorkerCommand) (*pool, error) {
	p := &pool{}
	for range max(n, 1) {
		url, err := g.clone(ctx)
		if err != nil {
			return nil, fmt.Errorf("database for a worker: %w", err)
		}
		p.workers = append(p.workers, &worker{
			url: url, canSignal: g.server.CanSignal(), command: command, procs: 1,
		})
	}
	return p, nil
}

func (p *pool) close() {
	for _, w := range p.workers {
		w.stop()
	}
}

// play plays all jobs and hands their verdicts to done, one at a time, in the order in which
// they come. It returns early with the first error. A worker's process lives no longer than the
// context of the call that started it.
func (p *pool) play(ctx context.Context, jobs []job, done func(i int, v Verdict)) error {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed error
	next := 0
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1, next <= len(jobs) && failed == nil
	}
	for _, w := range p.workers {
		wg.Go(func() {
			for i, ok := take(); ok; i, ok = take() {
				v, err := w.play(ctx, jobs[i])
				mu.Lock()
				if err != nil {
					failed = err
				} else {
					done(i, v)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return failed
}

// verdicts plays all jobs and returns their verdicts in the order of the jobs.
func (p *pool) verdicts(ctx context.Context, jobs []job) ([]Verdict, error) {
	all := make([]Verdict, len(jobs))
	err := p.play(ctx, jobs, func(i int, v Verdict) { all[i] = v })
	return all, err
}
