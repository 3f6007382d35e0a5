package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ordeal/service/order"
	"ordeal/service/store"
)

// commands are the operator's routes by the last segment of their paths.
var commands = map[string]store.CommandName{
	"retry": store.CommandRetry, "reconcile": store.CommandReconcile, "void": store.CommandVoid,
	"ship": store.CommandShip, "close": store.CommandClose, "refunds": store.CommandRefund,
}

// TestCommands: what the operator says reaches the store, once.
func TestCommands(t *testing.T) {
	for path, name := range commands {
		b := newBench(t)
		c := commandCall(annsOrder, path, "k")
		want := store.Command{Name: name, OrderID: annsOrder, ActorType: "operator",
			ExpectedVersion: 2, Reason: "duplicate_order", Note: "ü"}
		extra := ""
		switch name {
		case store.CommandClose:
			extra, want.ReleaseStock = `,"release_stock":true`, true
		case store.CommandRefund:
			extra, want.Amount = `,"amount":600`, 600
		}
		c.body = `{"note":"\u00fc","reason_code":"duplicate_order","expected_version":2` + extra + `}`
		first := b.do(c)
		if first.Code != 202 || b.news != 1 || len(b.fake.commands) != 1 {
			t.Fatalf("%s: %d %s", path, first.Code, first.Body)
		}
		got := b.fake.commands[0]
		same := cmpopts.IgnoreFields(store.Command{}, "Request", "Forbidden", "Stale", "Excessive")
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
		if got.Request.Caller != "olga" || got.Request.Key != "k" ||
			got.Request.Route != "POST /api/v1/orders/{id}/"+path {
			t.Errorf("%s: %+v", path, got.Request)
		}
		location := first.Header().Get("Location")
		if (location == "/api/v1/orders/"+annsOrder.String()) != (name == store.CommandRefund) {
			t.Errorf("%s: Location %q", path, location)
		}
		again := b.do(c)
		if again.Body.String() != first.Body.String() || b.news != 1 ||
			again.Header().Get("Idempotent-Replayed") != "true" ||
			again.Header().Get("Location") != location {
			t.Errorf("%s: %v %s", path, again.Header(), again.Body)
		}
	}
}

