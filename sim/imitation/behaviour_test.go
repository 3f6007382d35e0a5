package imitation

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// charges runs the next charge of a payment provider whose charges follow the list.
func charges(t *testing.T, list ...Behaviour) (*Payment, *httptest.ResponseRecorder) {
	t.Helper()
	c, _ := config(scripted(t, Charge, list...))
	p := NewPayment(c)
	recorder := httptest.NewRecorder()
	p.ServeHTTP(recorder, newRequest("k1", "POST", "/v1/charges", charge100))
	return p, recorder
}

// TestAnswersInOneStep looks at every behaviour that the simulation may plan: the answer, and
// whether the charge happened, when ServeHTTP returns.
func TestAnswersInOneStep(t *testing.T) {
	rows := []struct {
		kind    Kind
		status  int
		effects int
		entries int
		body    string // what the body must contain
	}{
		{Succeed, 201, 1, 1, `"outcome":"succeeded","reference":"ch_`},
		{Refuse, 402, 0, 1, `{"outcome":"refused","code":"card_declined"}`},
		{Transient, 503, 0, 1, `upstream unavailable`},
		{NotProcessed, 503, 0, 1, `{"outcome":"not_processed"}`},
		{Permanent, 400, 0, 1, `{"code":"bad_request"}`},
		{Pending, 202, 0, 1, `{"outcome":"pending"}`},
		{Duplicate, 201, 1, 2, `"outcome":"succeeded"`},
		{Malformed, 201, 1, 1, `{"outcome":"succeeded"`},
		{WrongType, 201, 1, 1, `"outcome":"succeeded"`},
		{Huge, 201, 1, 1, `"padding":"xxx`},
		{Redirect, 307, 0, 1, ``},
		{ContradictAmount, 201, 1, 1, `"order_id":"o1","amount":101,"currency":"RUB"`},
		{ContradictOrder, 201, 1, 1, `"order_id":"` + strangerOrder + `","amount":100`},
	}
	covered := 0
	for _, row := range rows {
		p, got := charges(t, Behaviour{Kind: row.kind})
		if got.Code != row.status || !strings.Contains(got.Body.String(), row.body) {
			t.Errorf("%s: %d %.200s", row.kind, got.Code, got.Body)
		}
		if n := effects(p.Ledger()); n != row.effects || len(p.Ledger()) != row.entries {
			t.Errorf("%s: %d effects in %d entries", row.kind, n, len(p.Ledger()))
		}
		if row.kind.Timing() {
			t.Errorf("%s is a timing behaviour", row.kind)
		}
		covered++
	}
	for _, kind := range Kinds() {
		if kind.Timing() {
			covered++
		}
	}
	if covered != len(Kinds()) {
		t.Errorf("%d of %d kinds are covered here or by the tests of timing", covered, len(kinds))
	}
}

func effects(entries []Entry) (n int) {
	for _, e := range entries {
		if e.Effect {
			n++
		}
	}
	return n
}

func TestUglyAnswersAreUgly(t *testing.T) {
	_, malformed := charges(t, Behaviour{Kind: Malformed})
	if json.Valid(malformed.Body.Bytes()) {
		t.Errorf("malformed answer is valid: %s", malformed.Body)
	}
	_, wrong := charges(t, Behaviour{Kind: WrongType})
	if got := wrong.Header().Get("Content-Type"); got != "text/html; charset=utf-8" {
		t.Errorf("type %q", got)
	}
	_, huge := charges(t, Behaviour{Kind: Huge})
	if huge.Body.Len() < paddingSize || !json.Valid(huge.Body.Bytes()) {
		t.Errorf("huge answer: %d bytes", huge.Body.Len())
	}
	_, redirect := charges(t, Behaviour{Kind: Redirect})
	if got := redirect.Header().Get("Location"); got != "/v1/charges" {
		t.Errorf("location %q", got)
	}
}

