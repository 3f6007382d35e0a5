package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ordeal/service/order"
	"ordeal/service/store"
)

// waiting is an order with everything that an order can have.
func waiting() store.Order {
	reason, offset, reference := "timeout", time.FixedZone("", 3*3600), "f-2"
	deadline, asked := at("2026-01-02T03:19:05Z"), at("2026-01-02T03:04:08.5Z")
	return store.Order{
		ID: annsOrder, Customer: "ann", ProcessVersion: 1, State: order.PaymentUnknown, Closing: true,
		Version: 2, Currency: "RUB", Total: 600, Reason: reason,
		Items: []store.Line{{Amount: 600,
			Item: order.Item{SKU: "a", Quantity: 2, UnitPrice: 300}}},
		Compensation: order.CompensationNone, ReservationRef: "r-1",
		ReservationDeadline: &deadline, CancelStatus: order.CancelWaiting,
		CancelRequestedAt: &asked, CreatedAt: at("2026-01-02T03:04:05.123456Z").In(offset),
		UpdatedAt: at("2026-01-02T03:04:09Z"), ClosedAt: &asked,
		History: []store.Change{
			{Version: 1, To: order.Created, Event: order.OrderCreated,
				At: at("2026-01-02T03:04:05.123456Z")},
			{Version: 2, From: order.Paying, To: order.PaymentUnknown,
				Event: order.PayOutcomeUnknown, Reason: &reason, At: at("2026-01-02T03:04:09Z")},
		},
		Steps: []store.OpenStep{
			{Number: 3, Kind: order.StepReconcile, Status: order.StepRunning, Attempt: 2,
				DueAt: at("2026-01-02T03:04:10Z")},
			{Number: 4, Kind: order.StepVoid, Status: order.StepDue,
				DueAt: at("2026-01-02T03:04:09Z")},
		},
		Refunds: []store.Refund{
			{No: 1, State: "requested", Amount: 100, Currency: "RUB", Reason: "goodwill",
				CreatedAt: at("2026-01-02T03:04:11Z"), UpdatedAt: at("2026-01-02T03:04:11Z")},
			{No: 2, State: "refunded", Amount: 200, Currency: "RUB", Reference: &reference,
				CreatedAt: at("2026-01-02T03:04:12Z"), UpdatedAt: at("2026-01-02T03:04:13Z")},
		},
		Attention: []store.Reason{{Reason: order.AttentionMismatch, StepNo: 3,
			Since: at("2026-01-02T03:04:09Z")}},
	}
}

const waitingView = `{
  "id": "ID", "customer": "ann",
  "items": [{"sku": "a", "quantity": 2, "unit_price": 300, "amount": 600}],
  "total": 600, "currency": "RUB",
  "state": "payment_unknown", "status": "processing", "version": 2, "process_version": 1,
  "reason": "timeout",
  "attention": [
    {"reason": "payment_mismatch", "step_no": 3, "since": "2026-01-02T03:04:09.000000Z"}],
  "compensation": "none",
  "references": {"reservation": "r-1", "payment": null, "shipment": null},
  "reservation_deadline": "2026-01-02T03:19:05.000000Z",
  "cancellation": {"status": "waiting", "requested_at": "2026-01-02T03:04:08.500000Z"},
  "refunds": [
    {"refund_no": 1, "state": "requested", "amount": 100, "currency": "RUB", "reason": "goodwill",
     "reference": null, "created_at": "2026-01-02T03:04:11.000000Z",
     "updated_at": "2026-01-02T03:04:11.000000Z"},
    {"refund_no": 2, "state": "refunded", "amount": 200, "currency": "RUB", "reason": null,
     "reference": "f-2", "created_at": "2026-01-02T03:04:12.000000Z",
     "updated_at": "2026-01-02T03:04:13.000000Z"}],
  "closing": true,
  "history": [
    {"version": 1, "from_state": null, "to_state": "created", "event": "order_created",
     "reason": null, "at": "2026-01-02T03:04:05.123456Z"},
    {"version": 2, "from_state": "paying", "to_state": "payment_unknown",
     "event": "pay_outcome_unknown", "reason": "timeout", "at": "2026-01-02T03:04:09.000000Z"}],
  "step": {"kind": "reconcile", "attempt": 2, "status": "running",
    "due_at": "2026-01-02T03:04:10.000000Z"},
  "next_actions": [],
  "created_at": "2026-01-02T03:04:05.123456Z",
  "updated_at": "2026-01-02T03:04:09.000000Z",
  "closed_at": "2026-01-02T03:04:08.500000Z"
}`