// decisions are bodies of a close and of a refund of ann's order with the status and the code of
// the answer. Those that are well-formed and refused here are audited.
var decisions = []struct{ path, body, code string }{
	{"close", `{"expected_version":2,"reason_code":"other"}`, ""},
	{"close", ` { "reason_code" : "other" , "release_stock" : false , "expected_version" : 2 } `, ""},
	{"close", ``, "400 invalid_json"},
	{"close", `{}`, "400 invalid_field"},
	{"close", `null`, "400 invalid_field"},
	{"close", `{"reason_code":"other"}`, "428 precondition_required"},
	{"close", `{"reason_code":"other","expected_version":null}`, "400 invalid_field"},
	{"close", `{"reason_code":"other","expected_version":"2"}`, "400 invalid_field"},
	{"close", `{"reason_code":"other","expected_version":2.0}`, "400 invalid_field"},
	{"close", `{"reason_code":"other","expected_version":2e0}`, "400 invalid_field"},
	{"close", `{"reason_code":"other","expected_version":2,"expected_version":2}`,
		"400 invalid_field"},
	{"close", `{"reason_code":"other","expected_version":2,"more":1}`, "400 invalid_field"},
	{"close", `{"reason_code":"other","expected_version":2,"amount":1}`, "400 invalid_field"},
	{"close", `{"reason_code":"other","expected_version":2,"release_stock":1}`, "400 invalid_field"},
	{"close", `{"reason_code":"other","expected_version":2,"release_stock":"true"}`,
		"400 invalid_field"},
	{"close", `{"reason_code":"other","expected_version":2,"release_stock":null}`,
		"400 invalid_field"},
	{"close", `{"reason_code":"other","expected_version":2,"release_stock":tru}`,
		"400 invalid_json"},
	{"close", `{"reason_code":"other","expected_version":2,"release_stock":truefalse}`,
		"400 invalid_json"},
	{"close", `{"reason_code":"other","expected_version":2}{}`, "400 invalid_json"},
	{"close", `{"reason_code":7,"expected_version":2}`, "400 invalid_field"},
	{"close", `{"reason_code":"o\u0000","expected_version":2}`, "400 invalid_field"},
	{"close", `{"reason_code":"other","expected_version":2,"note":null}`, "400 invalid_field"},
	{"close", `{"reason_code":"other","expected_version":2,"note":"\ud800"}`, "400 invalid_field"},
	{"close", "{\"reason_code\":\"other\",\"expected_version\":2,\"note\":\"\xff\"}",
		"400 invalid_json"},
	{"close", `{"reason_code":"because","expected_version":2}`, "422 invalid_command*"},
	{"close", `{"reason_code":"","expected_version":2}`, "422 invalid_command*"},
	{"close", `{"reason_code":"other","expected_version":0}`, "422 invalid_command*"},
	{"close", `{"reason_code":"other","expected_version":-1}`, "422 invalid_command*"},
	{"close", `{"reason_code":"other","expected_version":2147483648}`, "422 invalid_command*"},
	{"close", `{"reason_code":"other","expected_version":9223372036854775807}`,
		"422 invalid_command*"},
	{"close", `{"reason_code":"other","expected_version":2,"note":"` + strings.Repeat("ü", 500) +
		`"}`, ""},
	{"close", `{"reason_code":"other","expected_version":2,"note":"` + strings.Repeat("ü", 501) +
		`"}`, "422 invalid_command*"},
	{"close", `{"reason_code":"other","expected_version":1}`, "412 stale_version"},
	{"close", `{"reason_code":"other","expected_version":3}`, "412 stale_version"},
	{"refunds", `{"reason_code":"other","expected_version":2}`, "400 invalid_field"},
	{"refunds", `{"reason_code":"other","amount":1}`, "428 precondition_required"},
	{"refunds", `{"reason_code":"other","expected_version":2,"amount":1,"release_stock":true}`,
		"400 invalid_field"},
	{"refunds", `{"reason_code":"other","expected_version":2,"amount":600}`, ""},
	{"refunds", `{"reason_code":"other","expected_version":2,"amount":601}`, "422 refund_too_large"},
	{"refunds", `{"reason_code":"other","expected_version":2,"amount":9007199254740993}`,
		"422 refund_too_large"},
	{"refunds", `{"reason_code":"other","expected_version":2,"amount":9223372036854775807}`,
		"422 refund_too_large"},
	{"refunds", `{"reason_code":"other","expected_version":2,"amount":9223372036854775808}`,
		"400 invalid_field"},
	{"refunds", `{"reason_code":"other","expected_version":2,"amount":0}`, "422 invalid_command*"},
	{"refunds", `{"reason_code":"other","expected_version":2,"amount":-1}`, "422 invalid_command*"},
	{"refunds", `{"reason_code":"other","expected_version":2,"amount":-0}`, "400 invalid_field"},
	{"refunds", `{"reason_code":"other","expected_version":2,"amount":1.0}`, "400 invalid_field"},
	{"refunds", `{"reason_code":"other","expected_version":2,"amount":1e2}`, "400 invalid_field"},
	{"refunds", `{"reason_code":"other","expected_version":2,"amount":"100"}`, "400 invalid_field"},
}

func TestDecisions(t *testing.T) {
	for _, row := range decisions {
		b := newBench(t)
		c := commandCall(annsOrder, row.path, "k")
		c.body = row.body
		w := b.do(c)
		got := ""
		if w.Code != 202 {
			got = fmt.Sprintf("%d %s", w.Code, problemOf(t, w).Code) +
				strings.Repeat("*", len(b.fake.refusals))
		}
		if got != row.code {
			t.Errorf("%s %s: %q, want %q", row.path, row.body, got, row.code)
		}
	}
}

// TestSameDecision: spelling does not matter, everything else does, also the route and the order.
func TestSameDecision(t *testing.T) {
	b := newBench(t)
	c := commandCall(annsOrder, "close", "k")
	b.do(c)
	c.body = ` {"expected_version":2, "reason_code":"\u006fther", "note":""}`
	if w := b.do(c); w.Code != 202 || w.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, body := range []string{
		`{"reason_code":"goodwill","expected_version":2}`,
		`{"reason_code":"other","expected_version":3}`,
		`{"reason_code":"other","expected_version":2,"note":"n"}`,
		`{"reason_code":"other","expected_version":2,"release_stock":true}`,
	} {
		c.body = body
		b.fake.refusals = nil
		w := b.do(c)
		if w.Code != 422 || problemOf(t, w).Code != "idempotency_key_reused" ||
			len(b.fake.refusals) != 1 {
			t.Errorf("%s: %d %s, audited %q", body, w.Code, w.Body, b.fake.refusals)
		}
	}
	if w := b.do(commandCall(annsOrder, "ship", "k")); w.Header().Get("Idempotent-Replayed") != "" {
		t.Error("another route has the same keys")
	}
}

