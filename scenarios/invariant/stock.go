package invariant

import (
	"cmp"
	"slices"

	"ordeal/scenarios/evidence"
)

var stockAdds = Invariant{
	ID:    "INV-11",
	Title: "Stock adds up",
	Text: "Reserved, available and shipped stock sum to what was supplied and are never negative; " +
		"they are what the orders hold and took; at rest final unsuccessful orders hold nothing " +
		"(closed with compensation incomplete apart).",
	Needs: []string{"stock", "warehouse ledger", "orders"},
	Check: checkStockAdds,
}

// The states of a reservation key that rules speak of.
const (
	keyPending   = "pending"
	keyHeld      = "held"
	keyCommitted = "committed"
)

func checkStockAdds(r *evidence.Run) Result {
	var t tally
	taken := takenStock(r)
	for _, line := range r.Stock {
		t.met()
		if line.Supplied != line.Reserved+line.Available+line.Shipped {
			t.violated("", r.Horizon, "stock of %s: reserved %d + available %d + shipped %d is "+
				"not supplied %d", line.SKU, line.Reserved, line.Available, line.Shipped,
				line.Supplied)
		}
		if line.Reserved < 0 || line.Available < 0 || line.Shipped < 0 {
			t.violated("", r.Horizon, "stock of %s is negative: reserved %d, available %d, "+
				"shipped %d", line.SKU, line.Reserved, line.Available, line.Shipped)
		}
		want := taken[line.SKU]
		if line.Reserved != want.Reserved || line.Shipped != want.Shipped {
			t.violated("", r.Horizon, "stock of %s: reserved %d and shipped %d, but the ledger "+
				"and the orders' items make it %d and %d", line.SKU, line.Reserved,
				line.Shipped, want.Reserved, want.Shipped)
		}
	}
	if r.AtRest {
		for _, v := range r.Views() {
			judgeNothingHeld(&t, v)
		}
	}
	return t.result
}

// takenStock adds up, per SKU, the items of the orders whose keys hold or have taken stock.
func takenStock(r *evidence.Run) map[string]evidence.StockLine {
	taken := map[string]evidence.StockLine{}
	for _, v := range r.Views() {
		if v.Order == nil {
			continue
		}
		for _, k := range reservationKeys(v) {
			for _, item := range v.Order.Items {
				line := taken[item.SKU]
				switch k.state {
				case keyHeld:
					line.Reserved += item.Quantity
				case keyCommitted:
					line.Shipped += item.Quantity
				}
				taken[item.SKU] = line
			}
		}
	}
	return taken
}

// judgeNothingHeld looks for stock that a finished order forgot.
func judgeNothingHeld(t *tally, v evidence.View) {
	if v.Order == nil || !finalUnsuccessful(v.Order.State) {
		return
	}
	t.met()
	for _, k := range reservationKeys(v) {
		if k.state == keyHeld || k.state == keyPending {
			t.violated(v.ID, v.LastAt(), "the order is %s, but the warehouse has %s %s",
				v.Order.State, k.key, k.state)
		}
	}
}

// keyState is what the warehouse last said about a reservation key.
type keyState struct{ key, state string }

// reservationKeys replays the warehouse ledger of an order: its keys, sorted, and their states.
func reservationKeys(v evidence.View) []keyState {
	var keys []keyState
	for _, e := range v.Warehouse {
		if e.After == "" {
			continue
		}
		at := slices.IndexFunc(keys, func(k keyState) bool { return k.key == e.Subject() })
		if at < 0 {
			keys = append(keys, keyState{e.Subject(), e.After})
			continue
		}
		keys[at].state = e.After
	}
	slices.SortFunc(keys, func(a, b keyState) int { return cmp.Compare(a.key, b.key) })
	return keys
}

// heldKey returns a key of the order that holds stock, empty if none does.
func heldKey(v evidence.View) string {
	for _, k := range reservationKeys(v) {
		if k.state == keyHeld {
			return k.key
		}
	}
	return ""
}
