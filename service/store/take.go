package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ordeal/service/order"
)

const takeSteps = `-- name: TakeSteps
with due as (
    select
        o.order_id,
        o.state,
        o.cancel_status,
        o.release_end,
        coalesce(f.amount, o.total) as total,
        o.currency,
        o.trace_id,
        s.refund_no,
        case when s.kind = 'refund' and f.state = 'requested' then 'refund_started' end
            as refund_event,
        s.step_no,
        s.attempts + 1 as attempt_no,
        k.event
    from workflow_steps s
    join orders o on o.order_id = s.order_id
    join workflow_takes k on k.kind = s.kind and k.state = o.state
    left join refunds f on f.order_id = s.order_id and f.refund_no = s.refund_no
    where s.status = 'due'
        and s.due_at <= now()
        and s.process_version = any ($1)
        and (s.kind not in ('reserve', 'pay') or coalesce(o.cancel_status, '') <> 'waiting')
        and (s.kind <> 'pay' or now() < o.reservation_deadline - $5::interval)
    order by s.due_at, s.order_id, s.step_no
    limit $2
    for update of o, s skip locked
),
own as (
    select order_id, step_no from due
),
chosen as (
    select
        order_id,
        state,
        cancel_status,
        release_end,
        event,
        null::text as reason,
        step_no,
        attempt_no::smallint as attempt_no,
        'executor' as actor_type,
        $3::text as actor_id,
        false as cancel_request,
        null::text as reservation_ref,
        null::text as payment_ref,
        null::text as shipment_ref,
        null::timestamptz as deadline,
        null::smallint as sequence
    from due
    where event is not null
),` + moveOrders + `,
refund_chosen as (
    select
        order_id,
        refund_no,
        refund_event as event,
        null::text as cause,
        null::text as reference,
        step_no,
        attempt_no::smallint as attempt_no,
        'executor' as actor_type,
        $3::text as actor_id
    from due
    where refund_event is not null
),` + moveRefunds + `,
known as (
    delete from order_attention n
    using due d
    where n.order_id = d.order_id
        and n.reason = 'unknown_process_version'
),
taken as (
    update workflow_steps s
    set
        status = 'running',
        generation = s.generation + 1,
        attempts = s.attempts + 1,
        lease_owner = $3,
        lease_expires_at = now() + $4::interval
    from due d
    left join moved m on m.order_id = d.order_id
    where s.order_id = d.order_id
        and s.step_no = d.step_no
        and (d.event is null or m.order_id is not null)
    returning
        s.order_id,
        s.step_no,
        s.generation,
        s.kind,
        s.attempts,
        s.attempts - s.unsent as counted,
        s.series,
        s.provider_key,
        s.target_key,
        s.request,
        d.total,
        d.currency,
        d.trace_id
),
attempted as (
    insert into step_attempts (
        order_id, step_no, attempt_no, generation, executor, taken_at
    )
    select order_id, step_no, attempts, generation, $3, now()
    from taken
)
select
    order_id,
    step_no,
    generation,
    kind,
    attempts,
    counted,
    series,
    coalesce(provider_key, ''),
    coalesce(target_key, ''),
    coalesce(request, ''),
    total,
    currency,
    trace_id
from taken
order by order_id, step_no`

// TakeSteps claims due steps for an executor and commits the intent to work on them: generation
// and attempt rise, the attempt row exists, and the orders have moved by their started events.
// Rows locked by others are skipped.
func (s *Store) TakeSteps(ctx context.Context, r order.TakeRequest) ([]order.TakenStep, error) {
	rows, err := s.work.Query(ctx, takeSteps,
		r.Versions, r.Limit, r.Owner, r.Lease, order.PayMargin)
	if err != nil {
		return nil, fmt.Errorf("take steps for %s: %w", r.Owner, err)
	}
	taken, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (order.TakenStep, error) {
		t := order.TakenStep{Ref: order.StepRef{Owner: r.Owner}}
		err := row.Scan(&t.Ref.OrderID, &t.Ref.StepNo, &t.Ref.Generation, &t.Kind, &t.Attempt,
			&t.Counted, &t.Series, &t.ProviderKey, &t.TargetKey, &t.Request, &t.Total,
			&t.Currency, &t.TraceID)
		return t, err
	})
	if err != nil {
		return nil, fmt.Errorf("take steps for %s: %w", r.Owner, err)
	}
	return taken, nil
}
