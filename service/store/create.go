package store

import (
	"context"
	"encoding/json"
	"fmt"

	"ordeal/service/order"
)

// Request identifies a request that changes something (API-1): its scope is the caller, the
// route and the order; Fingerprint is a hash of the decoded request.
type Request struct {
	Caller      string
	Route       string
	Key         string
	Fingerprint []byte
}

// Creation is an order to create.
type Creation struct {
	// ID is derived from the customer and the idempotency key.
	ID order.ID
	// Customer is the caller.
	Customer string
	// Version is the process version.
	Version int16
	// Items are the lines, with their amounts.
	Items []Line
	// Total is their sum in kopecks.
	Total order.Money
	// TraceID is the trace that the order belongs to.
	TraceID string
}

// Line is a line of an order with its amount in kopecks, as stored and as shown.
type Line struct {
	order.Item
	Amount order.Money `json:"amount"`
}

// Answer is a response that was decided inside a transaction and stored with it, or found.
type Answer struct {
	// Status is the HTTP status.
	Status int
	// Body is the response, byte for byte.
	Body string
	// Fingerprint is that of the request that was answered first.
	Fingerprint []byte
	// Replayed says that the answer was found, not made.
	Replayed bool
}

// summary is the representation of an order in the answer to a command. It reads the columns of
// a CTE named s.
const summary = `json_build_object(
            'id', s.order_id,
            'state', s.state,
            'status', (select w.status from workflow_states w where w.state = s.state),
            'version', s.version,
            'total', s.total,
            'currency', s.currency,
            'cancellation', case when s.cancel_status is not null then json_build_object(
                'status', s.cancel_status,
                'requested_at', to_char(s.cancel_requested_at at time zone 'UTC',
                    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) end,
            'created_at', to_char(s.created_at at time zone 'UTC',
                'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))::text`

const createOrder = `-- name: CreateOrder
with s as (
    select
        $1::uuid as order_id,
        'created' as state,
        1 as version,
        $6::bigint as total,
        'RUB' as currency,
        null::text as cancel_status,
        null::timestamptz as cancel_requested_at,
        now() as created_at
),
claimed as (
    insert into idempotency_keys (
        order_id, caller, route, key, fingerprint, status, response, created_at
    )
    select
        $1, $2, $3, $4, $5, 201,
        ` + summary + `,
        now()
    from s
    on conflict do nothing
    returning order_id, status, response
),
moved as (
    insert into orders as o (
        order_id, customer, process_version, state, version, currency, total, items, trace_id,
        steps, events, created_at, updated_at
    )
    select $1, $2, $7, 'created', 1, 'RUB', $6, $8, $9, 1, 1, now(), now()
    from claimed
    returning
        o.order_id,
        o.version,
        '' as from_state,
        o.state as to_state,
        'order_created' as event,
        null::text as reason,
        null::smallint as step_no,
        null::smallint as attempt_no,
        'customer' as actor_type,
        o.customer as actor_id,
        null::text as audit,
        'reserve' as step,
        null::text as second_step,
        1 as sequence,
        o.steps,
        o.events,
        o.process_version,
        o.total,
        o.currency,
        o.items,
        o.trace_id
),
own as (
    select order_id, null::smallint as step_no from moved where false
),` + journalMoves + `
select status, response
from claimed`

// CreateOrder creates an order with its first step, history and event, and stores the answer
// under the request's key, all in one statement; ok is false when the key was used before, and
// nothing changed then. A twin that is still running is waited for.
func (s *Store) CreateOrder(
	ctx context.Context, r Request, c Creation,
) (answer Answer, ok bool, err error) {
	items, err := json.Marshal(c.Items)
	if err != nil {
		return Answer{}, false, fmt.Errorf("encode items of order %s: %w", c.ID, err)
	}
	rows, err := s.work.Query(ctx, createOrder, c.ID, r.Caller, r.Route, r.Key, r.Fingerprint,
		c.Total, c.Version, items, c.TraceID)
	if err != nil {
		return Answer{}, false, fmt.Errorf("create order %s: %w", c.ID, err)
	}
	answer, ok, err = oneAnswer(rows)
	if err != nil {
		return Answer{}, false, fmt.Errorf("create order %s: %w", c.ID, err)
	}
	return answer, ok, nil
}
