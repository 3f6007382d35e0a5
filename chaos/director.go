package chaos

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"ordeal/chaos/provider"
	"ordeal/chaos/stage"
	"ordeal/chaos/wire"
	"ordeal/scenarios/evidence"
	"ordeal/sim/imitation"
)

// director hears of everything that leaves a process. It gives each order its story, knows which
// step of which order is under way, and springs the trap.
type director struct {
	ctx   context.Context
	stage *stage.Stage

	mu      sync.Mutex
	stories map[string]story  // by the key of the order
	keys    map[string]string // keys of the orders that were met, by order
	kinds   map[stepRef]string
	trap    *trap
	failed  error // of a story that could not be told
}

type stepRef struct {
	order string
	step  int
}

// trap waits for a boundary of a step.
type trap struct {
	step     string // empty: any
	boundary Boundary
	key      string // of the order; empty: any
	// act is called once, in the goroutine that carries what was caught; the caught connection
	// is cut if it says so.
	act func(hit) (cut bool)
	// sprung gets the hit when act has returned.
	sprung chan hit
	// hold, if not nil, holds the caught connection after act until it is closed.
	hold <-chan struct{}
}

// hit is what a trap caught.
type hit struct {
	node  *stage.Node
	order string
	step  string
	at    time.Time
}

func newDirector(ctx context.Context) *director {
	return &director{
		ctx:     ctx,
		stories: map[string]story{},
		keys:    map[string]string{},
		kinds:   map[stepRef]string{},
	}
}

// newTrap makes a trap, not armed yet.
func newTrap(step string, b Boundary, key string, act func(hit) bool) *trap {
	return &trap{step: step, boundary: b, key: key, act: act, sprung: make(chan hit, 1)}
}

// arm sets a trap, in the place of any that is set.
func (d *director) arm(t *trap) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trap = t
}

// tell gives the order of a key its story. The key is the SKU of its first line.
func (d *director) tell(key string, s story) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stories[key] = s
}

// failure is why a story could not be told; nil if all were.
func (d *director) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

func (d *director) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failed == nil {
		d.failed = err
	}
}

// reach springs the trap if it waits for this.
func (d *director) reach(node *stage.Node, b Boundary, step, order string) (cut bool) {
	d.mu.Lock()
	t := d.trap
	if t == nil || t.boundary != b || t.step != "" && t.step != step ||
		t.key != "" && t.key != d.keys[order] {
		d.mu.Unlock()
		return false
	}
	d.trap = nil
	d.mu.Unlock()
	h := hit{node: node, order: order, step: step, at: moment()}
	cut = t.act(h)
	t.sprung <- h
	if t.hold != nil {
		select {
		case <-t.hold:
		case <-d.ctx.Done():
		}
	}
	return cut
}

// moment is the time with the precision of the database.
func moment() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// onCall hears of calls to providers.
func (d *director) onCall(node *stage.Node, m provider.Moment) provider.Fate {
	step := stepOf(m.Operation)
	boundary := AfterEffect
	switch m.Point {
	case provider.AfterAnswer:
		return provider.Pass
	case provider.BeforeEffect:
		boundary = BeforeCall
		d.meet(m, step)
	}
	if step != "" && d.reach(node, boundary, step, m.Order) {
		return provider.Cut
	}
	return provider.Pass
}

// meet notes a call, and lets the story of its order begin or go on.
func (d *director) meet(m provider.Moment, step string) {
	key := firstSKU(m)
	d.mu.Lock()
	if step != "" {
		d.kinds[stepRef{m.Order, m.Step}] = step
	}
	_, met := d.keys[m.Order]
	begins := !met && key != ""
	if begins {
		d.keys[m.Order] = key
	}
	s := d.stories[d.keys[m.Order]]
	cancels := s.cancelAtCharge && m.Operation == evidence.OpCharge && m.Attempt == 1
	d.mu.Unlock()
	if begins {
		d.begin(m.Order, s)
	}
	if cancels {
		if err := d.stage.Customers.Cancel(d.ctx, m.Order); err != nil {
			d.fail(err)
		}
	}
}

// begin scripts the providers for an order.
func (d *director) begin(order string, s story) {
	for _, x := range s.scripts {
		err := d.stage.Script(d.ctx, x.party, imitation.Script{
			Operation: x.operation, OrderID: order, Behaviours: x.behaviours,
		})
		if err != nil {
			d.fail(err)
		}
	}
}

// firstSKU is the SKU of the first line of a reservation; empty for any other call.
func firstSKU(m provider.Moment) string {
	if m.Operation != evidence.OpReserve {
		return ""
	}
	var body struct {
		Items []struct {
			SKU string `json:"sku"`
		} `json:"items"`
	}
	if json.Unmarshal(m.Body, &body) != nil || len(body.Items) == 0 {
		return ""
	}
	return body.Items[0].SKU
}

// onStatement hears of statements.
func (d *director) onStatement(node *stage.Node, m wire.Moment) wire.Fate {
	cut := false
	switch {
	case m.Failed || m.Point == wire.AfterAnswer:
	case m.Statement == "RecordResults":
		cut = d.recording(node, m)
	case m.Statement == "TakeSteps" && m.Point == wire.BeforeAnswer && m.Rows > 0:
		cut = d.reach(node, AfterTake, "", "")
	case m.Statement == "CreateOrder":
		cut = d.reach(node, boundaryOf(m.Point), stepCreate, "")
	}
	if cut {
		return wire.Cut
	}
	return wire.Pass
}

// boundaryOf is the boundary of a commit that a point is.
func boundaryOf(p wire.Point) Boundary {
	if p == wire.BeforeForward {
		return BeforeCommit
	}
	return AfterCommit
}

// recording looks whether the results of calls that are being recorded are what the trap waits
// for.
func (d *director) recording(node *stage.Node, m wire.Moment) (cut bool) {
	for _, ref := range recorded(m) {
		d.mu.Lock()
		step := d.kinds[ref]
		d.mu.Unlock()
		if step != "" && d.reach(node, boundaryOf(m.Point), step, ref.order) {
			cut = true
		}
	}
	return cut
}

// The parameters of RecordResults that say which results it records.
const (
	parameterOrders   = 0
	parameterSteps    = 1
	parameterOutcomes = 5
	parameterLost     = 9
)

// recorded lists the steps whose calls have come to the results that a statement records. What a
// sweep records about a dead worker, and what was handed back unsent, is no result of a call.
func recorded(m wire.Moment) []stepRef {
	if len(m.Parameters) <= parameterLost {
		return nil
	}
	var orders []pgtype.UUID
	var numbers []int16
	var outcomes []string
	var lost []bool
	for _, p := range []struct {
		at   int
		oid  uint32
		into any
	}{
		{parameterOrders, pgtype.UUIDArrayOID, &orders},
		{parameterSteps, pgtype.Int2ArrayOID, &numbers},
		{parameterOutcomes, pgtype.TextArrayOID, &outcomes},
		{parameterLost, pgtype.BoolArrayOID, &lost},
	} {
		if m.Parameters[p.at].Scan(p.oid, p.into) != nil {
			return nil
		}
	}
	var refs []stepRef
	for i, order := range orders {
		if i < len(numbers) && i < len(outcomes) && i < len(lost) && !lost[i] &&
			outcomes[i] != "not_sent" {
			refs = append(refs, stepRef{order.String(), int(numbers[i])})
		}
	}
	return refs
}
