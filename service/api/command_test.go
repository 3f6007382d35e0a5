package api_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ordeal/service/order"
	"ordeal/service/store"
)

func TestCreate(t *testing.T) {
	b := newBench(t)
	w := b.do(createCall("key"))
	id := order.NewID("ann", "key")
	if w.Code != 201 || w.Header().Get("Location") != "/api/v1/orders/"+id.String() ||
		w.Header().Get("Content-Type") != "application/json" ||
		w.Body.String() != summary(id) || b.news != 1 {
		t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	want := []store.Creation{{
		ID:       id,
		Customer: "ann",
		Version:  1,
		Items: []store.Line{{
			Item:   order.Item{SKU: "a", Quantity: 2, UnitPrice: 300},
			Amount: 600,
		}},
		Total:   600,
		TraceID: order.TraceID(id),
	}}
	if diff := cmp.Diff(want, b.fake.created); diff != "" {
		t.Error(diff)
	}
}

func TestCreateJoinsTrace(t *testing.T) {
	b := newBench(t)
	c := createCall("key")
	c.header = http.Header{"Traceparent": {
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}}
	b.do(c)
	if got := b.fake.created[0].TraceID; got != "4bf92f3577b34da6a3ce929d0e0e4736" {
		t.Errorf("trace %s", got)
	}
}

// TestReplay: a repeated request gets the same bytes and headers, whatever its spelling.
func TestReplay(t *testing.T) {
	b := newBench(t)
	first := b.do(createCall("key"))
	again := createCall(`"key"`)
	again.body = ` {"currency":"RUB", "items":[{"unit_price":300,"quantity":2,"sku":"a"}]}`
	second := b.do(again)
	if second.Code != 201 || second.Body.String() != first.Body.String() {
		t.Errorf("%d %s", second.Code, second.Body)
	}
	if first.Header().Get("Idempotent-Replayed") != "" {
		t.Error("the first answer says that it is replayed")
	}
	h := first.Header().Clone()
	h.Set("Idempotent-Replayed", "true")
	if diff := cmp.Diff(h, second.Header()); diff != "" {
		t.Error(diff)
	}
	if len(b.fake.created) != 1 {
		t.Errorf("%d orders", len(b.fake.created))
	}
}

// TestKeyReused: every difference in what is asked for is another request.
func TestKeyReused(t *testing.T) {
	for _, other := range []string{
		`{"items":[{"sku":"b","quantity":2,"unit_price":300}]}`,
		`{"items":[{"sku":"a","quantity":3,"unit_price":300}]}`,
		`{"items":[{"sku":"a","quantity":2,"unit_price":301}]}`,
		`{"items":[{"sku":"a","quantity":2,"unit_price":300},` +
			`{"sku":"b","quantity":2,"unit_price":300}]}`,
	} {
		b := newBench(t)
		b.do(createCall("key"))
		c := createCall("key")
		c.body = other
		if w := b.do(c); w.Code != 422 || problemOf(t, w).Code != "idempotency_key_reused" ||
			w.Header().Get("Location") != "" {
			t.Errorf("%s: %d %s", other, w.Code, w.Body)
		}
	}
}

// TestKeysAreOfTheCaller: two customers with one key have two orders.
func TestKeysAreOfTheCaller(t *testing.T) {
	b := newBench(t)
	b.do(createCall("key"))
	c := createCall("key")
	c.token = bob
	if w := b.do(c); w.Code != 201 || len(b.fake.created) != 2 ||
		b.fake.created[0].ID == b.fake.created[1].ID {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestRefusedCreations(t *testing.T) {
	huge := `{"items":[` + strings.Repeat(`{"sku":"a","quantity":1,"unit_price":1},`, 100) +
		`{"sku":"a","quantity":1,"unit_price":1}]}`
	rows := []struct {
		name, key, body, code, pointer string
		status                         int
	}{
		{"no key", "", body, "idempotency_key_missing", "", 400},
		{"bad key", "\x01", body, "idempotency_key_invalid", "", 400},
		{"no body", "k", "", "invalid_json", "", 400},
		{"no JSON", "k", "{", "invalid_json", "", 400},
		{"total", "k", `{"items":[],"total":5}`, "invalid_field", "/total", 400},
		{"body of 1 MiB", "k", body + strings.Repeat(" ", 1<<20-len(body)), "", "", 201},
		{"larger body", "k", body + strings.Repeat(" ", 1<<20-len(body)+1),
			"body_too_large", "", 413},
		{"no items", "k", `{"items":[]}`, "invalid_order", "/items", 422},
		{"101 items", "k", huge, "invalid_order", "/items", 422},
		{"currency", "k", `{"items":[],"currency":"EUR"}`, "invalid_order", "/currency", 422},
		{"sku", "k", `{"items":[{"sku":"","quantity":1,"unit_price":1}]}`,
			"invalid_order", "/items/0/sku", 422},
		{"repeated sku", "k", `{"items":[{"sku":"a","quantity":1,"unit_price":1},` +
			`{"sku":"a","quantity":1,"unit_price":1}]}`, "invalid_order", "/items/1/sku", 422},
		{"quantity", "k", `{"items":[{"sku":"a","quantity":0,"unit_price":1}]}`,
			"invalid_order", "/items/0/quantity", 422},
		{"price", "k", `{"items":[{"sku":"a","quantity":1,"unit_price":-1}]}`,
			"invalid_order", "/items/0/unit_price", 422},
		{"amount", "k", `{"items":[{"sku":"a","quantity":2,"unit_price":9223372036854775807}]}`,
			"invalid_order", "/items/0/unit_price", 422},
		{"sum", "k", `{"items":[{"sku":"a","quantity":1,"unit_price":9223372036854775807},` +
			`{"sku":"b","quantity":1,"unit_price":1}]}`, "invalid_order", "/items", 422},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			b := newBench(t)
			c := createCall(row.key)
			c.body = row.body
			w := b.do(c)
			if w.Code != row.status {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			if row.code == "" {
				return
			}
			p := problemOf(t, w)
			if p.Code != row.code {
				t.Errorf("%+v", p)
			}
			if row.pointer != "" && (len(p.Errors) != 1 || p.Errors[0].Pointer != row.pointer) {
				t.Errorf("%+v", p.Errors)
			}
			if len(b.fake.created) > 0 {
				t.Error("created an order")
			}
		})
	}
}

// TestBodyLength: a body that announces too much is not read, one that announces nothing is
// bounded too, and one that breaks off is not the service's failure.
func TestBodyLength(t *testing.T) {
	b := newBench(t)
	send := func(length int64, body io.Reader) string {
		r := httptest.NewRequest("POST", "/api/v1/orders", body)
		r.ContentLength = length
		r.Header.Set("Authorization", "Bearer "+ann)
		r.Header.Set("Idempotency-Key", "k")
		r.Header.Set("Content-Type", "application/json")
		return problemOf(t, b.send(r)).Code
	}
	if got := send(1<<20+1, brokenBody{}); got != "body_too_large" {
		t.Error(got)
	}
	if got := send(-1, strings.NewReader(strings.Repeat(" ", 1<<20+1))); got != "body_too_large" {
		t.Error(got)
	}
	if got := send(-1, brokenBody{}); got != "body_incomplete" {
		t.Error(got)
	}
}

func TestContentType(t *testing.T) {
	for _, create := range []bool{true, false} {
		b := newBench(t)
		c := createCall("k")
		if !create {
			c = cancelCall(annsOrder, "")
			c.body = "{}"
		}
		c.header = http.Header{"Content-Type": {"text/plain"}}
		if w := b.do(c); w.Code != 415 || problemOf(t, w).Code != "unsupported_media_type" {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}

func TestCancel(t *testing.T) {
	rows := []struct{ key, body, code string }{
		{"", "", ""},
		{"", "{}", ""},
		{"", " { } ", ""},
		{"k", "", ""},
		{"\x01", "", "idempotency_key_invalid"},
		{"", `{"reason":"x"}`, "invalid_field"},
		{"", "null", "invalid_field"},
		{"", "[]", "invalid_field"},
		{"", " ", "invalid_json"},
		{"", "{}{}", "invalid_json"},
	}
	for _, row := range rows {
		b := newBench(t)
		c := cancelCall(annsOrder, row.key)
		c.body = row.body
		w := b.do(c)
		if row.code == "" && (w.Code != 202 || w.Body.String() != summary(annsOrder)) ||
			row.code != "" && problemOf(t, w).Code != row.code {
			t.Errorf("%q %q: %d %s", row.key, row.body, w.Code, w.Body)
		}
	}
}

// TestRefusedCancelIsReplayed: the 409 is stored and comes back byte for byte, with the id of
// the request that it answered first.
func TestRefusedCancelIsReplayed(t *testing.T) {
	b := newBench(t)
	c := cancelCall(shippedOrder, "k")
	c.header = http.Header{"X-Request-Id": {"first"}}
	first := b.do(c)
	c.header = http.Header{"X-Request-Id": {"second"}}
	c.body = "{}"
	second := b.do(c)
	if p := problemOf(t, first); first.Code != 409 || p.Code != "invalid_transition" {
		t.Fatalf("%d %+v", first.Code, p)
	}
	if second.Code != 409 || second.Body.String() != first.Body.String() ||
		second.Header().Get("Idempotent-Replayed") != "true" ||
		second.Header().Get("X-Request-Id") != "second" ||
		second.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d %v %s", second.Code, second.Header(), second.Body)
	}
}

// TestTwinInProgress: a statement that finds no end while the database answers waits for a twin;
// the twin's answer counts where there is one by then. Without a key there is no twin.
func TestTwinInProgress(t *testing.T) {
	hold := func(f *fake) { f.create, f.cancel = slowly[store.Answer], slowly[store.Answer] }
	refuse := func(state string) func(f *fake) {
		return func(f *fake) {
			f.create = func(context.Context) (store.Answer, bool, error) {
				return store.Answer{}, false, reported(state)
			}
			f.cancel = f.create
		}
	}
	rows := []struct {
		name string
		call call
		set  func(*fake)
		code string
		time time.Duration
	}{
		{"create", createCall("k"), hold, "idempotency_in_progress", 3 * time.Second},
		{"cancel", cancelCall(annsOrder, "k"), hold, "idempotency_in_progress", 3 * time.Second},
		{"cancel without a key", cancelCall(annsOrder, ""), hold, "unavailable", 3 * time.Second},
		{"lock timeout", createCall("k"), refuse("55P03"), "idempotency_in_progress", 0},
		{"statement timeout", createCall("k"), refuse("57014"), "idempotency_in_progress", 0},
		{"all slow", createCall("k"), func(f *fake) { hold(f); f.answer = slowly[store.Answer] },
			"unavailable", 4 * time.Second},
		{"cut", createCall("k"), func(f *fake) {
			f.create = func(context.Context) (store.Answer, bool, error) {
				return store.Answer{}, false, errCut
			}
		}, "unavailable", 0},
		{"key used, answer not there", createCall("k"), func(f *fake) {
			f.create = func(context.Context) (store.Answer, bool, error) {
				return store.Answer{}, false, nil
			}
		}, "idempotency_in_progress", 0},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				row.set(b.fake)
				start := time.Now()
				if p := problemOf(t, b.do(row.call)); p.Code != row.code {
					t.Errorf("%+v", p)
				}
				if took := time.Since(start); took != row.time {
					t.Errorf("took %s, want %s", took, row.time)
				}
			})
		})
	}
}