// TestCommandsNeedAKey: all but the customer's retry.
func TestCommandsNeedAKey(t *testing.T) {
	for path := range commands {
		w := newBench(t).do(commandCall(annsOrder, path, ""))
		if w.Code != 400 || problemOf(t, w).Code != "idempotency_key_missing" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestForbiddenCommandIsReplayed(t *testing.T) {
	b := newBench(t)
	c := commandCall(shippedOrder, "ship", "k")
	first, second := b.do(c), b.do(c)
	if first.Code != 409 || problemOf(t, first).Code != "invalid_transition" || b.news > 0 ||
		second.Body.String() != first.Body.String() || len(b.fake.refusals) > 0 ||
		second.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("%d %s %v %s", first.Code, first.Body, second.Header(), second.Body)
	}
}

// TestCustomerRetries: a customer decides nothing, so it says nothing, and only about its own.
func TestCustomerRetries(t *testing.T) {
	for _, row := range []struct{ key, body, code string }{
		{"", "", ""}, {"", "{}", ""}, {"k", "", ""},
		{"k", decisionBody, "invalid_field"},
		{"k", "null", "invalid_field"},
		{"k", "{", "invalid_json"},
		{"\x01", "", "idempotency_key_invalid"},
	} {
		b := newBench(t)
		c := commandCall(annsOrder, "retry", row.key)
		c.token, c.body = ann, row.body
		w := b.do(c)
		if row.code != "" {
			if p := problemOf(t, w); p.Code != row.code {
				t.Errorf("%q: %+v", row.body, p)
			}
			continue
		}
		got := b.fake.commands[0]
		if w.Code != 202 || got.Customer != "ann" || got.ActorType != "customer" ||
			got.ExpectedVersion != 0 || got.Request.Caller != "ann" {
			t.Errorf("%q: %d %+v", row.body, w.Code, got)
		}
	}
}

// TestRefusalsAreAudited: who asked for what and what came of it; a row each, also where requests
// have one id, and none without a token or where the request is not well-formed.
func TestRefusalsAreAudited(t *testing.T) {
	b := newBench(t)
	drawn := 0
	b.config.NewRequestID = func() string { drawn++; return fmt.Sprint("drawn-", drawn) }
	b.rebuild()
	same := http.Header{"X-Request-Id": {"same"}}
	send := func(token string, id order.ID, path, body string) {
		c := commandCall(id, path, "k")
		c.token, c.header = token, same
		if body != "" {
			c.body = body
		}
		b.do(c)
	}
	send(ann, annsOrder, "refunds", "")
	send(ann, annsOrder, "refunds", "")
	send(operator, missing, "close", "")
	send(operator, annsOrder, "void", `{"reason_code":"x","expected_version":2}`)
	b.do(call{method: "GET", path: "/api/v1/orders/" + annsOrder.String() + "/audit", token: bob,
		header: same})
	send("", annsOrder, "refunds", "")
	send("unknown", annsOrder, "refunds", "")
	send(ann, annsOrder, "refunds", "{")
	send(ann, missing, "retry", "{}")
	want := []string{
		annsOrder.String() + " customer ann refund 403 drawn-1",
		annsOrder.String() + " customer ann refund 403 drawn-2",
		missing.String() + " operator olga close 404 drawn-3",
		annsOrder.String() + " operator olga void 422 drawn-4",
		annsOrder.String() + " customer bob read_audit 403 drawn-5",
	}
	if diff := cmp.Diff(want, b.fake.refusals); diff != "" {
		t.Error(diff)
	}
}

// TestUnauditedRefusal: a refusal that cannot be audited is a failure, and a client that went
// away is audited all the same.
func TestUnauditedRefusal(t *testing.T) {
	b := newBench(t)
	b.fake.refuse = func(context.Context) error { return errCut }
	if w := b.do(commandCall(missing, "close", "k")); w.Code != 503 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b.fake.run = func(context.Context) (store.Answer, bool, error) {
		cancel()
		return store.Answer{}, false, nil
	}
	b.fake.refuse = func(ctx context.Context) error { return ctx.Err() }
	r := b.request(commandCall(missing, "close", "k")).WithContext(ctx)
	if w := b.send(r); w.Code != 404 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
