package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ordeal/service/order"
)

const lockOrder = `-- name: LockOrder
select order_id
from orders
where order_id = $1
    and customer = $2
for update`

const cancelOrder = `-- name: CancelOrder
with current as (
    select
        o.*,
        p.status = 'running' as in_flight,
        p.maybe_sent
    from orders o
    left join workflow_steps p
        on p.order_id = o.order_id
        and p.step_no = (
            select max(x.step_no)
            from workflow_steps x
            where x.order_id = o.order_id
                and x.kind = case o.state when 'reserving' then 'reserve' else 'pay' end
        )
    where o.order_id = $1
        and o.customer = $2
        and not exists (
            select from idempotency_keys k
            where k.order_id = $1
                and k.caller = $2
                and k.route = $3
                and k.key = $4
        )
),
verdict as (
    select
        c.*,
        case
            when c.cancel_status in ('waiting', 'done') then 'repeated'
            when c.state in ('created', 'reserved') then 'move'
            when c.state in ('reserving', 'paying') and c.in_flight then 'wait'
            when c.state in ('reserving', 'paying') then 'move'
            else 'forbidden'
        end as verdict
    from current c
),
own as (
    select order_id, null::smallint as step_no from verdict where false
),
chosen as (
    select
        order_id,
        state,
        cancel_status,
        release_end,
        case
            when state = 'paying' and maybe_sent then 'cancel_voiding'
            else 'cancelled'
        end as event,
        'cancelled_by_customer' as reason,
        null::smallint as step_no,
        null::smallint as attempt_no,
        'customer' as actor_type,
        $2::text as actor_id,
        true as cancel_request,
        null::text as reservation_ref,
        null::text as payment_ref,
        null::text as shipment_ref,
        null::timestamptz as deadline,
        null::smallint as sequence
    from verdict
    where verdict = 'move'
),` + moveOrders + `,
marked as (
    update orders o
    set
        cancel_status = 'waiting',
        cancel_requested_at = now(),
        updated_at = now()
    from verdict v
    where o.order_id = v.order_id
        and v.verdict = 'wait'
    returning o.order_id, o.cancel_status, o.cancel_requested_at
),
requested as (
    insert into audit_events (
        order_id, audit_key, at, actor_type, actor_id, action, result
    )
    select order_id, 'cancel', now(), 'customer', $2, 'cancel_requested', verdict
    from verdict
    where verdict in ('move', 'wait')
    on conflict do nothing
),
s as (
    select
        v.order_id,
        v.verdict,
        coalesce(m.to_state, v.state) as state,
        coalesce(m.version, v.version) as version,
        v.total,
        v.currency,
        coalesce(m.cancel_status, w.cancel_status, v.cancel_status) as cancel_status,
        coalesce(m.cancel_requested_at, w.cancel_requested_at, v.cancel_requested_at)
            as cancel_requested_at,
        v.created_at
    from verdict v
    left join moved m on m.order_id = v.order_id
    left join marked w on w.order_id = v.order_id
),
answered as (
    select
        s.order_id,
        case
            when s.verdict = 'forbidden' then 409
            when s.state = 'cancelled' then 200
            else 202
        end as status,
        case
            when s.verdict = 'forbidden' then $6::text
            else ` + summary + `
        end as response
    from s
),
stored as (
    insert into idempotency_keys (
        order_id, caller, route, key, fingerprint, status, response, created_at
    )
    select order_id, $2, $3, $4, $5::bytea, status, response, now()
    from answered
    where $4::text <> ''
)
select status, response
from answered`

// CancelOrder decides a customer's request to cancel an order, under the order's lock: it moves
// the order, or marks that the request waits for the attempt in flight, or answers forbidden,
// the body of a 409. The answer is stored under the request's key unless that is empty. Found is
// false when the customer has no such order.
//
// The lock is taken by a statement of its own, earlier in the same batch, so that the decision
// sees what a record that held the lock before has left behind.
func (s *Store) CancelOrder(
	ctx context.Context, id order.ID, r Request, forbidden string,
) (answer Answer, found bool, err error) {
	var b pgx.Batch
	b.Queue(lockOrder, id, r.Caller)
	b.Queue(cancelOrder, id, r.Caller, r.Route, r.Key, r.Fingerprint, forbidden).
		Query(func(rows pgx.Rows) (err error) {
			answer, found, err = oneAnswer(rows)
			return err
		})
	if err := s.batch(ctx, &b); err != nil {
		return Answer{}, false, fmt.Errorf("cancel order %s: %w", id, err)
	}
	if found || r.Key == "" {
		return answer, found, nil
	}
	return s.FindAnswer(ctx, id, r)
}
