package api_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ordeal/service/order"
	"ordeal/service/store"
)

// listed is a list as clients read it.
type listed struct {
	Orders []struct {
		ID          string
		NextActions []string `json:"next_actions"`
	}
	NextCursor *string `json:"next_cursor"`
}

// list asks for a list and reads it.
func (b *bench) list(token, query string) (l listed) {
	b.Helper()
	w := b.do(call{method: "GET", path: "/api/v1/orders" + query, token: token})
	if err := json.Unmarshal(w.Body.Bytes(), &l); err != nil || w.Code != 200 {
		b.Fatalf("%s: %d %s (%v)", query, w.Code, w.Body, err)
	}
	return l
}

// grow gives the fake a list of so many orders, the newest first.
func (b *bench) grow(count int) {
	for n := range count {
		b.fake.rows = append(b.fake.rows, store.OrderRow{
			ID: order.NewID("ann", fmt.Sprint(n)), Customer: "ann", State: order.Created,
			Version: 1, Total: 1, Currency: "RUB", Compensation: order.CompensationNone,
			CreatedAt: at("2026-01-02T03:04:05.000006Z").Add(-time.Duration(n) * time.Minute),
			UpdatedAt: at("2026-01-02T03:04:05Z"),
		})
	}
}

const listRow = `{"orders": [{
  "id": "ID", "customer": "ann", "state": "shipping_failed", "status": "paid", "version": 9,
  "total": 600, "currency": "RUB", "reason": "ship_refused", "compensation": "none",
  "cancellation_status": "refused",
  "attention": [
    {"reason": "shipping_failed", "step_no": 3, "since": "2026-01-02T03:04:07.000000Z"}],
  "next_actions": ["ship", "close"],
  "created_at": "2026-01-02T03:04:05.000000Z", "updated_at": "2026-01-02T03:04:06.000000Z"
}], "next_cursor": null}`

func TestListRow(t *testing.T) {
	b := newBench(t)
	b.fake.rows = []store.OrderRow{{
		ID: annsOrder, Customer: "ann", State: order.ShippingFailed, Version: 9, Total: 600,
		Currency: "RUB", Reason: "ship_refused", Compensation: order.CompensationNone,
		CancelStatus: order.CancelRefused, CreatedAt: at("2026-01-02T03:04:05Z"),
		UpdatedAt: at("2026-01-02T03:04:06Z"),
		Attention: []store.Reason{{Reason: order.AttentionShippingFailed, StepNo: 3,
			Since: at("2026-01-02T03:04:07Z")}},
	}}
	w := b.do(call{method: "GET", path: "/api/v1/orders", token: operator})
	if diff := cmp.Diff(compact(t, listRow), w.Body.String()); diff != "" {
		t.Error(diff)
	}
	if l := b.list(ann, ""); len(l.Orders[0].NextActions) > 0 {
		t.Errorf("a customer may %v", l.Orders[0].NextActions)
	}
	b.fake.rows = nil
	w = b.do(call{method: "GET", path: "/api/v1/orders", token: ann})
	if w.Body.String() != `{"orders":[],"next_cursor":null}` {
		t.Errorf("no orders: %s", w.Body)
	}
}

func TestListFilters(t *testing.T) {
	from, to := at("2026-01-02T03:04:05.000001Z"), at("2026-02-01T00:00:00Z")
	rows := []struct {
		token, query string
		want         store.OrderFilter
	}{
		{ann, "", store.OrderFilter{Customer: "ann", Limit: 21}},
		{operator, "", store.OrderFilter{Limit: 21}},
		{operator, "?customer=b%C3%B6b", store.OrderFilter{Customer: "böb", Limit: 21}},
		{ann, "?state=paid&limit=1", store.OrderFilter{Customer: "ann", State: "paid", Limit: 2}},
		{ann, "?limit=100", store.OrderFilter{Customer: "ann", Limit: 101}},
		{operator, "?attention=any", store.OrderFilter{Attention: "any", Limit: 21}},
		{operator, "?attention=payment_mismatch",
			store.OrderFilter{Attention: "payment_mismatch", Limit: 21}},
		{operator, "?created_from=2026-01-02T06:04:05.000001%2B03:00&created_to=2026-02-01T00:00:00Z",
			store.OrderFilter{CreatedFrom: from, CreatedTo: to, Limit: 21}},
	}
	for _, row := range rows {
		b := newBench(t)
		b.list(row.token, row.query)
		if diff := cmp.Diff(row.want, b.fake.filters[0]); diff != "" {
			t.Errorf("%s: %s", row.query, diff)
		}
	}
}

