package store

import (
	"context"
	"fmt"
)

const expireReservations = `-- name: ExpireReservations
with overdue as (
    select
        o.order_id,
        o.state,
        o.cancel_status,
        o.release_end,
        s.maybe_sent
    from orders o
    join workflow_steps s
        on s.order_id = o.order_id
        and s.kind = 'pay'
        and s.status <> 'running'
    where o.state in ('reserved', 'paying')
        and o.reservation_deadline <= now()
        and o.process_version = any ($1)
        and coalesce(o.cancel_status, '') <> 'waiting'
    order by o.reservation_deadline, o.order_id
    limit $2
    for update of o, s skip locked
),
own as (
    select order_id, null::smallint as step_no from overdue where false
),
chosen as (
    select
        order_id,
        state,
        cancel_status,
        release_end,
        case
            when state = 'reserved' or maybe_sent then 'reservation_expired'
            else 'reservation_expired_unpaid'
        end as event,
        'reservation_expired' as reason,
        null::smallint as step_no,
        null::smallint as attempt_no,
        'executor' as actor_type,
        $3::text as actor_id,
        false as cancel_request,
        null::text as reservation_ref,
        null::text as payment_ref,
        null::text as shipment_ref,
        null::timestamptz as deadline,
        null::smallint as sequence
    from overdue
),` + moveOrders + `
select order_id
from moved`

// ExpireReservations moves the orders whose reservation deadline has passed and whose pay step is
// not in flight: to releasing where nothing was sent, to payment_unknown where a charge may have
// been. It returns how many moved.
func (s *Store) ExpireReservations(
	ctx context.Context, owner string, versions []int16, limit int,
) (moved int, err error) {
	done, err := s.work.Exec(ctx, expireReservations, versions, limit, owner)
	if err != nil {
		return 0, fmt.Errorf("expire reservations: %w", err)
	}
	return int(done.RowsAffected()), nil
}
