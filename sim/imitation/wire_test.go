package imitation

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
)

// epoch is when test clocks start.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// ask sends one request to a handler in this goroutine, as the simulation does.
func ask(t *testing.T, h http.Handler, key, method, path, body string) (int, answer) {
	t.Helper()
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, newRequest(key, method, path, body))
	var a answer
	if err := json.Unmarshal(recorder.Body.Bytes(), &a); err != nil {
		t.Fatalf("%s %s: answer %q: %v", method, path, recorder.Body, err)
	}
	return recorder.Code, a
}

// newRequest builds a request of order o1 as the wire contract asks.
func newRequest(key, method, path, body string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(headerOrder, "o1")
	r.Header.Set(headerStep, "2")
	r.Header.Set(headerAttempt, "1")
	if key != "" {
		r.Header.Set(headerKey, key)
	}
	return r
}

// config is a configuration whose clock stands still until the test moves it.
func config(p Planner) (Config, *clockwork.FakeClock) {
	clock := clockwork.NewFakeClockAt(epoch)
	return Config{Clock: clock, Planner: p}, clock
}

// scripted returns a planner with one script.
func scripted(t *testing.T, op Operation, list ...Behaviour) *Scripted {
	t.Helper()
	s := NewScripted(Happy{})
	if err := s.Add(Script{Operation: op, Behaviours: list}); err != nil {
		t.Fatal(err)
	}
	return s
}

const (
	orderOnly = `{"order_id":"o1"}`
	charge100 = `{"order_id":"o1","amount":100,"currency":"RUB"}`
	charge200 = `{"order_id":"o1","amount":200,"currency":"RUB"}`
	twoItems  = `{"order_id":"o1","items":[{"sku":"a","quantity":2},{"sku":"b","quantity":1}]}`
)

// exchange is one row of a conversation with a provider: a request and what must come back.
type exchange struct {
	key, method, path, body string
	status                  int
	outcome                 Outcome
	code                    string
}

// converse runs the rows in turn.
func converse(t *testing.T, h http.Handler, rows []exchange) {
	t.Helper()
	for i, row := range rows {
		status, a := ask(t, h, row.key, row.method, row.path, row.body)
		if status != row.status || a.Outcome != row.outcome || a.Code != row.code {
			t.Fatalf("row %d, %s %s: got %d %q %q, want %d %q %q", i, row.method, row.path,
				status, a.Outcome, a.Code, row.status, row.outcome, row.code)
		}
	}
}

func TestPaymentConversation(t *testing.T) {
	c, _ := config(nil)
	converse(t, NewPayment(c), []exchange{
		{"", "GET", "/v1/charges/k1", "", 404, NotFound, ""},
		{"k1", "POST", "/v1/charges", charge100, 201, Succeeded, ""},
		{"k1", "POST", "/v1/charges", charge100, 201, Succeeded, ""},
		{"k1", "POST", "/v1/charges", charge200, 422, "", codeKeyReused},
		{"", "GET", "/v1/charges/k1", "", 200, Succeeded, ""},
		{"v1", "POST", "/v1/charges/k1/void", orderOnly, 409, Refused, codeAlreadyCharged},
		{"v2", "POST", "/v1/charges/k2/void", orderOnly, 200, Succeeded, ""},
		{"v2", "POST", "/v1/charges/k2/void", orderOnly, 200, Succeeded, ""},
		{"v2", "POST", "/v1/charges/k3/void", orderOnly, 422, "", codeKeyReused},
		{"v3", "POST", "/v1/charges/k2/void", orderOnly, 200, Succeeded, ""},
		{"k2", "POST", "/v1/charges", charge100, 402, Refused, codeKeyClosed},
		{"", "GET", "/v1/charges/k2", "", 200, Voided, ""},
	})
}

