package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"ordeal/service/order"
)

const recordResults = `-- name: RecordResults
with result as (
    select *
    from unnest(
        $1::uuid[], $2::smallint[], $3::integer[], $4::text[], $5::smallint[], $6::text[],
        $7::boolean[], $8::text[], $9::text[], $10::boolean[], $11::text[], $12::text[],
        $13::text[], $14::text[], $15::text[], $16::boolean[], $17::interval[],
        $18::interval[], $20::text[], $21::text[]
    ) as r (
        order_id, step_no, generation, owner, attempt_no, outcome,
        sent, code, reference, lost, plain, cancelling,
        cancelling_unsent, status, attention, new_series, retry,
        series_delay, refund_event, also
    )
),
locked as (
    select
        r.*,
        o.state,
        o.cancel_status,
        o.release_end,
        o.reservation_deadline,
        s.kind,
        s.refund_no,
        s.series,
        s.maybe_sent or r.sent as any_sent,
        s.lease_expires_at,
        s.process_version,
        s.provider_key,
        s.target_key,
        s.request,
        a.taken_at
    from result r
    join workflow_steps s
        on s.order_id = r.order_id
        and s.step_no = r.step_no
        and s.generation = r.generation
        and s.lease_owner = r.owner
        and s.status = 'running'
        and (not r.lost or s.lease_expires_at <= now())
    join orders o on o.order_id = s.order_id
    join step_attempts a
        on a.order_id = r.order_id
        and a.step_no = r.step_no
        and a.attempt_no = r.attempt_no
    order by r.order_id, r.step_no
    for update of o, s
),
decided as (
    select
        l.*,
        nullif(case
            -- A release after a close changes no state.
            when l.kind = 'release' and l.state <> 'releasing' then ''
            when coalesce(l.cancel_status, '') <> 'waiting' then l.plain
            when l.any_sent then l.cancelling
            else l.cancelling_unsent
        end, '') as event
    from locked l
),
own as (
    select order_id, step_no from decided
),
chosen as (
    select
        order_id,
        state,
        cancel_status,
        release_end,
        event,
        nullif(code, '') as reason,
        step_no,
        attempt_no,
        'executor' as actor_type,
        owner as actor_id,
        false as cancel_request,
        case when kind = 'reserve' then nullif(reference, '') end as reservation_ref,
        case when kind in ('pay', 'reconcile') then nullif(reference, '') end as payment_ref,
        case when kind = 'ship' then nullif(reference, '') end as shipment_ref,
        case when kind = 'reserve' and outcome = 'succeeded' and not lost
            then taken_at + $19::interval
        end as deadline,
        null::smallint as sequence
    from decided
    where event is not null
),` + moveOrders + `,
accepted as (
    select
        d.*,
        m.to_state,
        case
            when m.to_state is not null and d.status = 'due' then 'closed'
            -- After the first series, nobody asks beyond the reservation deadline.
            when d.kind = 'reconcile' and d.series > 1 and d.status = 'due'
                and now() + d.retry >= d.reservation_deadline then 'exhausted'
            else d.status
        end as new_status
    from decided d
    left join moved m on m.order_id = d.order_id
    where d.event is null or m.order_id is not null
),
refund_chosen as (
    select
        order_id,
        refund_no,
        refund_event as event,
        nullif(code, '') as cause,
        nullif(reference, '') as reference,
        step_no,
        attempt_no,
        'executor' as actor_type,
        owner as actor_id
    from accepted
    where refund_event <> ''
),` + moveRefunds + `,` + finishClose + `,
stepped as (
    update workflow_steps s
    set
        status = a.new_status,
        unsent = s.unsent + (a.outcome = 'not_sent' and not a.lost)::int,
        maybe_sent = a.any_sent,
        due_at = case
            when a.lost then a.lease_expires_at + a.retry
            when a.outcome = 'not_sent' then now()
            else now() + a.retry
        end,
        lease_owner = null,
        lease_expires_at = null,
        ended_at = case when a.new_status <> 'due' then now() end
    from accepted a
    where s.order_id = a.order_id
        and s.step_no = a.step_no
),
attempted as (
    update step_attempts t
    set
        recorded_at = now(),
        outcome = a.outcome,
        sent = a.sent,
        code = nullif(a.code, ''),
        reference = nullif(a.reference, '')
    from accepted a
    where t.order_id = a.order_id
        and t.step_no = a.step_no
        and t.attempt_no = a.attempt_no
        and not a.lost
),
raised as (
    insert into order_attention (order_id, reason, step_no, state, since)
    select
        a.order_id,
        n.reason,
        a.step_no,
        case
            when n.reason = 'stock_commit_failed' or a.refund_no is not null then ''
            else coalesce(a.to_state, a.state)
        end,
        now()
    from accepted a
    cross join lateral (values (a.attention), (a.also)) as n (reason)
    where n.reason <> ''
        and (a.to_state is null or a.event = a.plain)
    on conflict do nothing
),
renumbered as (
    update orders o
    set steps = o.steps + 1
    from accepted a
    where o.order_id = a.order_id
        and a.new_series
        and a.to_state is null
        and (a.kind = 'void' or now() + a.series_delay < a.reservation_deadline)
    returning o.order_id, o.steps
),
series as (
    insert into workflow_steps (
        order_id, step_no, kind, status, process_version, sequence, series, due_at,
        provider_key, target_key, created_at
    )
    select
        a.order_id,
        n.steps,
        'reconcile',
        'due',
        a.process_version,
        1,
        case a.kind when 'reconcile' then a.series + 1 else 1 end,
        now() + a.series_delay,
        operation_key(a.order_id, 'reconcile', 1),
        a.target_key,
        now()
    from accepted a
    join renumbered n on n.order_id = a.order_id
),
compensated as (
    insert into audit_events (
        order_id, audit_key, at, actor_type, actor_id, action, result, reason,
        step_no, attempt_no
    )
    select
        order_id, 's' || step_no || '.a' || attempt_no, now(), 'executor', owner,
        'compensation_attempt', case when lost then 'lost' else outcome end,
        nullif(code, ''), step_no, attempt_no
    from accepted
    where kind = 'release'
),
repeated as (
    select r.order_id, r.step_no
    from result r
    join step_attempts t
        on t.order_id = r.order_id
        and t.step_no = r.step_no
        and t.attempt_no = r.attempt_no
        and t.generation = r.generation
        and t.executor = r.owner
        and t.outcome = r.outcome
    where not r.lost
),
late as (
    insert into audit_events (
        order_id, audit_key, at, actor_type, actor_id, action, result, reason,
        step_no, attempt_no
    )
    select
        r.order_id, 'late.s' || r.step_no || '.a' || r.attempt_no, now(), 'executor', r.owner,
        'late_result', r.outcome, nullif(r.code, ''), r.step_no, r.attempt_no
    from result r
    where not r.lost
        and not exists (
            select from accepted a
            where a.order_id = r.order_id
                and a.step_no = r.step_no
        )
        and not exists (
            select from repeated a
            where a.order_id = r.order_id
                and a.step_no = r.step_no
        )
    on conflict do nothing
    returning order_id, step_no, attempt_no, result
),
contradicted as (
    -- A late success that the order's state does not show needs a person.
    insert into discrepancies (
        order_id, key, kind, next_action, step_no, attempt_no, found_at
    )
    select
        l.order_id,
        'late.s' || l.step_no || '.a' || l.attempt_no,
        'late_' || s.kind,
        case s.kind when 'pay' then 'reconcile' else 'check_' || s.kind end,
        l.step_no,
        l.attempt_no,
        now()
    from late l
    join workflow_steps s on s.order_id = l.order_id and s.step_no = l.step_no
    join orders o on o.order_id = l.order_id
    where l.result = 'succeeded'
        and case s.kind
            when 'reserve' then o.reservation_ref is null and o.state not in (
                'created', 'reserving', 'reserved')
            when 'pay' then o.payment_ref is null and o.state not in (
                'paying', 'payment_unknown')
            when 'ship' then o.shipment_ref is null and o.state <> 'shipping'
            else false
        end
    on conflict do nothing
)
select order_id, step_no
from accepted
union
select order_id, step_no
from repeated
order by order_id, step_no`

