package api

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ordeal/service/order"
	"ordeal/service/store"
)

var signer = &api{Config: Config{CursorKey: []byte("key of the tests")}}

// TestCursorRoundTrip: every place comes back as it went.
func TestCursorRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := store.OrderPosition{
			CreatedAt: time.UnixMicro(rapid.Int64().Draw(t, "time")).UTC(),
			ID:        order.NewID(rapid.String().Draw(t, "customer"), "k"),
		}
		list := []byte(rapid.String().Draw(t, "list"))
		got, err := signer.position(signer.cursor(want, list), list)
		if err != nil || got.ID != want.ID || !got.CreatedAt.Equal(want.CreatedAt) {
			t.Fatalf("%v %v, want %v", got, err, want)
		}
	})
}

// FuzzCursor: a cursor that is taken is one that was handed out, to the letter.
func FuzzCursor(f *testing.F) {
	list := []byte("list")
	good := signer.cursor(store.OrderPosition{ID: order.NewID("a", "k")}, list)
	for _, seed := range []string{good, good[1:], good + "A", "", "=", "AAAA", "\x00\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := signer.position(text, list)
		if err != nil {
			r, ok := errors.AsType[*refusal](err)
			if !ok || r.code != codeInvalidCursor {
				t.Fatalf("%#v", err)
			}
			return
		}
		if again := signer.cursor(*p, list); again != text {
			t.Fatalf("took %q for %q", text, again)
		}
	})
}

// FuzzQuery: a query is refused as such, or means what it says.
func FuzzQuery(f *testing.F) {
	f.Add("state=paid&limit=7&cursor=x")
	f.Add("attention=any&customer=%ff")
	f.Add("created_from=2026-01-02T03:04:05.000001Z&created_to=9999-12-31T23:59:59Z")
	f.Add("a;b&=&%zz")
	f.Fuzz(func(t *testing.T, raw string) {
		got, p, err := readQuery(raw)
		if err != nil {
			r, ok := errors.AsType[*refusal](err)
			if !ok || r.code != codeInvalidParameter {
				t.Fatalf("%#v", err)
			}
			return
		}
		if p.limit < 1 || p.limit > maxLimit {
			t.Fatalf("limit %d", p.limit)
		}
		if got.State != "" {
			if _, known := order.Info(order.State(got.State)); !known {
				t.Fatalf("state %q", got.State)
			}
		}
		if _, err := scopeOf(store.Principal{}, got); err != nil {
			t.Fatalf("%q: %v", raw, err) // a year beyond 9999 has no JSON
		}
	})
}

// FuzzDecodeDecision: a decision is refused as the client's mistake, or is what the standard
// library reads too.
func FuzzDecodeDecision(f *testing.F) {
	f.Add([]byte(`{"reason_code":"other","expected_version":2,"note":"n","release_stock":true}`))
	f.Add([]byte(`{"expected_version":-0}`))
	f.Add([]byte(`{"release_stock":tru`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := decodeDecision(body, store.CommandClose)
		if err != nil {
			r, ok := errors.AsType[*refusal](err)
			if !ok || kinds[r.code].status != 400 && r.code != codePreconditionRequired {
				t.Fatalf("%#v", err)
			}
			return
		}
		var lenient decision
		assertLibraryReads(t, body, &lenient)
		if lenient != got {
			t.Fatalf("%+v, the library reads %+v", got, lenient)
		}
	})
}
