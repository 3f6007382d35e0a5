package imitation

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"
)

// TestSeededDependsOnContentOnly: the same calls in another order get the same behaviours.
func TestSeededDependsOnContentOnly(t *testing.T) {
	weights := Weights{Succeed: 5, Transient: 2, Pending: 2, LateArrival: 1}
	forward, backward := map[Call]Behaviour{}, map[Call]Behaviour{}
	var calls []Call
	for i := range 200 {
		calls = append(calls, Call{Operation: Charge, Key: fmt.Sprint("k", i/5), Attempt: i % 5})
	}
	first, second := seeded(t, 7, weights), seeded(t, 7, weights)
	for i := range calls {
		forward[calls[i]] = first.Plan(calls[i])
		last := calls[len(calls)-1-i]
		backward[last] = second.Plan(last)
	}
	other, differ := seeded(t, 8, weights), 0
	for _, c := range calls {
		if forward[c] != backward[c] {
			t.Errorf("%+v: %+v and %+v", c, forward[c], backward[c])
		}
		if other.Plan(c) != forward[c] {
			differ++
		}
	}
	if differ < 50 {
		t.Errorf("another seed differs in %d of %d calls", differ, len(calls))
	}
}

func seeded(t *testing.T, seed uint64, w Weights) *Seeded {
	t.Helper()
	s, err := NewSeeded(seed, w)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSeededWeighs: kinds come about as often as they weigh, attempts and steps differ, and what
// a kind leaves open is filled in.
func TestSeededWeighs(t *testing.T) {
	s := seeded(t, 1, Weights{Succeed: 70, Pending: 20, LateArrival: 10})
	count := map[Kind]int{}
	refused := 0
	for i := range 10_000 {
		b := s.Plan(Call{Operation: Charge, Key: "k", Step: i / 100, Attempt: i % 100})
		count[b.Kind]++
		if b.SettleRefused {
			refused++
		}
		after := time.Duration(b.After)
		if b.Kind == LateArrival && (after < 4*time.Second || after > 10*time.Second) {
			t.Fatalf("late by %s", after)
		}
	}
	for kind, want := range map[Kind]int{Succeed: 7000, Pending: 2000, LateArrival: 1000} {
		if got := count[kind]; got < want-300 || got > want+300 {
			t.Errorf("%s: %d of 10000, want about %d", kind, got, want)
		}
	}
	if refused < 500 || refused > 900 {
		t.Errorf("%d of %d pending ones settle as refused", refused, count[Pending])
	}
}

func TestWeightsAreChecked(t *testing.T) {
	for _, w := range []Weights{nil, {Succeed: 0}, {"odd": 1}, {Succeed: -1}, {Succeed: 1 << 40}} {
		if _, err := NewSeeded(1, w); err == nil {
			t.Errorf("%v is accepted", w)
		}
	}
}

// TestScriptOverHTTP: lists of an order go before lists of any order, and both before the
// planner; DELETE drops them.
func TestScriptOverHTTP(t *testing.T) {
	c, _ := config(nil)
	p := NewPayment(c)
	control := func(method, body string, status int) string {
		t.Helper()
		recorder := httptest.NewRecorder()
		p.ServeHTTP(recorder, newRequest("", method, "/control/script", body))
		if recorder.Code != status {
			t.Fatalf("%s %s: %d %s", method, body, recorder.Code, recorder.Body)
		}
		return recorder.Body.String()
	}
	charge := func(key string) exchange {
		return exchange{key, "POST", "/v1/charges", charge100, 201, Succeeded, ""}
	}
	refused := func(key, code string) exchange {
		return exchange{key, "POST", "/v1/charges", charge100, 402, Refused, code}
	}
	control("POST", `{"operation":"charge","behaviours":[{"kind":"refuse","code":"any"}]}`, 204)
	control("POST", `{"operation":"charge","order_id":"o1","behaviours":[
		{"kind":"refuse","code":"one"},{"kind":"succeed"}]}`, 204)
	control("POST", `{"operation":"charge","order_id":"o1","behaviours":[
		{"kind":"refuse","code":"three"}]}`, 204)
	control("POST", `{"operation":"charge","order_id":"o2","behaviours":[{"kind":"refuse"}]}`, 204)
	converse(t, p, []exchange{refused("k1", "one"), charge("k2"), refused("k3", "three"),
		refused("k4", "any"), charge("k5")})
	var left []Script
	if err := json.Unmarshal([]byte(control("GET", "", 200)), &left); err != nil ||
		len(left) != 1 || left[0].OrderID != "o2" {
		t.Errorf("left: %+v, %v", left, err)
	}
	control("POST", `{"operation":"charge","behaviours":[{"kind":"refuse","after":"7s"}]}`, 204)
	control("DELETE", "", 204)
	converse(t, p, []exchange{charge("k6")})
	for _, bad := range []string{`{`, `{"operation":"charge"}`,
		`{"operation":"odd","behaviours":[{"kind":"succeed"}]}`,
		`{"operation":"charge","behaviours":[{"kind":"odd"}]}`,
		`{"operation":"charge","behaviours":[{"kind":"refuse","code":"No!"}]}`,
		`{"operation":"charge","behaviours":[{"kind":"late_arrival","after":"-1s"}]}`,
		`{"operation":"charge","behaviours":[{"kind":"late_arrival","after":"soon"}]}`} {
		control("POST", bad, 400)
	}
}

// TestOrdinals: equal calls are numbered, others are not mixed up with them.
func TestOrdinals(t *testing.T) {
	var seen []Call
	c, _ := config(PlannerFunc(func(call Call) Behaviour {
		seen = append(seen, call)
		return Behaviour{Kind: Succeed}
	}))
	p := NewPayment(c)
	for _, key := range []string{"k1", "k1", "k2", "k1"} {
		ask(t, p, key, "POST", "/v1/charges", charge100)
	}
	ask(t, p, "", "GET", "/v1/charges/k1", "")
	want := []Call{
		{Operation: Charge, Key: "k1", OrderID: "o1", Step: 2, Attempt: 1, Ordinal: 1},
		{Operation: Charge, Key: "k1", OrderID: "o1", Step: 2, Attempt: 1, Ordinal: 2},
		{Operation: Charge, Key: "k2", OrderID: "o1", Step: 2, Attempt: 1, Ordinal: 1},
		{Operation: Charge, Key: "k1", OrderID: "o1", Step: 2, Attempt: 1, Ordinal: 3},
		{Operation: StatusCharge, TargetKey: "k1", OrderID: "o1", Step: 2, Attempt: 1, Ordinal: 1},
	}
	for i := range want {
		if seen[i] != want[i] {
			t.Errorf("call %d: %+v, want %+v", i, seen[i], want[i])
		}
	}
}
