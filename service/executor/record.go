package executor

import (
	"context"
	"sync"
	"time"

	"ordeal/service/order"
)

// maxBatch bounds the results of one record.
const maxBatch = 100

// recordBackoff separates the tries of a record that failed.
const recordBackoff = 250 * time.Millisecond

// recorder collects results on their way to the store.
type recorder struct {
	mu    sync.Mutex
	queue []order.Result
	wake  chan struct{}
}

// add queues results, all of them before the record loop looks.
func (r *recorder) add(results ...order.Result) {
	if len(results) == 0 {
		return
	}
	r.mu.Lock()
	r.queue = append(r.queue, results...)
	r.mu.Unlock()
	signal(r.wake)
}

// next removes a batch from the queue: first come first, at most one result per order.
func (r *recorder) next() []order.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	var batch, rest []order.Result
	seen := map[order.ID]bool{}
	for _, result := range r.queue {
		if len(batch) == maxBatch || seen[result.Ref.OrderID] {
			rest = append(rest, result)
			continue
		}
		seen[result.Ref.OrderID] = true
		batch = append(batch, result)
	}
	r.queue = rest
	return batch
}

// recordLoop records what is queued, everything that came meanwhile in one statement.
func (e *Executor) recordLoop(ctx context.Context) {
	jitter := e.Jitter("record")
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.recorder.wake:
		}
		for batch := e.recorder.next(); len(batch) > 0; batch = e.recorder.next() {
			if failed := e.record(ctx, batch); len(failed) == 0 {
				continue
			} else if !e.pause(ctx, recordBackoff, jitter, nil) {
				return
			} else {
				e.requeue(failed)
			}
		}
	}
}

// record writes a batch. One that fails as a whole is repeated row by row, so that one bad row
// cannot hold the others; it returns the results that could not be written.
func (e *Executor) record(ctx context.Context, batch []order.Result) (failed []order.Result) {
	if e.write(ctx, batch) {
		return nil
	}
	if len(batch) == 1 {
		return batch
	}
	for _, result := range batch {
		if !e.write(ctx, []order.Result{result}) {
			failed = append(failed, result)
		}
	}
	return failed
}

// write records results in one statement and finishes their steps.
func (e *Executor) write(ctx context.Context, batch []order.Result) bool {
	ctx, cancel := context.WithTimeout(ctx, order.CallTimeout)
	defer cancel()
	began := e.Clock.Now()
	kept, err := e.Steps.RecordResults(ctx, batch)
	if err != nil {
		e.Log.Warn("results not recorded", "executor", e.Name, "results", len(batch),
			"error", err)
		e.Observer.Failed("record")
		return false
	}
	e.Observer.Recorded(began, batch, kept)
	refs := make([]order.StepRef, len(batch))
	for i, result := range batch {
		if kept[i] {
			e.Log.Debug("recorded", e.fields(result)...)
			e.expectRetry(result)
		} else {
			e.Log.Warn("late result", e.fields(result)...)
		}
		refs[i] = result.Ref
	}
	e.finish(refs...)
	return true
}

// fields are what a log says of a result: the ids that find it elsewhere, and how it ended.
func (e *Executor) fields(r order.Result) []any {
	return []any{"executor", e.Name, "order", r.Ref.OrderID, "step", r.Ref.StepNo,
		"attempt", r.Attempt, "trace_id", r.TraceID, "kind", r.Kind, "outcome", r.Outcome}
}

// expectRetry looks for due steps again when what was just recorded comes due, so that a retry
// does not wait for the next poll. The timer starts after the commit, hence never fires early.
func (e *Executor) expectRetry(result order.Result) {
	switch {
	case result.Follow.Status == order.StepDue:
		e.Clock.AfterFunc(result.Retry, e.Nudge)
	case result.Follow.NewSeries:
		e.Clock.AfterFunc(result.SeriesDelay, e.Nudge)
	}
}

// requeue queues failed results again while their leases last; without a lease nobody would
// accept them, and the sweep of another executor takes over.
func (e *Executor) requeue(failed []order.Result) {
	now := e.Clock.Now()
	var lost []order.StepRef
	for _, result := range failed {
		if !e.leases.trusted(result.Ref, now) {
			e.Log.Warn("result given up", e.fields(result)...)
			lost = append(lost, result.Ref)
			continue
		}
		e.recorder.add(result)
	}
	e.finish(lost...)
}
