package main

import (
	"fmt"
	"io"
	"strings"
	"text/template"

	"ordeal/service"
	"ordeal/service/order"
)

// guide is what a person needs to play.
type guide struct {
	// URL is the address of the service.
	URL string
	// Customer and Operator are bearer tokens.
	Customer, Operator string
	// Database is a connection string.
	Database string
	// Warehouse, Payment and Shipping are the addresses of the imitations.
	Warehouse, Payment, Shipping string
}

// Order is the id of the order that the customer creates under a key. It is derived, so commands
// about an order can be written down before the order exists.
func (guide) Order(key string) order.ID { return order.NewID(service.LocalCustomer, key) }

// page is the guide as text. The second order is made to wait for the warehouse, which leaves a
// person all the time in the world to cancel it.
var page = template.Must(template.New("guide").
	Funcs(template.FuncMap{"quoted": quoted}).
	Parse(`service    {{.URL}}
customer   {{.Customer}}
operator   {{.Operator}}
database   psql {{quoted .Database}}
warehouse  {{.Warehouse}}
payment    {{.Payment}}
shipping   {{.Shipping}}
{{- define "curl"}}curl -sS -w '\n'{{end}}
{{- define "json"}} -H 'Content-Type: application/json'{{end}}
{{- define "customer"}} -H 'Authorization: Bearer {{.Customer}}'{{end}}
{{- define "create"}}{{template "curl"}} {{.URL}}/api/v1/orders
{{- template "customer" .}}{{template "json"}}{{end}}
{{- define "items"}} -d '{"items":[{"sku":"tea","quantity":2,"unit_price":50000}]}'{{end}}

# Create an order. The same command again changes nothing and gets the same answer.
{{template "create" .}} -H 'Idempotency-Key: first'{{template "items"}}

# Look at it: it is shipped within a second.
{{template "curl"}} {{.URL}}/api/v1/orders/{{.Order "first"}}{{template "customer" .}}

# Let the warehouse fail for an order to come, create that order, and cancel it while it waits.
{{template "curl"}} {{.Warehouse}}/control/script{{template "json"}} -d '
{{- ""}}{"operation":"reserve","order_id":"{{.Order "second"}}","behaviours":[
{{- ""}}{"kind":"transient"},{"kind":"transient"},{"kind":"transient"},{"kind":"transient"},
{{- ""}}{"kind":"transient"}]}'
{{template "create" .}} -H 'Idempotency-Key: second'{{template "items"}}
{{template "curl"}} -X POST {{.URL}}/api/v1/orders/{{.Order "second"}}/cancel
{{- template "customer" .}}

# Let the next charge happen without an answer, and watch how the order finds out that it is paid.
{{template "curl"}} {{.Payment}}/control/script{{template "json"}} -d '
{{- ""}}{"operation":"charge","behaviours":[{"kind":"timeout_with_effect"}]}'
{{template "create" .}} -H 'Idempotency-Key: third'{{template "items"}}
{{template "curl"}} {{.URL}}/api/v1/orders/{{.Order "third"}}{{template "customer" .}}
`))

// announce writes the guide in one piece.
func announce(out io.Writer, g guide) error {
	var text strings.Builder
	if err := page.Execute(&text, g); err != nil {
		return fmt.Errorf("write the guide: %w", err)
	}
	if _, err := io.WriteString(out, text.String()); err != nil {
		return fmt.Errorf("write the guide: %w", err)
	}
	return nil
}

// quoted quotes a text for a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
