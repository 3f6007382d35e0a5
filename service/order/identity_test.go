package order_test

import (
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"ordeal/service/order"
)

// TestIDIsDerived: creating twice meets the same order, whose id is a UUIDv8 (RFC 9562) that
// begins with what depends on the customer alone.
func TestIDIsDerived(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		customer, key := rapid.String().Draw(t, "customer"), rapid.String().Draw(t, "key")
		id := order.NewID(customer, key)
		if id != order.NewID(customer, key) {
			t.Fatal("the same creation gives two ids")
		}
		if id.Version() != 8 || id.Variant() != uuid.RFC4122 {
			t.Fatalf("%s has version %d and variant %s", id, id.Version(), id.Variant())
		}
		other := order.NewID(customer, rapid.String().Draw(t, "other key"))
		if id[0] != other[0] || id[1] != other[1] {
			t.Fatalf("%s and %s of one customer begin differently", id, other)
		}
	})
}

// TestIDsDiffer: another customer or another key is another order.
func TestIDsDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("ab\x00:/")), 0, 4, -1)
		c1, k1 := text.Draw(t, "customer"), text.Draw(t, "key")
		c2, k2 := text.Draw(t, "other customer"), text.Draw(t, "other key")
		same := c1 == c2 && k1 == k2
		if (order.NewID(c1, k1) == order.NewID(c2, k2)) != same {
			t.Fatalf("(%q, %q) and (%q, %q): same order: %v", c1, k1, c2, k2, !same)
		}
	})
}

// TestIDKeepsPartsApart: moving a border between customer and key changes the order, beyond the
// 16 bits that belong to the customer.
func TestIDKeepsPartsApart(t *testing.T) {
	tails := map[[14]byte]string{}
	for i := range len("abcdef") + 1 {
		id := order.NewID("abcdef"[:i], "abcdef"[i:])
		name := fmt.Sprintf("%q and %q", "abcdef"[:i], "abcdef"[i:])
		tail := [14]byte(id[2:])
		if twin, ok := tails[tail]; ok {
			t.Errorf("%s collide with %s", name, twin)
		}
		tails[tail] = name
	}
	if order.NewID("a", "bc") == order.NewID("ab", "c") {
		t.Error("a + bc is ab + c")
	}
}

// TestCustomersAreSpread: the first 16 bits spread customers, so that no place holds them all.
func TestCustomersAreSpread(t *testing.T) {
	const customers = 1000
	places := map[[2]byte]bool{}
	for i := range customers {
		id := order.NewID(fmt.Sprintf("customer-%d", i), "key")
		places[[2]byte(id[:2])] = true
	}
	// Of 1,000 in 65,536 places, about 8 share one.
	if len(places) < customers-50 {
		t.Errorf("%d customers share %d places", customers, len(places))
	}
}

// TestIDIsStable: an id that was once given stays, whatever becomes of the code: the retry of a
// creation must find it after an upgrade.
func TestIDIsStable(t *testing.T) {
	const want = "e83f964f-5c3d-8755-87b4-3849345e156b"
	if got := order.NewID("customer-1", "key-1").String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestProviderKey: the key is a pure function of order, operation and sequence (STEP-1), differs
// when any of them does, and fits into an Idempotency-Key header.
func TestProviderKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type operation struct {
			id       order.ID
			kind     order.StepKind
			sequence int
		}
		draw := func(name string) operation {
			return operation{
				id:       order.NewID("c", rapid.SampledFrom([]string{"a", "b"}).Draw(t, name)),
				kind:     rapid.SampledFrom(order.StepKinds).Draw(t, name),
				sequence: rapid.IntRange(1, 20).Draw(t, name),
			}
		}
		one, two := draw("one"), draw("two")
		key := order.ProviderKey(one.id, one.kind, one.sequence)
		if key != order.ProviderKey(one.id, one.kind, one.sequence) {
			t.Fatal("the same operation has two keys")
		}
		if (key == order.ProviderKey(two.id, two.kind, two.sequence)) != (one == two) {
			t.Fatalf("%+v and %+v: key %s", one, two, key)
		}
		for _, c := range []byte(key) {
			if c <= ' ' || c > '~' || len(key) > 255 {
				t.Fatalf("key %q", key)
			}
		}
	})
}

// TestTraceID: 16 bytes as hex, never all zero, derived from the order, and no part of its id:
// operation id and trace id are distinct (WF-001).
func TestTraceID(t *testing.T) {
	seen := map[string]bool{}
	for i := range 2000 {
		id := order.NewID("customer", fmt.Sprint(i))
		trace := order.TraceID(id)
		raw, err := hex.DecodeString(trace)
		if err != nil || len(raw) != 16 || uuid.UUID(raw) == uuid.Nil || uuid.UUID(raw) == id {
			t.Errorf("trace %q of %s: %v", trace, id, err)
		}
		if trace != order.TraceID(id) || seen[trace] {
			t.Errorf("trace %q of %s is not its own", trace, id)
		}
		seen[trace] = true
	}
}