func TestRefundsNeverExceedTheCharge(t *testing.T) {
	c, _ := config(nil)
	p := NewPayment(c)
	refund := func(charge, amount string) string {
		return `{"order_id":"o1","charge_key":"` + charge + `","amount":` + amount +
			`,"currency":"RUB"}`
	}
	converse(t, p, []exchange{
		{"r0", "POST", "/v1/refunds", refund("k1", "1"), 402, Refused, codeUnknownCharge},
		{"k1", "POST", "/v1/charges", charge100, 201, Succeeded, ""},
		{"r1", "POST", "/v1/refunds", refund("k1", "60"), 201, Succeeded, ""},
		{"r2", "POST", "/v1/refunds", refund("k1", "41"), 402, Refused, codeExceedsCharge},
		{"r3", "POST", "/v1/refunds", refund("k1", "40"), 201, Succeeded, ""},
		{"r2", "POST", "/v1/refunds", refund("k1", "41"), 402, Refused, codeExceedsCharge},
		{"", "GET", "/v1/refunds/r2", "", 200, Refused, codeExceedsCharge},
		{"", "GET", "/v1/refunds/r3", "", 200, Succeeded, ""},
		{"", "GET", "/v1/refunds/r9", "", 404, NotFound, ""},
	})
	if got := p.Keys()[0].Returned; got != 100 {
		t.Fatalf("returned %d of the charge, want 100", got)
	}
}

func TestWarehouseConversation(t *testing.T) {
	c, _ := config(nil)
	w := NewWarehouse(WarehouseConfig{Config: c, Stock: map[string]int64{"a": 3, "b": 2}})
	unknown := `{"order_id":"o1","items":[{"sku":"a","quantity":1},{"sku":"z","quantity":1}]}`
	converse(t, w, []exchange{
		{"k1", "POST", "/v1/reservations", twoItems, 201, Succeeded, ""},
		{"k2", "POST", "/v1/reservations", twoItems, 409, Refused, codeOutOfStock},
		{"k3", "POST", "/v1/reservations", unknown, 409, Refused, codeUnknownSKU},
		{"l1", "POST", "/v1/reservations/k1/release", orderOnly, 200, Succeeded, ""},
		{"k2", "POST", "/v1/reservations", twoItems, 409, Refused, codeOutOfStock},
		{"l4", "POST", "/v1/reservations/k4/release", orderOnly, 200, Succeeded, ""},
		{"k4", "POST", "/v1/reservations", twoItems, 409, Refused, codeKeyClosed},
		{"k5", "POST", "/v1/reservations", twoItems, 201, Succeeded, ""},
		{"c5", "POST", "/v1/reservations/k5/commit", orderOnly, 200, Succeeded, ""},
		{"c6", "POST", "/v1/reservations/k5/commit", orderOnly, 200, Succeeded, ""},
		{"l5", "POST", "/v1/reservations/k5/release", orderOnly, 409, Refused, codeAlreadyCommitted},
		{"c7", "POST", "/v1/reservations/k1/commit", orderOnly, 409, Refused, codeNotHeld},
		{"c8", "POST", "/v1/reservations/k9/commit", orderOnly, 409, Refused, codeNotHeld},
	})
	for key, want := range map[string]State{"k1": Released, "k5": Committed} {
		if _, a := ask(t, w, "", "GET", "/v1/reservations/"+key, ""); a.State != want {
			t.Errorf("state of %s: %q, want %q", key, a.State, want)
		}
	}
	want := StockLine{SKU: "a", Supplied: 3, Available: 1, Shipped: 2}
	if got := w.Stock()[0]; got != want {
		t.Errorf("stock %+v, want %+v", got, want)
	}
}

func TestShippingConversation(t *testing.T) {
	c, _ := config(scripted(t, Ship, Behaviour{Kind: Succeed}, Behaviour{Kind: Refuse}))
	converse(t, NewShipping(c), []exchange{
		{"k1", "POST", "/v1/shipments", twoItems, 201, Succeeded, ""},
		{"x1", "POST", "/v1/shipments/k1/cancel", orderOnly, 409, Refused, codeAlreadyShipped},
		{"k2", "POST", "/v1/shipments", twoItems, 409, Refused, "no_carrier"},
		{"k2", "POST", "/v1/shipments", twoItems, 409, Refused, "no_carrier"},
		{"x2", "POST", "/v1/shipments/k2/cancel", orderOnly, 200, Succeeded, ""},
		{"x3", "POST", "/v1/shipments/k3/cancel", orderOnly, 200, Succeeded, ""},
		{"k3", "POST", "/v1/shipments", twoItems, 409, Refused, codeKeyClosed},
		{"", "GET", "/v1/shipments/k1", "", 200, Succeeded, ""},
		{"", "GET", "/v1/shipments/k3", "", 200, Refused, codeKeyClosed},
		{"", "GET", "/v1/shipments/k4", "", 404, NotFound, ""},
	})
}
