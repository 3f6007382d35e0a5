package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ordeal/scenarios"
	"ordeal/scenarios/evidence"
	"ordeal/sim/engine"
)

// Customers' patience: a request without an answer is given up, and what was not answered for
// good is sent again under the same key.
const (
	requestPatience = 10 * time.Second
	maxTries        = 30
)

// customers are the clients of a run. Each order has scripts of its own, drawn before the run
// begins, so that what one customer does shifts nothing for another.
type customers struct {
	workload scenarios.Workload
	world    *engine.World
	running  atomic.Int64

	mu        sync.Mutex
	exchanges []evidence.Exchange
}

// done reports whether every script has ended.
func (c *customers) done() bool { return c.running.Load() == 0 }

// wish is what a customer wants with one order.
type wish struct {
	customer string
	name     string // of the script, unique in the run
	key      string
	body     []byte
	start    time.Duration

	duplicate   bool
	duplicateIn time.Duration
	cancel      bool
	cancelIn    time.Duration
	repeat      bool
	repeatIn    time.Duration
	trespass    bool
	repeatKey   bool // the repeated cancellation carries the same key
	readIn      time.Duration
}

// begin draws the workload and starts the scripts.
func (c *customers) begin(w *engine.World) {
	c.world = w
	d := workloadDraw{w.Workload(), "orders"}
	orders := d.within("", c.workload.Orders)
	start := time.Duration(0)
	for n := range orders {
		d.about = fmt.Sprintf("order-%d", n+1)
		wish := c.draw(d, n)
		start += d.span("after the one before", c.workload.Spacing)
		wish.start = start
		c.script(wish.name, func(ctx context.Context, rng *rand.Rand) { c.live(ctx, rng, wish) })
		if wish.duplicate {
			c.script(wish.name+"/again", func(ctx context.Context, rng *rand.Rand) {
				c.sleep(ctx, wish.start+wish.duplicateIn)
				c.create(ctx, rng, wish, wish.name+"/again")
			})
		}
	}
	c.hire(c.workload.Operators)
}

// draw draws the n-th order. What it does not do draws nothing.
func (c *customers) draw(d workloadDraw, n int) wish {
	customer := customerName(n % max(1, c.workload.Clients))
	w := wish{
		customer: customer,
		name:     fmt.Sprintf("%s/order-%d", customer, n+1),
		key:      fmt.Sprintf("order-%d", n+1),
		body:     drawBody(d, c.workload.Items),
		readIn:   d.span("read after", scenarios.Span{Max: 20 * time.Second}),
	}
	w.duplicate = d.chance("created twice", c.workload.DuplicatePerMille)
	if w.duplicate && d.chance("second create later", 500) {
		w.duplicateIn = d.span("second create after", scenarios.Span{Max: 10 * time.Second})
	}
	w.trespass = d.chance("tries an operator's route", c.workload.Operators.TrespassPerMille)
	cancel := c.workload.Cancel
	w.cancel = d.chance("cancelled", cancel.PerMille)
	if !w.cancel {
		return w
	}
	if !d.chance("cancelled at once", cancel.AtOncePerMille) {
		w.cancelIn = d.span("cancelled after", cancel.After)
	}
	w.repeat = d.chance("cancelled twice", cancel.RepeatPerMille)
	if w.repeat {
		w.repeatIn = d.span("second cancel after", scenarios.Span{Max: 5 * time.Second})
		w.repeatKey = d.chance("second cancel under the same key", 500)
	}
	return w
}

// drawBody draws the lines of an order.
func drawBody(d workloadDraw, items scenarios.Range) []byte {
	body := []byte(`{"items":[`)
	for n := range d.within("lines", items) {
		if n > 0 {
			body = append(body, ',')
		}
		body = fmt.Appendf(body, `{"sku":"sku-%d","quantity":%d,"unit_price":%d}`, n+1,
			d.within("quantity", scenarios.Range{Min: 1, Max: 3}),
			100*d.within("price", scenarios.Range{Min: 1, Max: 500}))
	}
	return append(body, `]}`...)
}

// workloadDraw draws from the recorded workload stream. Zero is the plainest workload: the
// smallest count, at once, and no.
type workloadDraw struct {
	*engine.Draw
	about string
}

func (d workloadDraw) label(what string) string { return strings.TrimSpace(d.about + " " + what) }

func (d workloadDraw) within(what string, r scenarios.Range) int {
	return r.Min + d.Choose(d.label(what), r.Max-r.Min+1)
}

func (d workloadDraw) span(what string, s scenarios.Span) time.Duration {
	return d.Duration(d.label(what), engine.Range(s))
}

func (d workloadDraw) chance(what string, perMille int) bool {
	const whole = 1000
	if perMille == 0 {
		return false
	}
	yes := whole-1-d.Choose(d.label(what), whole) < perMille
	if yes {
		d.Note("yes")
	}
	return yes
}

// span draws a duration for a goroutine of a customer, which no recorded stream is for.
func span(rng *rand.Rand, s scenarios.Span) time.Duration {
	return s.Min + time.Duration(rng.Int64N(int64(s.Max-s.Min)+1))
}

// script runs a part of a customer's life, with a source of randomness of its own.
func (c *customers) script(name string, f func(context.Context, *rand.Rand)) {
	c.running.Add(1)
	rng := c.world.Rand("script " + name)
	c.world.Go(name, func(ctx context.Context) {
		defer c.running.Add(-1)
		f(ctx, rng)
	})
}

// live creates an order, cancels it where that is wished, and looks at it.
func (c *customers) live(ctx context.Context, rng *rand.Rand, w wish) {
	c.sleep(ctx, w.start)
	id := c.create(ctx, rng, w, w.name)
	if id == "" {
		return
	}
	if w.trespass {
		c.trespass(ctx, rng, w, id)
	}
	if w.cancel {
		c.sleep(ctx, w.cancelIn)
		c.cancel(ctx, rng, w, id, "cancel-1")
		if w.repeat {
			key := "cancel-2"
			if w.repeatKey {
				key = "cancel-1"
			}
			c.sleep(ctx, w.repeatIn)
			c.cancel(ctx, rng, w, id, key)
		}
	}
	c.sleep(ctx, w.readIn)
	c.exchange(ctx, w.customer, w.name, request{route: evidence.RouteRead, order: id})
}

// create creates an order, again and again under one key until it is answered for good, and
// returns its id; empty where patience ended first.
func (c *customers) create(ctx context.Context, rng *rand.Rand, w wish, client string) string {
	e := c.insist(ctx, rng, w.customer, client, request{
		route: evidence.RouteCreate, key: w.key, body: w.body,
	})
	return e.Shown.Order
}

// cancel cancels an order, again and again under one key until it is answered for good.
func (c *customers) cancel(ctx context.Context, rng *rand.Rand, w wish, id, key string) {
	c.insist(ctx, rng, w.customer, w.name, request{
		route: evidence.RouteCancel, order: id, key: key, body: []byte(`{}`),
	})
}

// insist repeats a request until its answer is final.
func (c *customers) insist(
	ctx context.Context, rng *rand.Rand, customer, client string, r request,
) evidence.Exchange {
	var e evidence.Exchange
	for range maxTries {
		e = c.exchange(ctx, customer, client, r)
		if !e.Undecided() || ctx.Err() != nil {
			return e
		}
		c.sleep(ctx, time.Second+span(rng, scenarios.Span{Max: 4 * time.Second}))
	}
	return e
}

// sleep waits on the world's clock; it returns early when the run ends.
func (c *customers) sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := c.world.Clock().NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.Chan():
	}
}
