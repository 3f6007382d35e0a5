package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"ordeal/service/order"
)

// Order is everything that the API shows of an order, read in one snapshot.
type Order struct {
	ID             order.ID
	Customer       string
	ProcessVersion int
	State          order.State
	Version        int
	Currency       string
	Total          order.Money
	Items          []Line
	Reason         string
	Compensation   order.Compensation
	ReservationRef string
	PaymentRef     string
	ShipmentRef    string
	// ReservationDeadline is nil before the stock is reserved.
	ReservationDeadline *time.Time
	// CancelStatus is empty and CancelRequestedAt nil where no cancellation was requested.
	CancelStatus      order.CancelStatus
	CancelRequestedAt *time.Time
	CreatedAt         time.Time
	UpdatedAt         time.Time
	ClosedAt          *time.Time
	TraceID           string
	History           []Change
	Steps             []OpenStep
	Attention         []Reason
	Refunds           []Refund
	// Closing says that a close waits for the shipper's word.
	Closing bool
}

// Refund is a refund of an order.
type Refund struct {
	No        int               `json:"refund_no"`
	State     order.RefundState `json:"state"`
	Amount    order.Money       `json:"amount"`
	Currency  string            `json:"currency"`
	Reason    string            `json:"reason"`
	Reference *string           `json:"reference"`
	CreatedAt time.Time         `json:"created_at"`
	UpdatedAt time.Time         `json:"updated_at"`
}

// Change is one row of an order's history.
type Change struct {
	Version int         `json:"version"`
	From    order.State `json:"from_state"`
	To      order.State `json:"to_state"`
	Event   order.Event `json:"event"`
	Reason  *string     `json:"reason"`
	At      time.Time   `json:"at"`
}

// OpenStep is a step that is due or running.
type OpenStep struct {
	Number  int              `json:"step_no"`
	Kind    order.StepKind   `json:"kind"`
	Status  order.StepStatus `json:"status"`
	Attempt int              `json:"attempts"`
	DueAt   time.Time        `json:"due_at"`
}

// Reason is one reason for attention.
type Reason struct {
	Reason order.Attention `json:"reason"`
	StepNo int             `json:"step_no"`
	Since  time.Time       `json:"since"`
}

const findOrder = `-- name: FindOrder
select
    o.order_id,
    o.customer,
    o.process_version,
    o.state,
    o.version,
    o.currency,
    o.total,
    o.items,
    coalesce(o.reason, ''),
    o.compensation,
    coalesce(o.reservation_ref, ''),
    coalesce(o.payment_ref, ''),
    coalesce(o.shipment_ref, ''),
    o.reservation_deadline,
    coalesce(o.cancel_status, ''),
    o.cancel_requested_at,
    o.created_at,
    o.updated_at,
    o.closed_at,
    o.trace_id,
    coalesce((
        select json_agg(h order by h.version)
        from order_history h
        where h.order_id = o.order_id
    ), '[]'),
    coalesce((
        select json_agg(s order by s.step_no)
        from workflow_steps s
        where s.order_id = o.order_id
            and s.status in ('due', 'running')
    ), '[]'),
    coalesce((
        select json_agg(n order by n.since, n.reason, n.step_no)
        from order_attention n
        where n.order_id = o.order_id
    ), '[]'),
    coalesce((
        select json_agg(f order by f.refund_no)
        from refunds f
        where f.order_id = o.order_id
    ), '[]'),
    o.closing
from orders o
where o.order_id = $1
    and ($2 = '' or o.customer = $2)`

// FindOrder returns an order of a customer, or of anybody if customer is empty; ok is false when
// there is none.
func (s *Store) FindOrder(
	ctx context.Context, id order.ID, customer string,
) (o Order, ok bool, err error) {
	var items, history, steps, attention, refunds []byte
	err = s.work.QueryRow(ctx, findOrder, id, customer).Scan(
		&o.ID, &o.Customer, &o.ProcessVersion, &o.State, &o.Version, &o.Currency, &o.Total,
		&items, &o.Reason, &o.Compensation, &o.ReservationRef, &o.PaymentRef, &o.ShipmentRef,
		&o.ReservationDeadline, &o.CancelStatus, &o.CancelRequestedAt, &o.CreatedAt,
		&o.UpdatedAt, &o.ClosedAt, &o.TraceID, &history, &steps, &attention,
		&refunds, &o.Closing)
	if errors.Is(err, pgx.ErrNoRows) {
		return Order{}, false, nil
	}
	if err != nil {
		return Order{}, false, fmt.Errorf("find order %s: %w", id, err)
	}
	for _, part := range []struct {
		text []byte
		into any
	}{
		{items, &o.Items}, {history, &o.History}, {steps, &o.Steps},
		{attention, &o.Attention}, {refunds, &o.Refunds},
	} {
		if err := json.Unmarshal(part.text, part.into); err != nil {
			return Order{}, false, fmt.Errorf("decode order %s: %w", id, err)
		}
	}
	return o, true, nil
}