func TestRefusedQueries(t *testing.T) {
	for query, parameter := range map[string]string{
		"limit=0": "limit", "limit=101": "limit", "limit=1.0": "limit", "limit=+1": "limit",
		"limit=01": "limit", "limit=": "limit", "limit=1&limit=1": "limit",
		"limit=18446744073709551617": "limit",
		"state=PAID":                 "state", "state=": "state", "state=paid%00": "state",
		"attention=none": "attention", "attention=Any": "attention",
		"customer=": "customer", "customer=%00": "customer", "customer=%ff": "customer",
		"customer=a%0ab": "customer", "customer=" + strings.Repeat("a", 256): "customer",
		"created_from=2026-01-02": "created_from", "created_from=now": "created_from",
		"created_to=2026-01-02T03:04:05.0000001Z": "created_to",
		"created_to=2026-13-02T03:04:05Z":         "created_to",
		"created_to=2026-01-02T03:04:05":          "created_to",
		"order=asc":                               "", "Limit=1": "", "a;b": "", "%zz": "", "=": "",
	} {
		b := newBench(t)
		r := b.request(call{method: "GET", path: "/api/v1/orders", token: operator})
		r.URL.RawQuery = query
		w := b.send(r)
		p := problemOf(t, w)
		if w.Code != 400 || p.Code != "invalid_parameter" || p.Parameter != parameter ||
			len(b.fake.filters) > 0 {
			t.Errorf("%s: %d %+v", query, w.Code, p)
		}
	}
}

// TestPages: a page is full or the last, and the cursor of the last order leads on.
func TestPages(t *testing.T) {
	b := newBench(t)
	b.grow(3)
	if l := b.list(ann, "?limit=3"); len(l.Orders) != 3 || l.NextCursor != nil {
		t.Errorf("%+v", l)
	}
	l := b.list(ann, "?limit=2")
	if len(l.Orders) != 2 || l.NextCursor == nil {
		t.Fatalf("%+v", l)
	}
	b.list(ann, "?limit=1&cursor="+*l.NextCursor)
	last := b.fake.rows[1]
	want := &store.OrderPosition{CreatedAt: last.CreatedAt, ID: last.ID}
	if diff := cmp.Diff(want, b.fake.filters[2].After); diff != "" {
		t.Error(diff)
	}
}

// TestCursorsAreBound: a cursor is good for its caller and its filters, as it came, and for the
// key that it was signed with.
func TestCursorsAreBound(t *testing.T) {
	b := newBench(t)
	b.grow(2)
	const query = "?limit=1&state=created&created_from=2026-01-01T00:00:00Z"
	cursor := *b.list(ann, query).NextCursor
	b.list(ann, "?limit=7&created_from=2026-01-01T03:00:00%2B03:00&state=created&cursor="+cursor)
	refused := func(token, query, cursor string) {
		t.Helper()
		w := b.do(call{method: "GET", token: token,
			path: "/api/v1/orders" + query + "&cursor=" + url.QueryEscape(cursor)})
		p := problemOf(t, w)
		if w.Code != 400 || p.Code != "invalid_cursor" || p.Parameter != "cursor" {
			t.Errorf("%s %s: %d %s", query, cursor, w.Code, w.Body)
		}
	}
	refused(bob, query, cursor)
	refused(operator, query, cursor)
	refused(operator, query+"&customer=ann", cursor)
	refused(ann, "?limit=1", cursor)
	refused(ann, strings.Replace(query, "created&", "paid&", 1), cursor)
	refused(ann, strings.Replace(query, "from", "to", 1), cursor)
	refused(ann, query, cursor[1:])
	refused(ann, query, cursor+"A")
	refused(ann, query, cursor+"=")
	refused(ann, query, " "+cursor)
	refused(ann, query, strings.Repeat("A", len(cursor)))
	refused(ann, query, strings.Repeat("A", 100_000))
	refused(ann, query, "\x00")
	for n := range cursor {
		other := byte('A')
		if cursor[n] == other {
			other = 'B'
		}
		refused(ann, query, cursor[:n]+string(other)+cursor[n+1:])
	}
	b.config.CursorKey = []byte("another key")
	b.rebuild()
	refused(ann, query, cursor)
}
