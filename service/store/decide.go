package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ordeal/service/order"
)

const lockAnyOrder = `-- name: LockAnyOrder
select order_id
from orders
where order_id = $1
    and ($2 = '' or customer = $2)
for update`

// decideCommand decides a command on an order that an earlier statement of the batch has locked.
// The verdict is a word: what to do, or why not. Move verdicts go through the building block;
// all others change only what hangs on the order, and write no version, history or event of it.
const decideCommand = `-- name: DecideCommand
with current as (
    select o.*
    from orders o
    where o.order_id = $1
        and ($2 = '' or o.customer = $2)
        and not exists (
            select from idempotency_keys k
            where k.order_id = $1
                and k.caller = $3
                and k.route = $4
                and k.key = $5
        )
),
latest as (
    select distinct on (s.kind)
        s.*
    from workflow_steps s
    join current c on c.order_id = s.order_id
    where s.refund_no is null
    order by s.kind, s.step_no desc
),
stuck_refund as (
    -- The refund whose last step ended without telling.
    select f.refund_no, f.state, s.step_no, s.status
    from refunds f
    join current c on c.order_id = f.order_id
    join lateral (
        select x.step_no, x.status
        from workflow_steps x
        where x.order_id = f.order_id
            and x.refund_no = f.refund_no
        order by x.step_no desc
        limit 1
    ) s on true
    where f.state in ('refunding', 'refund_unknown')
        and (f.state = 'refund_unknown' or s.status = 'exhausted')
    order by f.refund_no
    limit 1
),
judged as (
    select
        c.*,
        (select status from latest where kind = 'reserve') as reserve_status,
        (select status from latest where kind = 'pay') as pay_status,
        (select status from latest where kind = 'release') as release_status,
        (select state from stuck_refund) as refund_state,
        (select status from stuck_refund) as refund_status
    from current c
),
verdict as (
    select
        j.*,
        case
            when $6::integer <> 0 and j.version <> $6 then 'stale'
            when $7 = 'retry' then case
                when j.state = 'reserving' and (j.reserve_status = 'exhausted'
                    or j.reserve_status = 'permanent' and $8 = 'operator') then 'reserve'
                when j.state = 'paying' and j.pay_status = 'exhausted'
                    and now() < j.reservation_deadline - $9::interval then 'pay'
                when $8 <> 'operator' then 'forbidden'
                when j.state = 'release_failed' and j.closed_at is null then 'release_retried'
                when j.refund_state = 'refunding' and j.refund_status = 'exhausted' then 'refund'
                else 'forbidden'
            end
            when $7 = 'reconcile' then case
                when j.state = 'payment_unknown' then 'reconcile'
                when j.refund_state = 'refund_unknown' then 'reconcile_refund'
                else 'forbidden'
            end
            when $7 = 'void' and j.state = 'payment_unknown' and not exists (
                select from latest l where l.kind = 'void' and l.status in ('due', 'running')
            ) then 'void'
            when $7 = 'ship' and j.state = 'shipping_failed' and j.closed_at is null
                and not j.closing then 'ship_retried'
            when $7 = 'close' and j.state = 'shipping_failed' and j.closed_at is null
                and not j.closing then 'cancel_ship'
            when $7 = 'close' and j.state = 'release_failed' and j.closed_at is null
                and j.release_status = 'refused' then 'close_now'
            when $7 = 'refund' and (j.state = 'shipped'
                or j.state = 'shipping_failed' and j.closed_at is not null) then case
                when $10::bigint <= j.total - j.refunded then 'new_refund'
                else 'excessive'
            end
            else 'forbidden'
        end as verdict
    from judged j
),
own as (
    select order_id, null::smallint as step_no from verdict where false
),
chosen as (
    select
        v.order_id,
        v.state,
        v.cancel_status,
        v.release_end,
        v.verdict as event,
        $11::text as reason,
        null::smallint as step_no,
        null::smallint as attempt_no,
        $8::text as actor_type,
        $3::text as actor_id,
        false as cancel_request,
        null::text as reservation_ref,
        null::text as payment_ref,
        null::text as shipment_ref,
        null::timestamptz as deadline,
        -- After a definite refusal the operation has the next sequence, else the same key.
        (select l.sequence + (l.status = 'refused')::int
            from latest l
            where l.kind = case v.verdict when 'ship_retried' then 'ship' else 'release' end
        )::smallint as sequence
    from verdict v
    where v.verdict in ('ship_retried', 'release_retried')
),` + moveOrders + `,
touched as (
    update orders o
    set
        steps = o.steps + (v.verdict <> 'close_now')::int,
        events = o.events + (v.verdict = 'new_refund')::int,
        refunded = o.refunded + case when v.verdict = 'new_refund' then $10 else 0 end,
        closing = v.verdict = 'cancel_ship',
        close_reason = case
            when v.verdict in ('cancel_ship', 'close_now') then $11
            else o.close_reason
        end,
        release_stock = case when v.verdict = 'cancel_ship' then $12 else o.release_stock end,
        reason = case when v.verdict = 'close_now' then $11 else o.reason end,
        closed_at = case when v.verdict = 'close_now' then now() else o.closed_at end,
        updated_at = now()
    from verdict v
    where o.order_id = v.order_id
        and v.verdict in ('reserve', 'pay', 'refund', 'reconcile', 'reconcile_refund', 'void',
            'cancel_ship', 'close_now', 'new_refund')
    returning
        o.order_id,
        o.steps,
        o.events,
        o.process_version,
        o.currency,
        o.trace_id,
        v.verdict
),
source as (
    -- The step that the new one repeats: same operation, same key, same body.
    select s.*
    from workflow_steps s
    join touched t on t.order_id = s.order_id
    where t.verdict in ('reserve', 'pay') and s.kind = t.verdict and s.step_no = (
            select l.step_no from latest l where l.kind = t.verdict)
        or t.verdict = 'refund' and s.step_no = (select r.step_no from stuck_refund r)
),
new_refund as (
    insert into refunds (
        order_id, refund_no, state, version, amount, currency, reason, created_at, updated_at
    )
    select
        t.order_id,
        1 + (select count(*) from refunds f where f.order_id = t.order_id),
        'requested',
        1,
        $10,
        t.currency,
        $11,
        now(),
        now()
    from touched t
    where t.verdict = 'new_refund'
    returning order_id, refund_no, state, version, amount, currency, created_at
),
refund_emitted as (
    insert into outbox (order_id, sequence, event_id, type, payload, trace_id, created_at)
    select
        f.order_id,
        t.events,
        refund_event_id(f.order_id, f.refund_no, f.version),
        'refund.' || f.state,
        jsonb_build_object(
            'order_id', f.order_id,
            'refund_no', f.refund_no,
            'version', f.version,
            'state', f.state,
            'event', 'refund_requested',
            'amount', f.amount,
            'currency', f.currency),
        t.trace_id,
        now()
    from new_refund f
    join touched t on t.order_id = f.order_id
),
wanted as (
    select
        t.order_id,
        t.steps,
        t.process_version,
        case t.verdict when 'new_refund' then 'refund' else t.verdict end as kind,
        coalesce(
            (select f.refund_no from new_refund f),
            (select s.refund_no from source s),
            (select r.refund_no from stuck_refund r where t.verdict = 'reconcile_refund')
        ) as refund_no,
        coalesce((select s.sequence from source s), case t.verdict
            when 'cancel_ship' then (select l.sequence from latest l where l.kind = 'ship')
            when 'new_refund' then (select f.refund_no from new_refund f)
            when 'reconcile_refund' then (select r.refund_no from stuck_refund r)
            else 1
        end) as sequence
    from touched t
    where t.verdict <> 'close_now'
),
new_steps as (
    insert into workflow_steps (
        order_id, step_no, kind, refund_no, status, process_version, sequence, series,
        maybe_sent, due_at, provider_key, target_key, request, created_at
    )
    select
        w.order_id,
        w.steps,
        w.kind,
        w.refund_no,
        'due',
        w.process_version,
        w.sequence,
        1,
        coalesce((select s.maybe_sent from source s), false),
        now(),
        operation_key(w.order_id, w.kind, w.sequence),
        operation_key(w.order_id, target_operation(w.kind), case w.kind
            when 'cancel_ship' then w.sequence
            when 'reconcile_refund' then w.refund_no
            else 1
        end),
        coalesce((select s.request from source s), case w.kind
            when 'refund' then (
                select refund_request(f.order_id, f.amount, f.currency) from new_refund f)
            when 'reconcile' then null
            when 'reconcile_refund' then null
            else json_build_object('order_id', w.order_id)::text
        end),
        now()
    from wanted w
),
replaced as (
    -- A new series takes the place of the queries that were still to come.
    update workflow_steps s
    set
        status = 'closed',
        generation = s.generation + 1,
        ended_at = now()
    from touched t
    where s.order_id = t.order_id
        and s.status = 'due'
        and s.kind = t.verdict
        and t.verdict in ('reconcile', 'reconcile_refund')
        and s.refund_no is not distinct from (
            select r.refund_no from stuck_refund r where t.verdict = 'reconcile_refund')
),
answered_attention as (
    delete from order_attention n
    using touched t
    where n.order_id = t.order_id
        and (n.step_no in (select s.step_no from source s)
            or t.verdict = 'close_now')
),
audited_command as (
    insert into audit_events (
        order_id, audit_key, at, actor_type, actor_id, action, result, reason
    )
    select
        v.order_id,
        case
            when v.verdict in ('stale', 'excessive') then 'no.' || $4 || '.' || $3 || '.' || $5
                || '.' || extract(epoch from now())
            else 'cmd.' || $4 || '.' || $3 || '.' || $5
        end,
        now(),
        $8,
        $3,
        $7 || '_requested',
        case
            when v.verdict in ('stale', 'excessive', 'forbidden') then v.verdict
            else 'accepted'
        end,
        nullif($11, '')
    from verdict v
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
        v.cancel_status,
        v.cancel_requested_at,
        v.created_at
    from verdict v
    left join moved m on m.order_id = v.order_id
),
answered as (
    select
        s.order_id,
        s.verdict,
        case s.verdict
            when 'stale' then 412
            when 'excessive' then 422
            when 'forbidden' then 409
            when 'close_now' then 200
            else 202
        end as status,
        case s.verdict
            when 'stale' then $13::text
            when 'excessive' then $14::text
            when 'forbidden' then $15::text
            when 'new_refund' then (
                select json_build_object(
                    'refund_no', f.refund_no,
                    'order_id', f.order_id,
                    'state', f.state,
                    'amount', f.amount,
                    'currency', f.currency,
                    'created_at', to_char(f.created_at at time zone 'UTC',
                        'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))::text
                from new_refund f)
            else ` + summary + `
        end as response
    from s
),
stored as (
    insert into idempotency_keys (
        order_id, caller, route, key, fingerprint, status, response, note, created_at
    )
    select order_id, $3, $4, $5, $16::bytea, status, response, nullif($17, ''), now()
    from answered
    where $5::text <> ''
        and verdict not in ('stale', 'excessive')
)
select status, response
from answered`

