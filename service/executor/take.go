package executor

import (
	"context"
	"time"

	"ordeal/service/order"
)

// takeLoop takes due steps while there is room, until stop ends. Ctx is the context of its
// statements and of the calls, which outlive stop during a drain.
func (e *Executor) takeLoop(stop, ctx context.Context) {
	jitter := e.Jitter("take")
	for stop.Err() == nil {
		e.take(stop, ctx)
		e.pause(stop, e.PollEvery, jitter, e.nudged)
	}
}

// take takes as many steps as there is room for and starts them. The statement is not interrupted
// by a stop: steps that were taken must be known here, to be handed back.
func (e *Executor) take(stop, ctx context.Context) {
	room := e.MaxInWork - e.leases.count()
	if room <= 0 {
		return
	}
	began := e.Clock.Now()
	until := began.Add(e.Lease)
	statement, cancel := context.WithTimeout(ctx, order.CallTimeout)
	defer cancel()
	taken, err := e.Steps.TakeSteps(statement, order.TakeRequest{
		Owner:    e.Name,
		Versions: e.Versions,
		Limit:    room,
		Lease:    e.Lease,
	})
	if err != nil {
		e.Log.Warn("no steps taken", "executor", e.Name, "error", err)
		e.Observer.Failed("take")
		return
	}
	e.Observer.Took(began, taken)
	e.begin(stop, ctx, taken, until)
}

// begin starts what was taken. Steps that may not be called for any more are handed back together:
// goroutines of their own would race for the order of their results.
func (e *Executor) begin(stop, ctx context.Context, taken []order.TakenStep, until time.Time) {
	var unsent []order.Result
	for _, step := range taken {
		e.leases.hold(step.Ref, until)
		if e.mayCall(stop, step) {
			e.workers.Add(1)
			go e.work(stop, ctx, step) // ends within a call's timeout
			continue
		}
		result, err := e.resultOf(step, Reply{Outcome: order.OutcomeNotSent})
		if err != nil {
			e.inconsequent(step, err)
			continue
		}
		unsent = append(unsent, result)
	}
	e.recorder.add(unsent...)
}