// TestPendingSettles lists how a pending charge ends: the plan of the first call, the later
// request with its own plan, and the answer to it.
func TestPendingSettles(t *testing.T) {
	yes, no := Behaviour{Kind: Pending}, Behaviour{Kind: Pending, SettleRefused: true}
	status := exchange{method: "GET", path: "/v1/charges/k1"}
	again := exchange{key: "k1", method: "POST", path: "/v1/charges", body: charge100}
	void := exchange{key: "v1", method: "POST", path: "/v1/charges/k1/void", body: orderOnly}
	rows := []struct {
		name    string
		first   Behaviour
		request exchange
		op      Operation
		plan    Kind
		status  int
		outcome Outcome
		code    string
		state   State
	}{
		{"query", yes, status, StatusCharge, Succeed, 200, Succeeded, "", Charged},
		{"query of a refused one", no, status, StatusCharge, Succeed, 200, Refused,
			"card_declined", Declined},
		{"refusing query", yes, status, StatusCharge, Refuse, 200, Refused, "card_declined",
			Declined},
		{"waiting query", yes, status, StatusCharge, Pending, 200, Undecided, "", Waiting},
		{"lost query", yes, status, StatusCharge, Transient, 503, "", "", Waiting},
		{"repeat", yes, again, Charge, Succeed, 201, Succeeded, "", Charged},
		{"repeat of a refused one", no, again, Charge, Succeed, 402, Refused, "card_declined",
			Declined},
		{"waiting repeat", yes, again, Charge, Pending, 202, Undecided, "", Waiting},
		{"void", yes, void, Void, Succeed, 200, Succeeded, "", Closed},
		{"late void", yes, void, Void, Refuse, 409, Refused, codeAlreadyCharged, Charged},
		{"late void of a refused one", no, void, Void, Refuse, 409, Refused, codeChargeRefused,
			Declined},
		{"waiting void", yes, void, Void, Pending, 202, Undecided, "", Waiting},
	}
	for _, row := range rows {
		p, _ := charges(t, row.first)
		if err := p.Script().Add(Script{Operation: row.op,
			Behaviours: []Behaviour{{Kind: row.plan}}}); err != nil {
			t.Fatal(err)
		}
		recorder := httptest.NewRecorder()
		r := row.request
		p.ServeHTTP(recorder, newRequest(r.key, r.method, r.path, r.body))
		var a answer
		_ = json.Unmarshal(recorder.Body.Bytes(), &a) // a 503 has no JSON, and a stays empty
		if recorder.Code != row.status || a.Outcome != row.outcome || a.Code != row.code {
			t.Errorf("%s: %d %+v", row.name, recorder.Code, a)
		}
		if got := p.Keys()[0].State; got != row.state {
			t.Errorf("%s: state %s, want %s", row.name, got, row.state)
		}
	}
}

// TestSettlementIsAnEntryOfItsOwn: a charge that is decided while a query looks at it must show
// as a charge, with effect, before the query.
func TestSettlementIsAnEntryOfItsOwn(t *testing.T) {
	p, _ := charges(t, Behaviour{Kind: Pending})
	ask(t, p, "", "GET", "/v1/charges/k1", "")
	ask(t, p, "k1", "POST", "/v1/charges", charge100)
	type line struct {
		origin    Origin
		operation Operation
		outcome   Outcome
		effect    bool
		duplicate bool
	}
	want := []line{
		{FromCall, Charge, Undecided, false, false},
		{FromSettlement, Charge, Succeeded, true, false},
		{FromCall, StatusCharge, Succeeded, false, false},
		{FromCall, Charge, Succeeded, false, true},
	}
	for i, e := range p.Ledger() {
		got := line{e.Origin, e.Operation, e.Outcome, e.Effect, e.Duplicate}
		if got != want[i] || e.Seq != i+1 {
			t.Errorf("entry %d: %+v, want %+v", e.Seq, got, want[i])
		}
	}
}

