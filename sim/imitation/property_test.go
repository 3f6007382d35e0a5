package imitation

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"pgregory.net/rapid"
)

// world is a provider under random operations, with what the test knows about it.
type world struct {
	handler interface {
		http.Handler
		Ledger() []Entry
		Keys() []KeyState
	}
	clock    *clockwork.FakeClock
	next     Behaviour          // what the planner answers to the call under way
	said     map[string]Outcome // final outcome that a client saw of each key
	bodies   map[string]string  // first body of each own key that had an outcome
	statuses map[string]Outcome // final outcome that queries saw of each key
}

func newWorld() *world {
	return &world{
		clock:    clockwork.NewFakeClockAt(epoch),
		said:     map[string]Outcome{},
		bodies:   map[string]string{},
		statuses: map[string]Outcome{},
	}
}

// config lets the world plan each call.
func (w *world) config() Config {
	return Config{Clock: w.clock, Planner: PlannerFunc(func(Call) Behaviour { return w.next })}
}

// plans are the behaviours that are done within ServeHTTP and leave the answer readable.
var plans = []Behaviour{
	{Kind: Succeed}, {Kind: Succeed}, {Kind: Succeed}, {Kind: Refuse}, {Kind: Pending},
	{Kind: Pending, SettleRefused: true}, {Kind: NotProcessed}, {Kind: Duplicate},
}

// call draws a plan, sends a request and checks that nothing definite is ever taken back.
func (w *world) call(t *rapid.T, key, method, path, body string) {
	w.next = rapid.SampledFrom(plans).Draw(t, "plan")
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, newRequest(key, method, path, body))
	var a answer
	if err := json.Unmarshal(recorder.Body.Bytes(), &a); err != nil {
		t.Fatalf("%s %s: %q: %v", method, path, recorder.Body, err)
	}
	if key == "" {
		w.keepsStatus(t, path, a)
		return
	}
	w.keepsWord(t, key, path+body, a)
}

// keepsWord: one key, one definite answer, and none for another request.
func (w *world) keepsWord(t *rapid.T, key, asked string, a answer) {
	if first, bound := w.bodies[key]; bound && first != asked {
		if a.Outcome != "" && a.Outcome != Untouched {
			t.Fatalf("key %s was used for %s and answers %s to %s", key, first, a.Outcome, asked)
		}
		return
	}
	if a.Outcome == "" || a.Outcome == Untouched {
		return
	}
	w.bodies[key] = asked
	if before, final := w.said[key]; final && a.Outcome != before && a.Outcome != Untouched {
		t.Fatalf("key %s said %s and now says %s", key, before, a.Outcome)
	}
	if a.definite() {
		w.said[key] = a.Outcome
	}
}

// keepsStatus: what queries see of a key becomes final once, too.
func (w *world) keepsStatus(t *rapid.T, path string, a answer) {
	if a.Outcome == Undecided || a.Outcome == NotFound || a.Outcome == Untouched {
		return
	}
	if w.lapsed(path) {
		return
	}
	if before, final := w.statuses[path]; final && before != a.Outcome {
		t.Fatalf("%s was %s and now is %s", path, before, a.Outcome)
	}
	w.statuses[path] = a.Outcome
}

// lapsed reports whether a status path is about a key that lapsed and may be decided anew.
func (w *world) lapsed(path string) bool {
	return slices.ContainsFunc(w.handler.Keys(), func(k KeyState) bool {
		return k.State == Lapsed && path == "/v1/reservations/"+k.Key
	})
}

// oneEffect: an own key has at most one effect, and one more for each lapse of it.
func (w *world) oneEffect(t *rapid.T) {
	allowed, seen := map[string]int{}, map[string]int{}
	for i, e := range w.handler.Ledger() {
		if e.Seq != i+1 {
			t.Fatalf("entry %d has number %d", i, e.Seq)
		}
		if e.Origin == FromLapse {
			allowed[e.TargetKey]++
			continue
		}
		if e.Effect {
			seen[e.Key]++
		}
		if e.Effect && e.Duplicate {
			t.Fatalf("a remembered answer had an effect: %+v", e)
		}
		if seen[e.Key] > 1+allowed[e.Key] {
			t.Fatalf("key %s has %d effects", e.Key, seen[e.Key])
		}
	}
}

// drawKey returns one of few keys, so that they meet often.
func drawKey(t *rapid.T, prefix string) string {
	return fmt.Sprintf("%s%d", prefix, rapid.IntRange(1, 4).Draw(t, prefix))
}

