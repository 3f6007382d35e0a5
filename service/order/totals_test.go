package order_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ordeal/service/order"
)

func TestTotals(t *testing.T) {
	rows := readTable(t, "totals.txt")
	if len(rows) == 0 {
		t.Fatal("no rows")
	}
	for _, r := range rows {
		given, expected := r.arrow()
		lines, total, err := order.Totals(parseItems(t, given))
		got := totalsText(lines, total, err)
		want := strings.ReplaceAll(strings.Join(expected, " "), "max", fmt.Sprint(math.MaxInt64))
		if got != want {
			r.errorf(t, "got %s (error %v)", got, err)
		}
	}
}

// totalsText prints what Totals said as the table does.
func totalsText(lines []order.Money, total order.Money, err error) string {
	var invalid *order.InvalidError
	if errors.As(err, &invalid) {
		if lines != nil || total != 0 {
			return fmt.Sprintf("amounts %v, %d beside the error", lines, total)
		}
		return "invalid " + invalid.Field
	}
	if err != nil {
		return fmt.Sprintf("%T", err)
	}
	return fmt.Sprintf("%s = %d", strings.Trim(fmt.Sprint(lines), "[]"), total)
}

// parseItems reads sku:quantity:unit_price fields; a lone hyphen is no line at all.
func parseItems(t *testing.T, fields []string) []order.Item {
	t.Helper()
	var items []order.Item
	for _, f := range fields {
		if f == "-" {
			continue
		}
		parts := strings.Split(f, ":")
		sku, err := url.PathUnescape(parts[0])
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, order.Item{
			SKU:       sku,
			Quantity:  parseNumber(t, parts[1]),
			UnitPrice: parseNumber(t, parts[2]),
		})
	}
	return items
}

func parseNumber(t *testing.T, text string) int64 {
	t.Helper()
	if text == "max" {
		return math.MaxInt64
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestTotalsLimits: the longest list and SKU that are accepted, and the first that are not.
func TestTotalsLimits(t *testing.T) {
	for _, c := range []struct {
		lines, sku int
		want       string
	}{
		{1, 64, ""},
		{1, 65, "/items/0/sku"},
		{1, 100_000, "/items/0/sku"},
		{order.MaxItems, 8, ""},
		{order.MaxItems + 1, 8, "/items"},
		{100_000, 8, "/items"},
	} {
		items := make([]order.Item, c.lines)
		for n := range items {
			sku := fmt.Sprintf("%0*d", c.sku, n)
			items[n] = order.Item{SKU: sku, Quantity: 1, UnitPrice: 2}
		}
		_, total, err := order.Totals(items)
		var invalid *order.InvalidError
		if errors.As(err, &invalid) != (c.want != "") || invalid != nil && invalid.Field != c.want {
			t.Errorf("%d lines, SKUs of %d: %v, want %q", c.lines, c.sku, err, c.want)
		}
		if c.want == "" && total != 2*order.Money(c.lines) {
			t.Errorf("%d lines: total %d", c.lines, total)
		}
	}
}

// TestProblemsNameNoValues: a problem is shown to clients and logged, so it repeats nothing of
// the request, and an error says where it is.
func TestProblemsNameNoValues(t *testing.T) {
	plain := order.Item{SKU: "secret", Quantity: 1, UnitPrice: 1}
	for _, items := range [][]order.Item{
		{},
		{plain, plain},
		{{SKU: "secret sku", Quantity: 1, UnitPrice: 1}},
		{{SKU: "secret", Quantity: -987654, UnitPrice: 1}},
		{{SKU: "secret", Quantity: 1, UnitPrice: -987654}},
		{{SKU: "secret", Quantity: math.MaxInt64, UnitPrice: 987654}},
		{plain, {SKU: "other", Quantity: 1, UnitPrice: math.MaxInt64}},
	} {
		_, _, err := order.Totals(items)
		var invalid *order.InvalidError
		if !errors.As(err, &invalid) || invalid.Problem == "" {
			t.Fatalf("%+v: %v", items, err)
		}
		if regexp.MustCompile(`secret|987654|-\d|\d{8}`).MatchString(err.Error()) {
			t.Errorf("%v names a value", err)
		}
		if !strings.HasPrefix(err.Error(), invalid.Field) {
			t.Errorf("%v does not begin with %s", err, invalid.Field)
		}
	}
}

// TestTotalsAreExact: for any lines, the amounts are those of arithmetic without bounds, or the
// first line that is wrong by it is named.
func TestTotalsAreExact(t *testing.T) {
	amount := rapid.OneOf(
		rapid.Int64Range(-2, 10),
		rapid.Int64Range(1<<31-2, 1<<33),
		rapid.Int64Range(math.MaxInt64-2, math.MaxInt64),
		rapid.Int64(),
	)
	item := rapid.Custom(func(t *rapid.T) order.Item {
		return order.Item{
			SKU:       rapid.StringMatching(`[a-d]?[a-zA-Z0-9._-]{0,2}`).Draw(t, "sku"),
			Quantity:  amount.Draw(t, "quantity"),
			UnitPrice: amount.Draw(t, "unit price"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(item, 0, 6).Draw(t, "items")
		before := slices.Clone(items)
		got := totalsText(order.Totals(items))
		if want := exactTotals(items); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
		if !slices.Equal(items, before) {
			t.Fatal("the lines have changed")
		}
	})
}

// exactTotals computes totals by the book.
func exactTotals(items []order.Item) string {
	if len(items) == 0 {
		return "invalid /items"
	}
	max := big.NewInt(math.MaxInt64)
	total := new(big.Int)
	seen := map[string]bool{}
	var lines []string
	for n, item := range items {
		line := new(big.Int).Mul(big.NewInt(item.Quantity), big.NewInt(item.UnitPrice))
		at := fmt.Sprintf("invalid /items/%d/", n)
		switch {
		case item.SKU == "":
			return at + "sku"
		case item.Quantity < 1:
			return at + "quantity"
		case item.UnitPrice < 1, line.Cmp(max) > 0:
			return at + "unit_price"
		case seen[item.SKU]:
			return at + "sku"
		}
		seen[item.SKU] = true
		if total.Add(total, line).Cmp(max) > 0 {
			return "invalid /items"
		}
		lines = append(lines, line.String())
	}
	return strings.Join(lines, " ") + " = " + total.String()
}

// TestTotalIgnoresTheOrderOfLines: the same lines in another order cost the same.
func TestTotalIgnoresTheOrderOfLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "lines")
		items := make([]order.Item, n)
		for i := range items {
			items[i] = order.Item{
				SKU:       fmt.Sprint("sku-", i),
				Quantity:  rapid.Int64Range(1, 1<<33).Draw(t, "quantity"),
				UnitPrice: rapid.Int64Range(1, 1<<31).Draw(t, "unit price"),
			}
		}
		_, total, err := order.Totals(items)
		_, shuffled, errShuffled := order.Totals(rapid.Permutation(items).Draw(t, "shuffled"))
		if total != shuffled || (err == nil) != (errShuffled == nil) {
			t.Fatalf("%d (%v) and %d (%v)", total, err, shuffled, errShuffled)
		}
	})
}
