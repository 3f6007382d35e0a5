package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"ordeal/chaos/stage"
)

// load is the customers of a play.
type load struct {
	stage    *stage.Stage
	director *director
	group    *errgroup.Group
	ctx      context.Context
	cancel   context.CancelFunc
}

// newLoad makes customers who live no longer than ctx. One of them in trouble does not end the
// others.
func newLoad(ctx context.Context, s *stage.Stage, d *director) *load {
	ctx, cancel := context.WithCancel(ctx)
	return &load{stage: s, director: d, group: new(errgroup.Group), ctx: ctx, cancel: cancel}
}

// order lets a customer create the order of a key, which lives as a story tells.
func (l *load) order(key string, s story, rng *rand.Rand) {
	l.director.tell(key, s)
	items := draw(key, rng)
	l.group.Go(func() error {
		order, err := l.stage.Customers.Create(l.ctx, key, items)
		if err != nil || s.decision.state == "" {
			return err
		}
		return l.decide(order, s.decision)
	})
}

// decideBound limits how long an operator waits for an order to come to him.
const decideBound = 2 * time.Minute

// decide lets the operator give a command once the order is in the state for it. An order that
// took another way and has come to rest is left alone.
func (l *load) decide(order string, d decision) error {
	ctx, cancel := context.WithTimeout(l.ctx, decideBound)
	defer cancel()
	for {
		state, version, err := l.stage.State(ctx, order)
		if err == nil && state == d.state {
			return l.stage.Customers.Operate(ctx, d.route, order, version, d.fields)
		}
		if rested, err := l.stage.RestedOrder(ctx, order); err == nil && rested && state != d.state {
			return nil
		}
		if err := sleep(ctx, 2*watchEvery); err != nil {
			return fmt.Errorf("wait for %s of order %s: %w", d.state, order, err)
		}
	}
}

// draw draws the lines of an order; the first one carries its key.
func draw(key string, rng *rand.Rand) []stage.Item {
	items := []stage.Item{{SKU: key, Quantity: 1 + rng.Int64N(3), UnitPrice: 100 + rng.Int64N(900)}}
	for n := range rng.IntN(3) {
		items = append(items, stage.Item{
			SKU:       fmt.Sprintf("sku-%d", n+1),
			Quantity:  1 + rng.Int64N(3),
			UnitPrice: 100 * (1 + rng.Int64N(500)),
		})
	}
	return items
}

// stream creates orders that nothing befalls, one after the other, until stop is closed.
func (l *load) stream(name string, every time.Duration, rng *rand.Rand, stop <-chan struct{}) {
	l.group.Go(func() error {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for n := 1; ; n++ {
			l.order(fmt.Sprintf("%s-%d", name, n), story{}, rng)
			select {
			case <-stop:
				return nil
			case <-l.ctx.Done():
				return l.ctx.Err()
			case <-tick.C:
			}
		}
	})
}

// wait waits until every customer has a final answer.
func (l *load) wait() error { return l.group.Wait() }

// stop ends all customers who still wait.
func (l *load) stop() {
	l.cancel()
	_ = l.group.Wait() // their errors were told, or are our own cancellation
}