// TestWarehouseKeepsItsStock: whatever is asked, reserved + available + shipped = supplied, none
// is negative, and what is reserved and shipped is what the keys say.
func TestWarehouseKeepsItsStock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		warehouse := NewWarehouse(WarehouseConfig{
			Config: w.config(), Stock: map[string]int64{"a": 5, "b": 3}, SafetyTTL: 10 * time.Hour,
		})
		w.handler = warehouse
		named := func(verb, prefix string) func(*rapid.T) {
			return func(t *rapid.T) {
				path := "/v1/reservations/" + drawKey(t, "k") + verb
				w.call(t, drawKey(t, prefix), "POST", path, orderOnly)
			}
		}
		quantities := map[string]int64{}
		t.Repeat(map[string]func(*rapid.T){
			"reserve": func(t *rapid.T) {
				key, sku := drawKey(t, "k"), rapid.SampledFrom([]string{"a", "b", "z"}).Draw(t, "sku")
				quantity := rapid.Int64Range(1, 3).Draw(t, "quantity")
				body := fmt.Sprintf(
					`{"order_id":"o1","items":[{"sku":%q,"quantity":%d}]}`, sku, quantity)
				w.call(t, key, "POST", "/v1/reservations", body)
				if w.bodies[key] == "/v1/reservations"+body {
					quantities[key] = quantity
				}
			},
			"release": named("/release", "l"),
			"commit":  named("/commit", "c"),
			"status": func(t *rapid.T) {
				w.call(t, "", "GET", "/v1/reservations/"+drawKey(t, "k"), "")
			},
			"wait": func(t *rapid.T) {
				w.clock.Advance(time.Duration(rapid.IntRange(1, 12).Draw(t, "h")) * time.Hour)
				w.forgetLapsed()
			},
			"": func(t *rapid.T) {
				stockAddsUp(t, warehouse.Stock(), warehouse.Keys(), quantities)
				w.oneEffect(t)
			},
		})
	})
}

// forgetLapsed: of a key that lapsed any answer is admitted again.
func (w *world) forgetLapsed() {
	for _, k := range w.handler.Keys() {
		if k.State == Lapsed {
			delete(w.said, k.Key)
			delete(w.statuses, "/v1/reservations/"+k.Key)
		}
	}
}

func stockAddsUp(t *rapid.T, stock []StockLine, keys []KeyState, quantities map[string]int64) {
	var reserved, shipped int64
	for _, line := range stock {
		if min(line.Available, line.Reserved, line.Shipped) < 0 ||
			line.Available+line.Reserved+line.Shipped != line.Supplied {
			t.Fatalf("stock does not add up: %+v", line)
		}
		reserved, shipped = reserved+line.Reserved, shipped+line.Shipped
	}
	for _, k := range keys {
		switch k.State {
		case Held:
			reserved -= quantities[k.Key]
		case Committed:
			shipped -= quantities[k.Key]
		}
	}
	if reserved != 0 || shipped != 0 {
		t.Fatalf("%d reserved and %d shipped belong to no key", reserved, shipped)
	}
}

// TestPaymentKeepsItsWord: a key is charged or voided, never both, and refunds never exceed.
func TestPaymentKeepsItsWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.handler = NewPayment(w.config())
		t.Repeat(map[string]func(*rapid.T){
			"charge": func(t *rapid.T) {
				body := rapid.SampledFrom([]string{charge100, charge200}).Draw(t, "body")
				w.call(t, drawKey(t, "k"), "POST", "/v1/charges", body)
			},
			"void": func(t *rapid.T) {
				path := "/v1/charges/" + drawKey(t, "k") + "/void"
				w.call(t, drawKey(t, "v"), "POST", path, orderOnly)
			},
			"refund": func(t *rapid.T) {
				body := fmt.Sprintf(
					`{"order_id":"o1","charge_key":%q,"amount":%d,"currency":"RUB"}`,
					drawKey(t, "k"), rapid.IntRange(40, 110).Draw(t, "amount"))
				w.call(t, drawKey(t, "r"), "POST", "/v1/refunds", body)
			},
			"status of charge": func(t *rapid.T) {
				w.call(t, "", "GET", "/v1/charges/"+drawKey(t, "k"), "")
			},
			"status of refund": func(t *rapid.T) {
				w.call(t, "", "GET", "/v1/refunds/"+drawKey(t, "r"), "")
			},
			"": func(t *rapid.T) {
				moneyAddsUp(t, w.handler.Ledger())
				w.oneEffect(t)
			},
		})
	})
}

func moneyAddsUp(t *rapid.T, ledger []Entry) {
	charged, refunded, closed := map[string]int64{}, map[string]int64{}, map[string]bool{}
	for _, e := range ledger {
		if !e.Effect {
			continue
		}
		switch e.Operation {
		case Charge:
			charged[e.Key] += e.Amount
		case Refund:
			refunded[e.TargetKey] += e.Amount
		case Void:
			closed[e.TargetKey] = true
		}
		for key := range closed {
			if charged[key] != 0 {
				t.Fatalf("key %s is voided and charged", key)
			}
		}
		for key, sum := range refunded {
			if sum > charged[key] {
				t.Fatalf("%d refunded of %d under %s", sum, charged[key], key)
			}
		}
	}
}

// TestShippingKeepsItsWord: a key is shipped or closed, never both.
func TestShippingKeepsItsWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.handler = NewShipping(w.config())
		t.Repeat(map[string]func(*rapid.T){
			"ship": func(t *rapid.T) {
				w.call(t, drawKey(t, "k"), "POST", "/v1/shipments", twoItems)
			},
			"cancel": func(t *rapid.T) {
				path := "/v1/shipments/" + drawKey(t, "k") + "/cancel"
				w.call(t, drawKey(t, "x"), "POST", path, orderOnly)
			},
			"status": func(t *rapid.T) {
				w.call(t, "", "GET", "/v1/shipments/"+drawKey(t, "k"), "")
			},
			"": func(t *rapid.T) {
				w.oneEffect(t)
				closed := map[string]bool{}
				for _, e := range w.handler.Ledger() {
					closed[e.TargetKey] = closed[e.TargetKey] || e.Operation == CancelShip && e.Effect
					if e.Operation == Ship && e.Effect && closed[e.Key] {
						t.Fatalf("key %s was shipped after it was closed", e.Key)
					}
				}
			},
		})
	})
}
