package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"ordeal/service/order"
	"ordeal/service/store"
)

// listView is a page of a list of orders; the cursor of the next one is null on the last.
type listView struct {
	Orders     []rowView `json:"orders"`
	NextCursor *string   `json:"next_cursor"`
}

// rowView is an order in a list.
type rowView struct {
	ID           string              `json:"id"`
	Customer     string              `json:"customer"`
	State        order.State         `json:"state"`
	Status       order.Status        `json:"status"`
	Version      int                 `json:"version"`
	Total        order.Money         `json:"total"`
	Currency     string              `json:"currency"`
	Reason       *string             `json:"reason"`
	Compensation order.Compensation  `json:"compensation"`
	Cancellation *order.CancelStatus `json:"cancellation_status"`
	Attention    []attentionView     `json:"attention"`
	NextActions  []order.Action      `json:"next_actions"`
	CreatedAt    string              `json:"created_at"`
	UpdatedAt    string              `json:"updated_at"`
}

// list shows a page of orders, the newest first: its own to a customer, all to the operator.
func (a *api) list(r *http.Request, who store.Principal) (task, error) {
	wanted, p, err := readQuery(r.URL.RawQuery)
	if err != nil {
		return task{}, err
	}
	scope, err := scopeOf(who, wanted)
	if err != nil {
		return task{}, err
	}
	f := store.OrderFilter{
		Customer:    wanted.Customer,
		State:       wanted.State,
		Attention:   wanted.Attention,
		CreatedFrom: wanted.CreatedFrom,
		CreatedTo:   wanted.CreatedTo,
		Limit:       p.limit + 1, // one more tells whether there is a next page
	}
	if p.cursor != "" {
		if f.After, err = a.position(p.cursor, scope); err != nil {
			return task{}, err
		}
	}
	return task{run: func(ctx context.Context) (reply, error) {
		if who.Role != roleOperator {
			if wanted.Customer != "" {
				return reply{}, refuse(codeForbidden, "Only the operator may choose a customer.")
			}
			f.Customer = who.Name
		}
		return a.page(ctx, f, scope, who.Role)
	}}, nil
}

// scopeOf tells apart the lists that a cursor may belong to: by caller and by filter.
func scopeOf(who store.Principal, f filter) ([]byte, error) {
	text, err := json.Marshal([]any{who.Role, who.Name, f})
	if err != nil {
		return nil, fmt.Errorf("encode the filter of a list: %w", err)
	}
	return text, nil
}

// page reads and shows one page.
func (a *api) page(
	ctx context.Context, f store.OrderFilter, scope []byte, role string,
) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, order.CallTimeout)
	defer cancel()
	rows, err := a.Orders.ListOrders(ctx, f)
	if err != nil {
		return reply{}, err
	}
	var next *string
	if len(rows) == f.Limit {
		rows = rows[:f.Limit-1]
		last := rows[len(rows)-1]
		cursor := a.cursor(store.OrderPosition{CreatedAt: last.CreatedAt, ID: last.ID}, scope)
		next = &cursor
	}
	views := make([]rowView, len(rows))
	for n, row := range rows {
		views[n] = rowOf(row, role)
	}
	return shown(http.StatusOK, listView{views, next})
}

// rowOf shows a row of a list to a role.
func rowOf(o store.OrderRow, role string) rowView {
	info, _ := order.Info(o.State)
	row := rowView{
		ID:           o.ID.String(),
		Customer:     o.Customer,
		State:        o.State,
		Status:       info.Status,
		Version:      o.Version,
		Total:        o.Total,
		Currency:     o.Currency,
		Reason:       orNull(o.Reason),
		Compensation: o.Compensation,
		Attention:    attention(o.Attention),
		NextActions:  nextActions(order.Listed(o.State, o.CancelStatus, reasons(o.Attention)), role),
		CreatedAt:    stamp(o.CreatedAt),
		UpdatedAt:    stamp(o.UpdatedAt),
	}
	if o.CancelStatus != "" {
		row.Cancellation = &o.CancelStatus
	}
	return row
}