// TestPendingGoods: reservations and shipments wait and settle like charges, and can be killed.
func TestPendingGoods(t *testing.T) {
	s := scripted(t, Reserve, Behaviour{Kind: Pending}, Behaviour{Kind: Pending})
	c, _ := config(s)
	w := NewWarehouse(WarehouseConfig{Config: c, Stock: map[string]int64{"a": 2, "b": 2}})
	converse(t, w, []exchange{
		{"k1", "POST", "/v1/reservations", twoItems, 202, Undecided, ""},
		{"k2", "POST", "/v1/reservations", twoItems, 202, Undecided, ""},
		{"l2", "POST", "/v1/reservations/k2/release", orderOnly, 200, Succeeded, ""},
		{"", "GET", "/v1/reservations/k1", "", 200, Succeeded, ""},
		{"", "GET", "/v1/reservations/k2", "", 200, Refused, codeKeyClosed},
		{"k2", "POST", "/v1/reservations", twoItems, 409, Refused, codeKeyClosed},
	})
	if err := s.Add(Script{Operation: Ship, Behaviours: []Behaviour{
		{Kind: Pending}, {Kind: Pending}, {Kind: Pending}}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(Script{Operation: CancelShip, Behaviours: []Behaviour{
		{Kind: Succeed}, {Kind: Refuse}}}); err != nil {
		t.Fatal(err)
	}
	converse(t, NewShipping(c), []exchange{
		{"k1", "POST", "/v1/shipments", twoItems, 202, Undecided, ""},
		{"k2", "POST", "/v1/shipments", twoItems, 202, Undecided, ""},
		{"k3", "POST", "/v1/shipments", twoItems, 202, Undecided, ""},
		{"x1", "POST", "/v1/shipments/k1/cancel", orderOnly, 200, Succeeded, ""},
		{"x2", "POST", "/v1/shipments/k2/cancel", orderOnly, 409, Refused, codeAlreadyShipped},
		{"", "GET", "/v1/shipments/k3", "", 200, Succeeded, ""},
		{"", "GET", "/v1/shipments/k1", "", 200, Refused, codeKeyClosed},
	})
}

// TestSafetyTTL: stock that was forgotten is freed days later, once, at the moment when it was
// due, and the key holds again or is refused, but never just repeats its old success.
func TestSafetyTTL(t *testing.T) {
	c, clock := config(nil)
	w := NewWarehouse(WarehouseConfig{Config: c, Stock: map[string]int64{"a": 2, "b": 2}})
	reserve := func(key string, status int, outcome Outcome, code string) {
		t.Helper()
		converse(t, w, []exchange{
			{key, "POST", "/v1/reservations", twoItems, status, outcome, code}})
	}
	reserve("k1", 201, Succeeded, "")
	clock.Advance(7*24*time.Hour - time.Nanosecond)
	reserve("k2", 409, Refused, codeOutOfStock)
	clock.Advance(time.Hour)
	if got := w.Stock()[0].Available; got != 2 {
		t.Fatalf("available after the TTL: %d", got)
	}
	lapse := w.Ledger()[2]
	if lapse.Origin != FromLapse || !lapse.Effect || lapse.TargetKey != "k1" ||
		!lapse.At.Equal(epoch.Add(7*24*time.Hour)) {
		t.Errorf("entry of the lapse: %+v", lapse)
	}
	if _, a := ask(t, w, "", "GET", "/v1/reservations/k1", ""); a.State != Released {
		t.Errorf("a lapsed reservation reports %q", a.State)
	}
	reserve("k1", 201, Succeeded, "") // holds again
	clock.Advance(8 * 24 * time.Hour)
	reserve("k3", 201, Succeeded, "")
	reserve("k1", 409, Refused, codeOutOfStock) // lapsed, and the stock is gone
	clock.Advance(8 * 24 * time.Hour)
	reserve("k1", 409, Refused, codeOutOfStock) // for ever
	converse(t, w, []exchange{
		{"l3", "POST", "/v1/reservations/k3/release", orderOnly, 200, Succeeded, ""},
		{"k3", "POST", "/v1/reservations", twoItems, 409, Refused, codeKeyClosed},
	})
}

// TestBadRequests: what never reaches the business is told apart and leaves no trace.
func TestBadRequests(t *testing.T) {
	item := `{"order_id":"o1","items":[%]}`
	rows := []struct {
		name, path, body, header, value string
		status                          int
		code                            string
	}{
		{"no key", "/v1/charges", charge100, headerKey, "", 400, "bad_header"},
		{"long key", "/v1/charges", charge100, headerKey, strings.Repeat("k", 256), 400,
			"bad_header"},
		{"no order", "/v1/charges", charge100, headerOrder, "", 400, "bad_header"},
		{"no step", "/v1/charges", charge100, headerStep, "", 400, "bad_header"},
		{"bad attempt", "/v1/charges", charge100, headerAttempt, "-1", 400, "bad_header"},
		{"other order", "/v1/charges", charge100, headerOrder, "o2", 400, codeOrderMismatch},
		{"type", "/v1/charges", charge100, "Content-Type", "text/plain", 415, "bad_content_type"},
		{"half", "/v1/charges", charge100[:9], "", "", 400, "bad_json"},
		{"two", "/v1/charges", charge100 + "1", "", "", 400, "bad_json"},
		{"unknown field", "/v1/charges", `{"x":1}`, "", "", 400, "bad_json"},
		{"fraction", "/v1/charges", strings.Replace(charge100, "100", "1.5", 1), "", "", 400,
			"bad_json"},
		{"no amount", "/v1/charges", orderOnly, "", "", 400, "bad_field"},
		{"zero", "/v1/charges", strings.Replace(charge100, "100", "0", 1), "", "", 400, "bad_field"},
		{"no charge", "/v1/refunds", charge100, "", "", 400, "bad_field"},
		{"amount in a void", "/v1/charges/k/void", charge100, "", "", 400, "bad_field"},
		{"items in a charge", "/v1/charges", twoItems, "", "", 400, "bad_field"},
		{"huge", "/v1/charges", strings.Repeat(" ", maxBody+1), "", "", 413, "body_too_large"},
	}
	c, _ := config(nil)
	p := NewPayment(c)
	for _, row := range rows {
		r := newRequest("k1", "POST", row.path, row.body)
		if row.header != "" {
			r.Header.Set(row.header, row.value)
		}
		expectBad(t, p, row.name, r, row.status, row.code)
	}
	w := NewWarehouse(WarehouseConfig{Config: c, DefaultSupply: 9})
	for _, lines := range []string{``, `{"sku":"a","quantity":0}`, `{"sku":"","quantity":1}`,
		`{"sku":"a","quantity":1},{"sku":"a","quantity":1}`} {
		r := newRequest("k1", "POST", "/v1/reservations", strings.Replace(item, "%", lines, 1))
		expectBad(t, w, lines, r, 400, "bad_field")
	}
	if n := len(p.Ledger()) + len(w.Ledger()); n != 0 {
		t.Errorf("%d entries in the ledgers", n)
	}
}

func expectBad(t *testing.T, h http.Handler, name string, r *http.Request, status int,
	code string) {
	t.Helper()
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, r)
	if recorder.Code != status || !bytes.Contains(recorder.Body.Bytes(), []byte(code)) {
		t.Errorf("%s: %d %s, want %d %s", name, recorder.Code, recorder.Body, status, code)
	}
}

func TestUnknownRoutes(t *testing.T) {
	c, _ := config(nil)
	for path, want := range map[string]int{"/": 404, "/v1/other": 404, "/v1/charges": 405} {
		recorder := httptest.NewRecorder()
		NewPayment(c).ServeHTTP(recorder, newRequest("", "DELETE", path, ""))
		if recorder.Code != want {
			t.Errorf("DELETE %s: %d, want %d", path, recorder.Code, want)
		}
	}
}

// TestPendingRefundPromisesItsAmount: while a refund waits no other may use its money; when it is
// refused, others may.
func TestPendingRefundPromisesItsAmount(t *testing.T) {
	c, _ := config(scripted(t, Refund, Behaviour{Kind: Pending, SettleRefused: true}))
	refund := `{"order_id":"o1","charge_key":"k1","amount":60,"currency":"RUB"}`
	converse(t, NewPayment(c), []exchange{
		{"k1", "POST", "/v1/charges", charge100, 201, Succeeded, ""},
		{"r1", "POST", "/v1/refunds", refund, 202, Undecided, ""},
		{"r2", "POST", "/v1/refunds", refund, 402, Refused, codeExceedsCharge},
		{"", "GET", "/v1/refunds/r1", "", 200, Refused, "refund_declined"},
		{"r3", "POST", "/v1/refunds", refund, 201, Succeeded, ""},
		{"", "GET", "/v1/refunds/r1", "", 200, Refused, "refund_declined"},
	})
}

// TestTargetsOfOtherOrders: what names another order's key is an error without effect, and may be
// put right under the same key.
func TestTargetsOfOtherOrders(t *testing.T) {
	c, _ := config(nil)
	w := NewWarehouse(WarehouseConfig{Config: c, DefaultSupply: 9})
	p, s := NewPayment(c), NewShipping(c)
	converse(t, p, []exchange{{"k1", "POST", "/v1/charges", charge100, 201, Succeeded, ""}})
	converse(t, w, []exchange{{"k1", "POST", "/v1/reservations", twoItems, 201, Succeeded, ""}})
	converse(t, s, []exchange{{"k1", "POST", "/v1/shipments", twoItems, 201, Succeeded, ""}})
	for path, h := range map[string]http.Handler{
		"/v1/charges/k1/void": p, "/v1/reservations/k1/release": w,
		"/v1/reservations/k1/commit": w, "/v1/shipments/k1/cancel": s,
	} {
		r := newRequest("n1", "POST", path, `{"order_id":"o2"}`)
		r.Header.Set(headerOrder, "o2")
		expectBad(t, h, path, r, 422, codeOrderMismatch)
	}
	if p.Keys()[0].State != Charged || w.Keys()[0].State != Held || s.Keys()[0].State != Shipped {
		t.Errorf("states %v %v %v", p.Keys(), w.Keys(), s.Keys())
	}
}
