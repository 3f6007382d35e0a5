package store

// moveRefunds is the building block that moves refunds, and the only one. It follows refund_chosen:
// order_id, refund_no, event, cause, reference, step_no, attempt_no, actor_type, actor_id, read
// under the order's lock, with any number of refunds of one order but none of an order that the
// statement moves too: an order's row is updated once.
const moveRefunds = `
refunded as (
    update refunds f
    set
        state = t.to_state,
        version = f.version + 1,
        cause = coalesce(c.cause, f.cause),
        reference = coalesce(c.reference, f.reference),
        updated_at = now()
    from refund_chosen c
    join refund_transitions t on t.event = c.event
    where f.order_id = c.order_id
        and f.refund_no = c.refund_no
        and f.state = t.from_state
    returning
        f.order_id,
        f.refund_no,
        f.version,
        f.state,
        f.amount,
        f.currency,
        c.event,
        c.cause,
        c.step_no,
        c.attempt_no,
        c.actor_type,
        c.actor_id,
        t.step
),
refund_sums as (
    select
        order_id,
        count(*)::int as events,
        count(step)::int as steps,
        coalesce(sum(amount) filter (where state = 'refund_failed'), 0)::bigint as failed
    from refunded
    group by order_id
),
refund_counted as (
    update orders o
    set
        events = o.events + n.events,
        steps = o.steps + n.steps,
        refunded = o.refunded - n.failed,
        updated_at = now()
    from refund_sums n
    where o.order_id = n.order_id
    returning
        o.order_id,
        o.events - n.events as events_before,
        o.steps - n.steps as steps_before,
        o.process_version,
        o.trace_id
),
refund_numbered as (
    select
        r.*,
        n.process_version,
        n.trace_id,
        n.events_before + row_number() over (
            partition by r.order_id order by r.refund_no) as event_no,
        n.steps_before + count(r.step) over (
            partition by r.order_id order by r.refund_no) as next_step_no
    from refunded r
    join refund_counted n on n.order_id = r.order_id
),
refund_emitted as (
    insert into outbox (order_id, sequence, event_id, type, payload, trace_id, created_at)
    select
        order_id,
        event_no,
        refund_event_id(order_id, refund_no, version),
        'refund.' || state,
        jsonb_build_object(
            'order_id', order_id,
            'refund_no', refund_no,
            'version', version,
            'state', state,
            'event', event,
            'amount', amount,
            'currency', currency),
        trace_id,
        now()
    from refund_numbered
),
refund_audited as (
    insert into audit_events (
        order_id, audit_key, at, actor_type, actor_id, action, result, reason,
        step_no, attempt_no
    )
    select
        order_id, 'r' || refund_no || '.v' || version, now(), actor_type, actor_id, event,
        state, cause, step_no, attempt_no
    from refund_numbered
),
refund_steps as (
    insert into workflow_steps (
        order_id, step_no, kind, refund_no, status, process_version, sequence, series, due_at,
        provider_key, target_key, request, created_at
    )
    select
        order_id,
        next_step_no,
        step,
        refund_no,
        'due',
        process_version,
        refund_no,
        1,
        now(),
        operation_key(order_id, step, refund_no),
        operation_key(order_id, target_operation(step), refund_no),
        case step when 'refund' then refund_request(order_id, amount, currency) end,
        now()
    from refund_numbered
    where step is not null
),
refund_settled as (
    delete from order_attention n
    using refunded r, workflow_steps s
    where n.order_id = r.order_id
        and s.order_id = n.order_id
        and s.step_no = n.step_no
        and s.refund_no = r.refund_no
)`