// RecordResults writes the results of attempts and all that follows from them, each row guarded
// by the generation and the owner of its take. Kept tells, per result, whether it was accepted; a
// result that was not changed nothing: the lease was lost, and the answer is a late fact (one
// audit row). Recording again what was recorded, after an answer was lost, counts as accepted. A
// batch holds at most one result per order.
func (s *Store) RecordResults(
	ctx context.Context, results []order.Result,
) (kept []bool, err error) {
	rows, err := s.work.Query(ctx, recordResults, recordArgs(results)...)
	if err != nil {
		return nil, fmt.Errorf("record %d results: %w", len(results), err)
	}
	type step struct {
		id order.ID
		no int
	}
	accepted := map[step]bool{}
	var at step
	_, err = pgx.ForEachRow(rows, []any{&at.id, &at.no}, func() error {
		accepted[at] = true
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("record %d results: %w", len(results), err)
	}
	for _, r := range results {
		kept = append(kept, accepted[step{r.Ref.OrderID, r.Ref.StepNo}])
	}
	return kept, nil
}

// recordArgs turns results into the array parameters of recordResults.
func recordArgs(results []order.Result) []any {
	n := len(results)
	ids := make([]order.ID, n)
	stepNos, attempts := make([]int16, n), make([]int16, n)
	generations := make([]int32, n)
	owners, outcomes := make([]string, n), make([]string, n)
	codes, references := make([]string, n), make([]string, n)
	sent, lost, series := make([]bool, n), make([]bool, n), make([]bool, n)
	plain, cancelling := make([]string, n), make([]string, n)
	unsent, statuses := make([]string, n), make([]string, n)
	attentions, also := make([]string, n), make([]string, n)
	refunds := make([]string, n)
	retries, delays := make([]time.Duration, n), make([]time.Duration, n)
	for i, r := range results {
		ids[i], stepNos[i], attempts[i] = r.Ref.OrderID, int16(r.Ref.StepNo), int16(r.Attempt)
		generations[i], owners[i] = int32(r.Ref.Generation), r.Ref.Owner
		outcomes[i], codes[i], references[i] = string(r.Outcome), r.Code, r.Reference
		sent[i], lost[i], series[i] = r.Sent, r.Lost, r.Follow.NewSeries
		plain[i], cancelling[i] = string(r.Follow.Event), string(r.Follow.Cancelling)
		unsent[i], statuses[i] = string(r.Follow.CancellingUnsent), string(r.Follow.Status)
		attentions[i], also[i] = string(r.Follow.Attention), string(r.Follow.Also)
		refunds[i] = string(r.Follow.Refund)
		retries[i], delays[i] = r.Retry, r.SeriesDelay
	}
	return []any{
		ids, stepNos, generations, owners, attempts, outcomes, sent, codes, references, lost,
		plain, cancelling, unsent, statuses, attentions, series, retries, delays,
		order.ReservationTime, refunds, also,
	}
}
