package evidence

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sample() *Run {
	return &Run{
		Orders: []Order{{ID: "b"}, {ID: "a"}},
		Steps: []Step{
			{Order: "b", No: 2, Kind: "pay"}, {Order: "a", No: 1}, {Order: "b", No: 1},
		},
		Attempts: []Attempt{
			{Order: "b", Step: 2, No: 2}, {Order: "b", Step: 2, No: 1}, {Order: "b", Step: 1, No: 1},
		},
		History: []Change{{Order: "b", Version: 2, To: "paid"}, {Order: "b", Version: 1}},
		Payment: []Entry{{Order: "ghost", Seq: 3}, {Order: "b", Seq: 2}, {Order: "b", Seq: 1}, {}},
		Calls:   []Call{{Order: "b", Seq: 2}, {Order: "b", Seq: 1}},
		Client: []Exchange{
			{Seq: 3, Order: "b"}, {Seq: 1, Shown: Shown{Order: "b"}}, {Seq: 2},
		},
		Attention: []Attention{{Order: "a", Reason: "retry_exhausted"}},
	}
}

func TestViewsAreSortedAndComplete(t *testing.T) {
	run := sample()
	var ids []string
	for _, v := range run.Views() {
		ids = append(ids, v.ID)
	}
	if want := []string{"a", "b", "ghost"}; !slices.Equal(ids, want) {
		t.Fatalf("views of %v, want %v", ids, want)
	}
	b, ok := run.View("b")
	if !ok || b.Order == nil || b.Order.ID != "b" {
		t.Fatalf("view of b: %v, order %v", ok, b.Order)
	}
	sequences := map[string][]int{
		"steps":    {b.Steps[0].No, b.Steps[1].No},
		"history":  {b.History[0].Version, b.History[1].Version},
		"payment":  {b.Payment[0].Seq, b.Payment[1].Seq},
		"calls":    {b.Calls[0].Seq, b.Calls[1].Seq},
		"attempts": {b.Attempts[1].No, b.Attempts[2].No},
	}
	for what, got := range sequences {
		if !slices.Equal(got, []int{1, 2}) {
			t.Errorf("%s of b are %v, want [1 2]", what, got)
		}
	}
	if len(b.Client) != 2 || b.Client[0].Seq != 1 || b.Client[1].Seq != 3 {
		t.Errorf("exchanges of b are %v, want 1 and 3", b.Client)
	}
	if ghost, _ := run.View("ghost"); ghost.Order != nil || len(ghost.Payment) != 1 {
		t.Errorf("ghost has order %v and %d entries", ghost.Order, len(ghost.Payment))
	}
	if _, ok := run.View("nobody"); ok {
		t.Error("there is a view of nobody")
	}
}

func TestViewsDoNotDependOnArrival(t *testing.T) {
	forward, backward := sample(), sample()
	slices.Reverse(backward.Orders)
	slices.Reverse(backward.Steps)
	slices.Reverse(backward.Attempts)
	slices.Reverse(backward.History)
	slices.Reverse(backward.Payment)
	slices.Reverse(backward.Calls)
	slices.Reverse(backward.Client)
	if diff := cmp.Diff(forward.Views(), backward.Views()); diff != "" {
		t.Error(diff)
	}
}

func TestViewLooksUp(t *testing.T) {
	v, _ := sample().View("b")
	if s, ok := v.Step(2); !ok || s.Kind != "pay" {
		t.Errorf("step 2 is %+v", s)
	}
	if _, ok := v.Step(3); ok {
		t.Error("there is a step 3")
	}
	if n := len(v.AttemptsOf(2)); n != 2 {
		t.Errorf("step 2 has %d attempts, want 2", n)
	}
	if n := len(v.AttemptsOf(9)); n != 0 {
		t.Errorf("step 9 has %d attempts, want none", n)
	}
	if _, ok := v.Attempt(2, 3); ok {
		t.Error("there is an attempt 3")
	}
	if c, ok := v.Entered("paid"); !ok || c.Version != 2 {
		t.Errorf("entered paid with %+v", c)
	}
	if a, _ := sample().View("a"); !a.Asks("retry_exhausted") || a.Asks("payment_unresolved") {
		t.Errorf("attention of a is %v", a.Attention)
	}
}

// A window must not let an append reach the rows of the next order.
func TestWindowsAreClipped(t *testing.T) {
	run := sample()
	a, _ := run.View("a")
	_ = append(a.Steps, Step{Order: "x"})
	if b, _ := run.View("b"); b.Steps[0].Order != "b" {
		t.Errorf("appending to the steps of a changed those of b: %+v", b.Steps[0])
	}
}

func TestOperationOf(t *testing.T) {
	for _, c := range []struct{ party, method, path, want string }{
		{"payment", "POST", "/v1/charges", OpCharge},
		{"payment", "GET", "/v1/charges/k", OpStatusCharge},
		{"payment", "POST", "/v1/charges/k/void", OpVoid},
		{"payment", "POST", "/v1/refunds", OpRefund},
		{"payment", "GET", "/v1/refunds/k", OpStatusRefund},
		{"warehouse", "POST", "/v1/reservations", OpReserve},
		{"warehouse", "GET", "/v1/reservations/k", OpStatusReserve},
		{"warehouse", "POST", "/v1/reservations/k/release", OpRelease},
		{"warehouse", "POST", "/v1/reservations/k/commit", OpCommit},
		{"shipping", "POST", "/v1/shipments", OpShip},
		{"shipping", "GET", "/v1/shipments/k", OpStatusShip},
		{"shipping", "POST", "/v1/shipments/k/cancel", OpCancelShip},
		{"shipping", "POST", "/v1/charges", ""},
		{"payment", "DELETE", "/v1/charges/k", ""},
		{"payment", "GET", "/healthz", ""},
		{"payment", "GET", "/v1/charges/k/void/more", ""},
	} {
		if got := OperationOf(c.party, c.method, c.path); got != c.want {
			t.Errorf("%s %s at %s is %q, want %q", c.method, c.path, c.party, got, c.want)
		}
	}
}