// RunCommand decides a command under the order's lock and stores the answer (2xx and 409) under
// its key. Found is false when there is no such order for that customer. A refund above what is
// left answers 422, another version than expected 412; neither is stored.
//
// The lock is taken by a statement of its own, earlier in the same batch, so that the decision
// sees what the holder before has left behind.
func (s *Store) RunCommand(ctx context.Context, c Command) (answer Answer, found bool, err error) {
	var b pgx.Batch
	b.Queue(lockAnyOrder, c.OrderID, c.Customer)
	b.Queue(decideCommand, c.OrderID, c.Customer, c.Request.Caller, c.Request.Route,
		c.Request.Key, c.ExpectedVersion, string(c.Name), c.ActorType, order.PayMargin, c.Amount,
		c.Reason, c.ReleaseStock, c.Stale, c.Excessive, c.Forbidden, c.Request.Fingerprint,
		c.Note).
		Query(func(rows pgx.Rows) (err error) {
			answer, found, err = oneAnswer(rows)
			return err
		})
	if err := s.batch(ctx, &b); err != nil {
		return Answer{}, false, fmt.Errorf("%s order %s: %w", c.Name, c.OrderID, err)
	}
	if found || c.Request.Key == "" {
		return answer, found, nil
	}
	return s.FindAnswer(ctx, c.OrderID, c.Request)
}
