package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ordeal/service/store"
)

// TestFailures: what the store reports decides between 503 and 500, nothing of it leaks, and it
// is logged with the id of the request.
func TestFailures(t *testing.T) {
	rows := []struct {
		err    error
		status int
	}{
		{errCut, 503},
		{context.DeadlineExceeded, 503},
		{reported("08006"), 503},
		{reported("25006"), 503},
		{reported("28P01"), 503},
		{reported("3D000"), 503},
		{reported("40001"), 503},
		{reported("40P01"), 503},
		{reported("53300"), 503},
		{reported("57P01"), 503},
		{reported("58030"), 503},
		{reported("23514"), 500},
		{reported("42P01"), 500},
		{reported("XX000"), 500},
		{&json.SyntaxError{}, 500},
		{&json.UnmarshalTypeError{}, 500},
	}
	for _, row := range rows {
		b := newBench(t)
		b.fake.find = func(context.Context) (store.Order, bool, error) {
			return store.Order{}, false, fmt.Errorf("find order: %w", row.err)
		}
		c := findCall(annsOrder)
		c.header = http.Header{"X-Request-Id": {"mine"}}
		w := b.do(c)
		if w.Code != row.status {
			t.Errorf("%#v: %d", row.err, w.Code)
		}
		if strings.Contains(w.Body.String(), "secret") ||
			strings.Contains(w.Body.String(), "find") {
			t.Errorf("leaks: %s", w.Body)
		}
		level := map[int]string{503: "WARN", 500: "ERROR"}[row.status]
		for _, part := range []string{level, "request_id=mine", "find order"} {
			if !strings.Contains(b.log.String(), part) {
				t.Errorf("%#v: no %s in the log: %s", row.err, part, b.log.String())
			}
		}
	}
}

// TestFailedLookup: a token that cannot be looked up is not a wrong one.
func TestFailedLookup(t *testing.T) {
	b := newBench(t)
	b.fake.whoIs = func(context.Context) (store.Principal, bool, error) {
		return store.Principal{}, false, errCut
	}
	if w := b.do(findCall(annsOrder)); w.Code != 503 {
		t.Errorf("%d", w.Code)
	}
	b.fake.whoIs = nil
	if w := b.do(findCall(annsOrder)); w.Code != 200 {
		t.Errorf("%d", w.Code)
	}
}

// TestDatabaseTimeIsBounded: each piece of database work has three seconds.
func TestDatabaseTimeIsBounded(t *testing.T) {
	set := map[string]func(*fake){
		"token": func(f *fake) { f.whoIs = slowly[store.Principal] },
		"order": func(f *fake) { f.find = slowly[store.Order] },
	}
	for name, slow := range set {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			slow(b.fake)
			start := time.Now()
			w := b.do(findCall(annsOrder))
			if took := time.Since(start); w.Code != 503 || took != 3*time.Second {
				t.Errorf("%s: %d after %s", name, w.Code, took)
			}
		})
	}
}

// TestPanic: a panic is a 500, logged with its place but without what it holds.
func TestPanic(t *testing.T) {
	for _, value := range []any{"secret of a request", errors.New("secret"), struct{ s string }{}} {
		b := newBench(t)
		b.fake.find = func(context.Context) (store.Order, bool, error) { panic(value) }
		w := b.do(findCall(annsOrder))
		if w.Code != 500 || problemOf(t, w).Code != "internal" {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		log := b.log.String()
		if strings.Contains(log, "secret") || !strings.Contains(log, "problem_test.go") ||
			!strings.Contains(log, "request_id=drawn") {
			t.Errorf("log: %s", log)
		}
	}
	b := newBench(t)
	b.fake.find = func(context.Context) (store.Order, bool, error) {
		return store.Order{Items: make([]store.Line, len(b.fake.answers)-1)}, true, nil
	}
	b.do(findCall(annsOrder))
	if !strings.Contains(b.log.String(), "out of range") {
		t.Errorf("log: %s", b.log.String())
	}
}

func TestRequestIDIsEchoed(t *testing.T) {
	for given, want := range map[string]string{"mine": "mine", "not mine": "drawn", "": "drawn"} {
		b := newBench(t)
		c := findCall(missing)
		c.header = http.Header{"X-Request-Id": {given}}
		w := b.do(c)
		if w.Header().Get("X-Request-Id") != want || problemOf(t, w).RequestID != want {
			t.Errorf("%q: %v", given, w.Header())
		}
	}
}

func TestReady(t *testing.T) {
	b := newBench(t)
	b.ready = errCut
	w := b.do(call{method: "GET", path: "/readyz"})
	if w.Code != 503 || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := b.do(call{method: "GET", path: "/livez"}); w.Code != 200 ||
		w.Body.String() != `{"status":"ok"}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// FuzzRequest: no request line, header or body leads to a 5xx, and every answer is described.
func FuzzRequest(f *testing.F) {
	f.Add("POST", "/api/v1/orders", "", ann, "k", body)
	f.Add("GET", "/api/v1/orders", "limit=1&state=paid", operator, "", "")
	f.Add("GET", "/api/v1/orders/"+annsOrder.String(), "", ann, "", "")
	f.Add("POST", "/api/v1/orders/"+annsOrder.String()+"/cancel", "", ann, "k", "{}")
	f.Add("POST", "/api/v1/orders/"+annsOrder.String()+"/refunds", "", operator, "k", refundBody)
	f.Add("HEAD", "/problems/not_found", "", "", "", "")
	f.Add("PoST", "/api/v1/orders", "", ann, "k", body)
	f.Add("BREW", "*", "%", ann, "\x00", "null")
	f.Add("GET", "", "", "\xff", "", "")
	f.Fuzz(func(t *testing.T, method, path, query, token, key, body string) {
		b := newBench(t)
		r, err := http.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Method, r.URL.Path, r.URL.RawQuery = method, path, query
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", key)
		if w := b.send(r); w.Code >= 500 {
			t.Fatalf("%s %q: %d %s", method, path, w.Code, b.log.String())
		}
	})
}
