package api

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ordeal/service/order"
)

// The bounds of a page, in orders.
const (
	defaultLimit = 20
	maxLimit     = 100
)

// maxCustomer bounds the name of a customer in a filter, in bytes.
const maxCustomer = 255

// anyAttention is the filter of all orders that a person should look at.
const anyAttention = "any"

// filter is what the query of a list asks for, without the page.
type filter struct {
	State       string    `json:"state"`
	Attention   string    `json:"attention"`
	Customer    string    `json:"customer"`
	CreatedFrom time.Time `json:"created_from"`
	CreatedTo   time.Time `json:"created_to"`
}

// page is the part of a list that is asked for.
type page struct {
	cursor string
	limit  int
}

// readQuery reads the query of a list. Each parameter is known and given once at most.
func readQuery(raw string) (f filter, p page, err error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return f, p, refuse(codeInvalidParameter, "The query is not name=value&name=value.")
	}
	p.limit = defaultLimit
	parameters := map[string]func(string) (problem string){
		"state":        func(s string) string { return f.setState(s) },
		"attention":    func(s string) string { return f.setAttention(s) },
		"customer":     func(s string) string { return f.setCustomer(s) },
		"created_from": func(s string) string { return setTime(&f.CreatedFrom, s) },
		"created_to":   func(s string) string { return setTime(&f.CreatedTo, s) },
		"limit":        func(s string) string { return p.setLimit(s) },
		"cursor":       func(s string) string { p.cursor = s; return "" },
	}
	for _, name := range sorted(values) {
		set, known := parameters[name]
		switch {
		case !known:
			return f, p, invalidParameter("", "There is a parameter that is unknown.")
		case len(values[name]) > 1 || values[name][0] == "":
			return f, p, invalidParameter(name, "The parameter "+name+" needs one value.")
		}
		if problem := set(values[name][0]); problem != "" {
			return f, p, invalidParameter(name, "The parameter "+name+" must be "+problem+".")
		}
	}
	return f, p, nil
}

// sorted returns the names in a query, so that of several mistakes it is always the same one that
// is told.
func sorted(values url.Values) []string {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (f *filter) setState(s string) (problem string) {
	f.State = s
	if _, known := order.Info(order.State(s)); !known {
		return "a state"
	}
	return ""
}

func (f *filter) setAttention(s string) (problem string) {
	f.Attention = s
	if s != anyAttention && !slices.Contains(order.Attentions, order.Attention(s)) {
		return anyAttention + " or a reason for attention"
	}
	return ""
}

func (f *filter) setCustomer(s string) (problem string) {
	f.Customer = s
	if len(s) > maxCustomer || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		return "the name of a customer"
	}
	return ""
}

// setTime reads a time as RFC 3339 has it. Times are stored in microseconds; a finer one would
// not be compared as it is written.
func setTime(target *time.Time, s string) (problem string) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || !t.Equal(t.Truncate(time.Microsecond)) {
		return "a time of RFC 3339, in microseconds at the finest"
	}
	*target = t.UTC()
	return ""
}

func (p *page) setLimit(s string) (problem string) {
	n, err := strconv.Atoi(s)
	p.limit = n
	if err != nil || n < 1 || n > maxLimit || strconv.Itoa(n) != s {
		return "an integer from 1 to " + strconv.Itoa(maxLimit)
	}
	return ""
}

func invalidParameter(name, detail string) *refusal {
	f := refuse(codeInvalidParameter, detail)
	f.parameter = name
	return f
}
