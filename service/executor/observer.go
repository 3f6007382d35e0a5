package executor

import (
	"context"
	"time"

	"ordeal/service/order"
)

// Observer hears what an executor does, for metrics and traces. It decides nothing, returns at
// once, and is called by several goroutines.
type Observer interface {
	// Took hears of a statement that took steps, and when it began.
	Took(began time.Time, steps []order.TakenStep)
	// Calling hears that the call of a step begins. The call gets the context returned, and
	// ended hears what it came to.
	Calling(ctx context.Context, step order.TakenStep) (
		call context.Context, ended func(outcome order.Outcome, code string))
	// Recorded hears of a statement that recorded results, and when it began. Kept tells which
	// were accepted; the others came too late.
	Recorded(began time.Time, results []order.Result, kept []bool)
	// LeasesLost hears of renewals that came too late.
	LeasesLost(leases int)
	// ReservationsExpired hears of orders whose deadline passed.
	ReservationsExpired(orders int)
	// Failed hears that a statement failed, by the verb of its loop.
	Failed(operation string)
}

// unobserved is the observer of an executor that nobody watches.
type unobserved struct{}

func (unobserved) Took(time.Time, []order.TakenStep) {}

func (unobserved) Calling(ctx context.Context, _ order.TakenStep) (
	context.Context, func(order.Outcome, string),
) {
	return ctx, func(order.Outcome, string) {}
}

func (unobserved) Recorded(time.Time, []order.Result, []bool) {}
func (unobserved) LeasesLost(int)                             {}
func (unobserved) ReservationsExpired(int)                    {}
func (unobserved) Failed(string)                              {}