// TestTwinEndsInTime: what the second look finds is the answer, or shows that the key is taken.
func TestTwinEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		first := b.do(createCall("k"))
		b.fake.create = slowly[store.Answer]
		if w := b.do(createCall("k")); w.Code != 201 || w.Body.String() != first.Body.String() ||
			w.Header().Get("Idempotent-Replayed") != "true" {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		other := createCall("k")
		other.body = strings.Replace(body, `"a"`, `"b"`, 1)
		if p := problemOf(t, b.do(other)); p.Code != "idempotency_key_reused" {
			t.Errorf("%+v", p)
		}
	})
}

// TestClientGone: nobody is asked again for a client that went away.
func TestClientGone(t *testing.T) {
	b := newBench(t)
	looks := 0
	ctx, cancel := context.WithCancel(t.Context())
	b.fake.create = func(context.Context) (store.Answer, bool, error) {
		cancel()
		return store.Answer{}, false, fmt.Errorf("create: %w", context.DeadlineExceeded)
	}
	b.fake.answer = func(context.Context) (store.Answer, bool, error) {
		looks++
		return store.Answer{}, false, nil
	}
	r := httptest.NewRequestWithContext(ctx, "POST", "/api/v1/orders", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+ann)
	r.Header.Set("Idempotency-Key", "k")
	r.Header.Set("Content-Type", "application/json")
	if w := b.send(r); w.Code != 503 || looks > 0 || b.log.Len() > 0 {
		t.Errorf("%d, looked %d times, log %q", w.Code, looks, b.log.String())
	}
}
