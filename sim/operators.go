package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	"ordeal/scenarios"
	"ordeal/scenarios/evidence"
)

// maxOperators is how many operators have tokens.
const maxOperators = 2

const operatorPrefix = "operator-"

func operatorName(n int) string { return fmt.Sprintf("%s%d", operatorPrefix, n+1) }

func roleOf(client string) string {
	if strings.HasPrefix(client, operatorPrefix) {
		return "operator"
	}
	return "customer"
}

// decisions are the routes that an operator decides by.
var decisions = []string{
	evidence.RouteRetry, evidence.RouteReconcile, evidence.RouteVoid, evidence.RouteShip,
	evidence.RouteClose, evidence.RouteRefund,
}

// hire starts the operators of the run.
func (c *customers) hire(o scenarios.Operators) {
	for n := range o.Count {
		name := operatorName(n)
		c.script(name, func(ctx context.Context, rng *rand.Rand) { c.operate(ctx, rng, name, o) })
	}
}

// operate looks at all orders, round after round, and decides what asks for a person.
func (c *customers) operate(
	ctx context.Context, rng *rand.Rand, name string, o scenarios.Operators,
) {
	rounds := o.Rounds.Min + rng.IntN(o.Rounds.Max-o.Rounds.Min+1)
	for round := range rounds {
		c.sleep(ctx, span(rng, o.Every))
		for _, id := range c.known() {
			if ctx.Err() != nil {
				return
			}
			seen, ok := c.examine(ctx, name, id)
			if !ok {
				continue
			}
			for _, d := range decide(rng, o, seen) {
				c.carryOut(ctx, rng, name, o, seen, d, fmt.Sprintf("%s-%d", name, round+1))
			}
		}
	}
}

// known lists the orders that some customer was told of, sorted.
func (c *customers) known() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ids []string
	for _, e := range c.exchanges {
		if e.Route == evidence.RouteCreate && e.Shown.Order != "" {
			ids = append(ids, e.Shown.Order)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// sight is what an operator sees of an order.
type sight struct {
	ID          string   `json:"id"`
	Version     int      `json:"version"`
	Total       int64    `json:"total"`
	NextActions []string `json:"next_actions"`
}

// examine reads an order.
func (c *customers) examine(ctx context.Context, name, id string) (s sight, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, requestPatience)
	defer cancel()
	response, err := c.send(ctx, name, name, request{route: evidence.RouteRead, order: id})
	if err != nil {
		return sight{}, false
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || json.Unmarshal(body, &s) != nil {
		return sight{}, false
	}
	return s, s.ID == id
}

// decide draws what an operator does about an order: what is asked for, a refund, or nonsense.
func decide(rng *rand.Rand, o scenarios.Operators, s sight) []string {
	hit := func(perMille int) bool { return rng.IntN(1000) < perMille }
	var all []string
	asked := slices.DeleteFunc(slices.Clone(s.NextActions), func(a string) bool {
		return !slices.Contains(decisions, a) || a == evidence.RouteRefund
	})
	if len(asked) > 0 && hit(o.ActPerMille) {
		all = append(all, asked[rng.IntN(len(asked))])
	}
	if slices.Contains(s.NextActions, evidence.RouteRefund) && hit(o.RefundPerMille) {
		all = append(all, evidence.RouteRefund)
	}
	if hit(o.WrongPerMille) {
		all = append(all, decisions[rng.IntN(len(decisions))])
	}
	return all
}

// carryOut sends a decision, sometimes about a version that has passed, sometimes twice.
func (c *customers) carryOut(
	ctx context.Context, rng *rand.Rand, name string, o scenarios.Operators,
	s sight, decision, key string,
) {
	version := s.Version
	if rng.IntN(1000) < o.StalePerMille {
		version = max(1, version-1)
	}
	body := map[string]any{"reason_code": reasonCode, "expected_version": version}
	r := request{route: decision, order: s.ID, key: key + "-" + decision}
	switch decision {
	case evidence.RouteClose:
		r.release = rng.IntN(2) == 0
		body["release_stock"] = r.release
	case evidence.RouteRefund:
		body["amount"] = 1 + rng.Int64N(s.Total)
	}
	r.body, _ = json.Marshal(body) // a map of plain values always encodes, sorted by key
	c.insist(ctx, rng, name, name, r)
	if rng.IntN(1000) < o.TwicePerMille {
		c.insist(ctx, rng, name, name, r)
	}
}

// reasonCode is one of the closed list of the API.
const reasonCode = "customer_request"

// trespass is a customer's request to an operator's route, which is refused and audited.
func (c *customers) trespass(ctx context.Context, rng *rand.Rand, w wish, id string) {
	body := fmt.Appendf(nil, `{"reason_code":%q,"expected_version":1}`, reasonCode)
	c.insist(ctx, rng, w.customer, w.name, request{
		route: evidence.RouteVoid, order: id, key: "trespass", body: body,
	})
}
