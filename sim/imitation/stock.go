package imitation

import (
	"maps"
	"slices"
)

// Refusal codes of the warehouse.
const (
	codeOutOfStock       = "out_of_stock"
	codeUnknownSKU       = "unknown_sku"
	codeAlreadyCommitted = "already_committed"
	codeNotHeld          = "not_held"
)

// StockLine is the stock of one SKU in pieces. Reserved, available and shipped always sum to
// supplied, and none is ever negative.
type StockLine struct {
	SKU       string `json:"sku"`
	Supplied  int64  `json:"supplied"`
	Available int64  `json:"available"`
	Reserved  int64  `json:"reserved"`
	Shipped   int64  `json:"shipped"`
}

// shelf holds the stock of every SKU.
type shelf struct {
	lines         map[string]*StockLine
	defaultSupply int64
}

func newShelf(stock map[string]int64, defaultSupply int64) *shelf {
	s := &shelf{lines: map[string]*StockLine{}, defaultSupply: defaultSupply}
	for sku, supply := range stock {
		s.lines[sku] = &StockLine{SKU: sku, Supplied: supply, Available: supply}
	}
	return s
}

// line finds a SKU; a default supply stocks an unknown one on first sight.
func (s *shelf) line(sku string) (*StockLine, bool) {
	if line, known := s.lines[sku]; known {
		return line, true
	}
	if s.defaultSupply <= 0 {
		return nil, false
	}
	line := &StockLine{SKU: sku, Supplied: s.defaultSupply, Available: s.defaultSupply}
	s.lines[sku] = line
	return line, true
}

// hold reserves all items or none. The SKUs of one request differ from each other.
func (s *shelf) hold(items []item) (code string) {
	for _, it := range items {
		line, known := s.line(it.SKU)
		if !known {
			return codeUnknownSKU
		}
		if line.Available < it.Quantity {
			code = codeOutOfStock
		}
	}
	if code != "" {
		return code
	}
	for _, it := range items {
		line := s.lines[it.SKU]
		line.Available -= it.Quantity
		line.Reserved += it.Quantity
	}
	return ""
}

// free gives held items back.
func (s *shelf) free(items []item) {
	for _, it := range items {
		line := s.lines[it.SKU]
		line.Reserved -= it.Quantity
		line.Available += it.Quantity
	}
}

// send turns held items into shipped ones.
func (s *shelf) send(items []item) {
	for _, it := range items {
		line := s.lines[it.SKU]
		line.Reserved -= it.Quantity
		line.Shipped += it.Quantity
	}
}

// snapshot copies the lines, ordered by SKU.
func (s *shelf) snapshot() []StockLine {
	all := make([]StockLine, 0, len(s.lines))
	for _, sku := range slices.Sorted(maps.Keys(s.lines)) {
		all = append(all, *s.lines[sku])
	}
	return all
}