const bareView = `{
  "id": "ID", "customer": "ann", "items": [], "total": 600, "currency": "RUB",
  "state": "created", "status": "processing", "version": 1, "process_version": 1,
  "reason": null, "attention": [], "compensation": "none",
  "references": {"reservation": null, "payment": null, "shipment": null},
  "reservation_deadline": null, "cancellation": null, "refunds": [], "closing": false,
  "history": [], "step": null,
  "next_actions": ["cancel"],
  "created_at": "2026-01-02T03:04:05.000000Z",
  "updated_at": "2026-01-02T03:04:05.000000Z",
  "closed_at": null
}`

func TestView(t *testing.T) {
	bare := store.Order{
		ID: annsOrder, Customer: "ann", ProcessVersion: 1, State: order.Created, Version: 1,
		Currency: "RUB", Total: 600, Items: []store.Line{}, Compensation: order.CompensationNone,
		CreatedAt: at("2026-01-02T03:04:05Z"), UpdatedAt: at("2026-01-02T03:04:05Z"),
	}
	for want, o := range map[string]store.Order{waitingView: waiting(), bareView: bare} {
		b := newBench(t)
		b.fake.orders[annsOrder] = o
		w := b.do(findCall(annsOrder))
		if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" {
			t.Fatalf("%d %v", w.Code, w.Header())
		}
		if diff := cmp.Diff(compact(t, want), w.Body.String()); diff != "" {
			t.Error(diff)
		}
		head := findCall(annsOrder)
		head.method = "HEAD"
		h := b.do(head)
		if diff := cmp.Diff(w.Header(), h.Header()); diff != "" || h.Body.Len() > 0 {
			t.Errorf("HEAD: %s", diff)
		}
	}
}

// TestETag: the tag covers every byte of the representation, and who has it is not sent it again.
func TestETag(t *testing.T) {
	b := newBench(t)
	first := b.do(findCall(annsOrder))
	tag := first.Header().Get("ETag")
	known := findCall(annsOrder)
	known.header = http.Header{"If-None-Match": {`"other", W/` + tag}}
	for _, method := range []string{"GET", "HEAD"} {
		known.method = method
		w := b.do(known)
		h := w.Header()
		if w.Code != 304 || w.Body.Len() > 0 || h.Get("ETag") != tag ||
			h.Get("Content-Type") != "" || h.Get("Content-Length") != "" {
			t.Errorf("%s: %d %v %s", method, w.Code, h, w.Body)
		}
	}
	known.method = "GET"
	known.token = operator
	if w := b.do(known); w.Code != 200 || w.Header().Get("ETag") == tag {
		t.Errorf("another role: %d %v", w.Code, w.Header())
	}
	known.token = bob
	known.header.Set("If-None-Match", "*")
	if w := b.do(known); w.Code != 404 {
		t.Errorf("another customer: %d", w.Code)
	}
	known.token = ann
	if w := b.do(known); w.Code != 304 {
		t.Errorf("any tag: %d", w.Code)
	}
	o := b.fake.orders[annsOrder]
	o.Closing = true // changes no version
	b.fake.orders[annsOrder] = o
	known.header.Set("If-None-Match", tag)
	if w := b.do(known); w.Code != 200 || w.Header().Get("ETag") == tag {
		t.Errorf("another representation: %d %v", w.Code, w.Header())
	}
}

