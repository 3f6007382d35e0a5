package integration_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"testing"

	"ordeal/service/order"
)

// listed is a list as clients read it.
type listed struct {
	Orders []struct {
		ID          string
		Customer    string
		NextActions []string `json:"next_actions"`
		CreatedAt   string   `json:"created_at"`
	}
	NextCursor *string `json:"next_cursor"`
}

// list asks for a list of orders.
func (s *service) list(token, query string) (l listed) {
	s.Helper()
	w := s.send(0, "GET", ordersPath+query, token, "", "")
	s.want(w, 200, "")
	if err := json.Unmarshal(w.Body.Bytes(), &l); err != nil {
		s.Fatal(err)
	}
	return l
}

// TestListIsWalked: all orders come, once each, the newest first, however small the pages and
// whatever is created meanwhile, also where several were created at one moment.
func TestListIsWalked(t *testing.T) {
	s := setup(t)
	want := map[string]bool{}
	for n := range 7 {
		want[s.create(fmt.Sprint("k", n)).String()] = true
	}
	s.exec("update orders set created_at = (select max(created_at) from orders) " +
		"where created_at < (select max(created_at) from orders)")
	s.send(0, "POST", ordersPath, bob, "foreign", body)
	seen, query, latest := map[string]bool{}, "?limit=2", "9999"
	for page := 0; ; page++ {
		l := s.list(ann, query)
		for _, o := range l.Orders {
			if seen[o.ID] || !want[o.ID] || o.Customer != ann || o.CreatedAt > latest {
				t.Errorf("page %d: unexpected %+v", page, o)
			}
			seen[o.ID], latest = true, o.CreatedAt
		}
		if l.NextCursor == nil {
			break
		}
		s.create(fmt.Sprint("late", page))
		query = "?limit=2&cursor=" + *l.NextCursor
	}
	if len(seen) != len(want) {
		t.Errorf("%d of %d orders", len(seen), len(want))
	}
}

func TestListFilters(t *testing.T) {
	s := setup(t)
	first := s.create("first")
	s.end(order.StepReserve, order.OutcomePermanent)
	moment := s.list(ann, "").Orders[0].CreatedAt
	second := s.create("second")
	s.send(0, "POST", ordersPath, bob, "third", body)
	third := order.NewID(bob, "third")
	for query, want := range map[string][]order.ID{
		"":                                   {third, second, first},
		"?customer=ann":                      {second, first},
		"?customer=nobody":                   {},
		"?state=created":                     {third, second},
		"?state=reserving&customer=ann":      {first},
		"?attention=any":                     {first},
		"?attention=permanent_error":         {first},
		"?attention=retry_exhausted":         {},
		"?created_to=" + moment:              {},
		"?created_from=" + moment:            {third, second, first},
		"?created_from=9999-01-01T00:00:00Z": {},
		"?created_from=0001-01-01T00:00:00Z&created_to=9999-12-31T23:59:59.999999Z": {third, second,
			first},
	} {
		l := s.list(olga, query)
		if len(l.Orders) != len(want) {
			t.Errorf("%s: %d orders", query, len(l.Orders))
			continue
		}
		for n, id := range want {
			if l.Orders[n].ID != id.String() {
				t.Errorf("%s: %s at %d", query, l.Orders[n].ID, n)
			}
		}
	}
	if l := s.list(ann, ""); len(l.Orders) != 2 {
		t.Errorf("ann sees %d", len(l.Orders))
	}
	w := s.send(0, "GET", ordersPath+"?customer=bob", ann, "", "")
	s.want(w, 403, "forbidden")
}

// TestForgedCursor: a cursor of one's own making is none.
func TestForgedCursor(t *testing.T) {
	s := setup(t)
	s.create("one")
	s.create("two")
	cursor := *s.list(ann, "?limit=1").NextCursor
	for _, forged := range []string{"x", cursor[:len(cursor)-1], cursor + cursor, "\x00"} {
		w := s.send(0, "GET", ordersPath+"?limit=1&cursor="+url.QueryEscape(forged), ann, "", "")
		s.want(w, 400, "invalid_cursor")
	}
	s.want(s.send(0, "GET", ordersPath+"?limit=1&cursor="+cursor, olga, "", ""), 400,
		"invalid_cursor")
	if l := s.list(ann, "?limit=1&cursor="+cursor); len(l.Orders) != 1 || l.NextCursor != nil {
		t.Errorf("%+v", l)
	}
}
