package order

import (
	"fmt"
	"math"
)

// Currency is the only currency of the service.
const Currency = "RUB"

// MaxItems bounds the lines of an order.
const MaxItems = 100

// maxSKU bounds the length of a SKU in bytes.
const maxSKU = 64

// Money is an amount in kopecks. No floating point type is ever on its path (ORD-1).
type Money = int64

// Item is one line of an order.
type Item struct {
	// SKU names the article: 1 to 64 of A–Z, a–z, 0–9, dot, underscore and hyphen.
	SKU string `json:"sku"`
	// Quantity is the number of pieces, at least 1.
	Quantity int64 `json:"quantity"`
	// UnitPrice is the price of one piece in kopecks, at least 1.
	UnitPrice Money `json:"unit_price"`
}

// InvalidError says which field of an order is wrong and why.
type InvalidError struct {
	// Field is the JSON pointer of the field, for example /items/2/quantity.
	Field string
	// Problem is a sentence without values of the request.
	Problem string
}

func (e *InvalidError) Error() string { return e.Field + ": " + e.Problem }

// Totals checks the lines of an order and returns the amount of each and their sum, in kopecks.
// Every error is an *InvalidError that names the field.
func Totals(items []Item) (lines []Money, total Money, err error) {
	if len(items) == 0 {
		return nil, 0, &InvalidError{"/items", "must not be empty"}
	}
	if len(items) > MaxItems {
		return nil, 0, &InvalidError{"/items", fmt.Sprintf("must have at most %d", MaxItems)}
	}
	seen := make(map[string]bool, len(items))
	for n, item := range items {
		amount, err := item.amount(n)
		if err != nil {
			return nil, 0, err
		}
		if seen[item.SKU] {
			return nil, 0, &InvalidError{fmt.Sprintf("/items/%d/sku", n), "is repeated"}
		}
		seen[item.SKU] = true
		if amount > math.MaxInt64-total {
			return nil, 0, &InvalidError{"/items", "total is too large"}
		}
		total += amount
		lines = append(lines, amount)
	}
	return lines, total, nil
}

// amount checks one line, the n-th, and multiplies it out.
func (i Item) amount(n int) (Money, error) {
	at := func(field, problem string) error {
		return &InvalidError{fmt.Sprintf("/items/%d/%s", n, field), problem}
	}
	switch {
	case !validSKU(i.SKU):
		return 0, at("sku", "must be 1 to 64 letters, digits, dots, underscores or hyphens")
	case i.Quantity <= 0:
		return 0, at("quantity", "must be at least 1")
	case i.UnitPrice <= 0:
		return 0, at("unit_price", "must be at least 1")
	case i.UnitPrice > math.MaxInt64/i.Quantity:
		return 0, at("unit_price", "times quantity is too large")
	}
	return i.Quantity * i.UnitPrice, nil
}

func validSKU(s string) bool {
	if s == "" || len(s) > maxSKU {
		return false
	}
	for _, c := range []byte(s) {
		ok := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			c == '.' || c == '_' || c == '-'
		if !ok {
			return false
		}
	}
	return true
}
