package integration_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ordeal/service/order"
)

// TestForeignOrders: another customer can neither see nor cancel an order, nor tell it from none,
// also with the key of the owner.
func TestForeignOrders(t *testing.T) {
	s := setup(t)
	id := s.create("key")
	s.want(s.cancel(id, "cancel"), 200, "")
	for _, c := range []struct{ method, suffix string }{{"GET", ""}, {"POST", "/cancel"}} {
		foreign := s.send(0, c.method, ordersPath+"/"+id.String()+c.suffix, bob, "cancel", "")
		missing := s.send(0, c.method, ordersPath+"/"+order.NewID(ann, "none").String()+c.suffix,
			bob, "cancel", "")
		s.want(foreign, 404, "not_found")
		if foreign.Body.String() != missing.Body.String() {
			t.Errorf("%s\n%s", foreign.Body, missing.Body)
		}
	}
}

func TestRoles(t *testing.T) {
	s := setup(t)
	id := s.create("key")
	s.want(s.send(0, "POST", ordersPath, olga, "k", body), 403, "forbidden")
	s.want(s.send(0, "POST", ordersPath+"/"+id.String()+"/cancel", olga, "k", ""), 403, "forbidden")
	s.want(s.send(0, "GET", ordersPath+"/"+id.String(), "nobody", "", ""), 401, "unauthenticated")
	if n := s.count("select count(*) from orders"); n != 1 {
		t.Errorf("%d orders", n)
	}
}

// TestDatabaseGone: without a database the service says so, and creates when it is back.
func TestDatabaseGone(t *testing.T) {
	s := setup(t)
	s.want(s.send(1, "GET", "/readyz", "", "", ""), 200, "")
	s.pool.Close()
	s.want(s.send(1, "POST", ordersPath, ann, "key", body), 503, "unavailable")
	s.want(s.send(1, "GET", "/readyz", "", "", ""), 503, "unavailable")
	s.want(s.send(1, "GET", "/livez", "", "", ""), 200, "")
	s.want(s.send(0, "POST", ordersPath, ann, "key", body), 201, "")
}

// oddLine is a line of an order that is seldom valid.
func oddLine() *rapid.Generator[string] {
	sku := rapid.SampledFrom([]string{
		"a", "b", "c", "d", "e", "f", "", `\u0000`, `\ud800`, "é", `'; drop table orders; --`})
	amount := rapid.SampledFrom([]int64{
		-1, 0, 1, 2, 1 << 31, 1 << 32, 1 << 62, math.MaxInt64, math.MinInt64})
	return lineOf(sku, amount)
}

// validLine is a line that may be alone in an order.
func validLine() *rapid.Generator[string] {
	return lineOf(rapid.StringMatching(`[A-Za-z0-9._-]{1,64}`), rapid.Int64Range(1, 1<<31))
}

func lineOf(sku *rapid.Generator[string], amount *rapid.Generator[int64]) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return `{"sku":"` + sku.Draw(t, "sku") +
			`","quantity":` + strconv.FormatInt(amount.Draw(t, "quantity"), 10) +
			`,"unit_price":` + strconv.FormatInt(amount.Draw(t, "price"), 10) + `}`
	})
}

// TestLargestTotal: the largest amount that there is comes back as it was sent.
func TestLargestTotal(t *testing.T) {
	s := setup(t)
	const largest = `{"items":[{"sku":"a","quantity":1,"unit_price":9223372036854775807}]}`
	w := s.send(0, "POST", ordersPath, ann, "key", largest)
	s.want(w, 201, "")
	if !strings.Contains(w.Body.String(), `"total" : 9223372036854775807,`) {
		t.Errorf("%s", w.Body)
	}
}

// TestNeverInternal: whatever the request, the database refuses nothing that we let through.
func TestNeverInternal(t *testing.T) {
	s := setup(t)
	create := func(t *rapid.T, line *rapid.Generator[string], key string) (location string) {
		body := `{"items":[` + strings.Join(rapid.SliceOfN(line, 0, 3).Draw(t, "lines"), ",") + `]}`
		w := s.send(0, "POST", ordersPath, ann, key, body)
		if w.Code >= 500 {
			t.Fatalf("%d %s; log: %s", w.Code, w.Body, s.log)
		}
		return w.Header().Get("Location")
	}
	made := 0
	rapid.Check(t, func(t *rapid.T) {
		create(t, validLine(), rapid.String().Draw(t, "odd key"))
		key := rapid.StringMatching(`[!-~]{1,127}`).Draw(t, "key")
		create(t, oddLine(), "odd"+key)
		location := create(t, validLine(), `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key)+`"`)
		if location == "" {
			return
		}
		made++
		w := s.send(0, "POST", location+"/cancel", ann, "odd"+key, "")
		if w.Code != 200 {
			t.Fatalf("%d %s; log: %s", w.Code, w.Body, s.log)
		}
	})
	if made < 10 {
		t.Errorf("only %d requests made orders", made)
	}
}