// TestOperatorActions: what the operator may do follows from the whole order.
func TestOperatorActions(t *testing.T) {
	shipped := orderOf("ann", shippedOrder, order.Shipped)
	refund := func(amount int64, s order.RefundState) store.Refund {
		return store.Refund{No: 1, State: s, Amount: amount, Currency: "RUB",
			CreatedAt: shipped.CreatedAt, UpdatedAt: shipped.UpdatedAt}
	}
	refunded, failed, unknown := shipped, shipped, shipped
	refunded.Refunds = []store.Refund{refund(600, order.Refunded)}
	failed.Refunds = []store.Refund{refund(600, order.RefundFailed)}
	unknown.Refunds = []store.Refund{refund(600, order.RefundUnknown)}
	voiding := orderOf("ann", shippedOrder, order.PaymentUnknown)
	voiding.Steps = []store.OpenStep{
		{Number: 3, Kind: order.StepReconcile, Status: order.StepDue, DueAt: shipped.CreatedAt},
		{Number: 4, Kind: order.StepVoid, Status: order.StepDue, DueAt: shipped.CreatedAt},
	}
	closed := orderOf("ann", shippedOrder, order.ShippingFailed)
	closed.ClosedAt = &closed.CreatedAt
	closing := orderOf("ann", shippedOrder, order.ShippingFailed)
	closing.Closing = true
	stuck := orderOf("ann", shippedOrder, order.ReleaseFailed)
	stuck.History = []store.Change{{Version: 2, From: order.Releasing, To: order.ReleaseFailed,
		Event: order.ReleaseExhausted, At: shipped.CreatedAt}}
	for _, row := range []struct {
		name string
		o    store.Order
		want string
	}{
		{"shipped", shipped, `["refund"]`},
		{"refunded", refunded, `[]`},
		{"refund failed", failed, `["refund"]`},
		{"refund unknown", unknown, `["reconcile"]`},
		{"voiding", voiding, `["reconcile"]`},
		{"closed", closed, `["refund"]`},
		{"closing", closing, `[]`},
		{"release exhausted", stuck, `["retry"]`},
	} {
		b := newBench(t)
		b.fake.orders[shippedOrder] = row.o
		c := findCall(shippedOrder)
		c.token = operator
		if w := b.do(c); !strings.Contains(w.Body.String(), `"next_actions":`+row.want) {
			t.Errorf("%s: %s", row.name, w.Body)
		}
	}
}

const trailView = `{"entries": [
  {"at": "2026-01-02T03:04:05.000000Z", "actor": {"type": "executor", "id": "e-1"},
   "action": "charge_started", "object": {"type": "distributed_workflow", "id": "ID"},
   "result": "paying", "reason": null, "step_no": 2, "attempt": 1},
  {"at": "2026-01-02T03:04:06.000000Z", "actor": {"type": "operator", "id": "olga"},
   "action": "close_requested", "object": {"type": "distributed_workflow", "id": "ID"},
   "result": "accepted", "reason": "goods_lost", "step_no": null, "attempt": null}]}`

func TestAuditTrail(t *testing.T) {
	b := newBench(t)
	b.fake.trail = []store.AuditRow{
		{At: at("2026-01-02T03:04:05Z"), ActorType: "executor", ActorID: "e-1",
			Action: "charge_started", Result: "paying", StepNo: 2, Attempt: 1},
		{At: at("2026-01-02T03:04:06Z"), ActorType: "operator", ActorID: "olga",
			Action: "close_requested", Result: "accepted", Reason: "goods_lost"},
	}
	w := b.do(call{method: "GET", path: "/api/v1/orders/" + annsOrder.String() + "/audit",
		token: operator})
	if diff := cmp.Diff(compact(t, trailView), w.Body.String()); diff != "" || w.Code != 200 {
		t.Error(w.Code, diff)
	}
	if len(b.fake.refusals) > 0 {
		t.Errorf("reading is audited: %q", b.fake.refusals)
	}
}

// TestProblemsAreExplained: the type of a problem leads to what it means.
func TestProblemsAreExplained(t *testing.T) {
	b := newBench(t)
	p := problemOf(t, b.do(findCall(missing)))
	w := b.do(call{method: "GET", path: p.Type})
	var explained struct {
		Code, Title, Meaning string
		Status               int
		Retry                bool
	}
	if err := json.Unmarshal(w.Body.Bytes(), &explained); err != nil || w.Code != 200 ||
		explained.Code != p.Code || explained.Title != p.Title || explained.Status != 404 ||
		explained.Meaning == "" || explained.Retry {
		t.Errorf("%d %s (%v)", w.Code, w.Body, err)
	}
}

// compact takes the white space from a JSON text and puts the order's id in.
func compact(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		t.Fatal(err)
	}
	id := []byte(annsOrder.String())
	return string(bytes.ReplaceAll(b.Bytes(), []byte(`"ID"`), append([]byte(`"`), append(id, '"')...)))
}
