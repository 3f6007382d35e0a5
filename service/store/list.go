package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"ordeal/service/order"
)

// OrderFilter selects orders for a list. Zero values select everything.
type OrderFilter struct {
	Customer string
	State    string
	// Attention is a reason, or "any" for every order that asks for a person (STEP-11).
	Attention string
	// CreatedFrom is inclusive, CreatedTo exclusive.
	CreatedFrom, CreatedTo time.Time
	// After continues a list behind a position.
	After *OrderPosition
	// Limit is the largest number of rows.
	Limit int
}

// OrderPosition is a place in the list of orders, which is newest first.
type OrderPosition struct {
	CreatedAt time.Time
	ID        order.ID
}

// OrderRow is an order in a list.
type OrderRow struct {
	ID           order.ID
	Customer     string
	State        order.State
	Version      int
	Total        order.Money
	Currency     string
	Reason       string
	Compensation order.Compensation
	CancelStatus order.CancelStatus
	CreatedAt    time.Time
	UpdatedAt    time.Time
	Attention    []Reason
}

const listOrders = `-- name: ListOrders
select
    o.order_id,
    o.customer,
    o.state,
    o.version,
    o.total,
    o.currency,
    coalesce(o.reason, ''),
    o.compensation,
    coalesce(o.cancel_status, ''),
    o.created_at,
    o.updated_at,
    coalesce((
        select json_agg(n order by n.since, n.reason, n.step_no)
        from order_attention n
        where n.order_id = o.order_id
    ), '[]')
from orders o
where ($1 = '' or o.customer = $1)
    and ($2 = '' or o.state = $2)
    and ($3 = '' or exists (
        select from order_attention n
        where n.order_id = o.order_id
            and ($3 = 'any' or n.reason = $3)
    ))
    and ($4::timestamptz is null or o.created_at >= $4)
    and ($5::timestamptz is null or o.created_at < $5)
    and ($6::timestamptz is null or (o.created_at, o.order_id) < ($6, $7))
order by o.created_at desc, o.order_id desc
limit $8`

// ListOrders returns orders, newest first. The list is stable under inserts: new orders come
// before its start.
func (s *Store) ListOrders(ctx context.Context, f OrderFilter) ([]OrderRow, error) {
	var after OrderPosition
	if f.After != nil {
		after = *f.After
	}
	rows, err := s.work.Query(ctx, listOrders, f.Customer, f.State, f.Attention,
		orNull(f.CreatedFrom), orNull(f.CreatedTo), orNull(after.CreatedAt), after.ID, f.Limit)
	if err != nil {
		return nil, fmt.Errorf("list orders: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (o OrderRow, err error) {
		var attention []byte
		err = row.Scan(&o.ID, &o.Customer, &o.State, &o.Version, &o.Total, &o.Currency,
			&o.Reason, &o.Compensation, &o.CancelStatus, &o.CreatedAt, &o.UpdatedAt, &attention)
		if err != nil {
			return o, err
		}
		return o, json.Unmarshal(attention, &o.Attention)
	})
	if err != nil {
		return nil, fmt.Errorf("list orders: %w", err)
	}
	return list, nil
}

// orNull is nil for the zero time.
func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
