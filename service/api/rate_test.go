package api_test

import (
	"testing"
	"time"

	"ordeal/service/api"
)

// TestTokenRate: each token has a bucket of its own, whatever is asked for and whatever comes of
// it; what needs no token is not bounded.
func TestTokenRate(t *testing.T) {
	b := limited(t, api.Rate{PerSecond: 1, Burst: 2}, api.Rate{})
	for _, row := range []struct {
		call   call
		status int
	}{
		{findCall(annsOrder), 200},
		{call{method: "POST", path: "/api/v1/orders", token: ann, body: "{"}, 400},
		{findCall(annsOrder), 429},
		{createCall("k"), 429},
		{call{method: "GET", path: "/api/v1/orders", token: bob}, 200},
		{call{method: "GET", path: "/livez", token: ann}, 200},
		{call{method: "GET", path: "/nowhere", token: ann}, 404},
	} {
		w := b.do(row.call)
		if w.Code != row.status || w.Code == 429 && w.Header().Get("Retry-After") != "1" {
			t.Errorf("%s %s: %d %v", row.call.method, row.call.path, w.Code, w.Header())
		}
	}
	b.clock.Advance(time.Second)
	if w := b.do(findCall(annsOrder)); w.Code != 200 {
		t.Errorf("a second later: %d", w.Code)
	}
}

// TestFailureRate: who fails to authenticate too often is not looked up any more. Other networks,
// and tokens that are remembered, go on.
func TestFailureRate(t *testing.T) {
	b := limited(t, api.Rate{}, api.Rate{PerSecond: 1, Burst: 2})
	send := func(token, from string, status, lookups int) {
		t.Helper()
		before := b.fake.lookups
		c := findCall(annsOrder)
		c.token = token
		r := b.request(c)
		r.RemoteAddr = from
		w := b.send(r)
		if w.Code != status || b.fake.lookups-before != lookups {
			t.Errorf("%q from %s: %d after %d lookups, want %d after %d", token, from, w.Code,
				b.fake.lookups-before, status, lookups)
		}
		if challenged := w.Header().Get("WWW-Authenticate") != ""; challenged != (status == 401) {
			t.Errorf("%d: challenge %v", w.Code, challenged)
		}
	}
	const here, there = "192.0.2.1:1", "192.0.2.2:1"
	send(ann, here, 200, 1)
	send("unknown", here, 401, 1)
	send("", here, 401, 0)
	send("unknown", here, 429, 0)
	send("", here, 429, 0)
	send("a=b", "192.0.2.1:2", 429, 0)
	send(ann, here, 200, 0)
	send(bob, here, 429, 0)
	send(bob, there, 404, 1)
	send(bob, here, 404, 0)
	send("unknown", there, 401, 1)
	b.clock.Advance(time.Second)
	send("unknown", here, 401, 1)
	send("unknown", here, 429, 0)
}
