package store

// moveOrders is the building block that moves orders, and the only one. It follows two CTEs.
//
// chosen has a row per order to move (a null event moves nothing), read under the order's lock:
// order_id, state, cancel_status, release_end, event, reason, step_no, attempt_no, actor_type,
// actor_id, cancel_request, reservation_ref, payment_ref, shipment_ref, deadline, sequence (of the
// operation of the next step; null is the first).
//
// own has the (order_id, step_no) that the statement updates itself, so that the block does not:
// two updates of one row in one statement would apply only the first.
//
// Moved has a row per order that moved. A void and a release end in the state that the order's
// cancellation or its stored end asks for.
const moveOrders = `
allowed as (
    select
        c.order_id,
        c.state as from_state,
        c.event,
        c.reason,
        c.step_no,
        c.attempt_no,
        c.actor_type,
        c.actor_id,
        c.reservation_ref,
        c.payment_ref,
        c.shipment_ref,
        c.deadline,
        c.sequence,
        c.cancel_request or coalesce(c.cancel_status, '') = 'waiting' as cancelling,
        t.to_state,
        t.release_end,
        t.step,
        t.step_if_cancelling,
        t.cancel,
        t.compensation,
        t.audit,
        w.class = 'final' as final
    from chosen c
    join workflow_transitions t
        on t.from_state = c.state
        and t.event = c.event
        and t.release_end in ('', case c.event
            when 'release_succeeded' then c.release_end
            when 'voided' then case c.cancel_status
                when 'waiting' then 'cancelled'
                else 'payment_failed'
            end
            else t.release_end
        end)
    join workflow_states w on w.state = t.to_state
),
moved as (
    update orders o
    set
        state = a.to_state,
        version = o.version + 1,
        reason = coalesce(a.reason, o.reason),
        compensation = coalesce(a.compensation, o.compensation),
        release_end = coalesce(nullif(a.release_end, ''), o.release_end),
        reservation_ref = coalesce(a.reservation_ref, o.reservation_ref),
        payment_ref = coalesce(a.payment_ref, o.payment_ref),
        shipment_ref = coalesce(a.shipment_ref, o.shipment_ref),
        reservation_deadline = coalesce(a.deadline, o.reservation_deadline),
        cancel_status = case
            when a.cancelling then coalesce(a.cancel, 'waiting')
            else o.cancel_status
        end,
        cancel_requested_at = case
            when a.cancelling then coalesce(o.cancel_requested_at, now())
            else o.cancel_requested_at
        end,
        steps = o.steps
            + (a.step is not null)::int
            + (a.cancelling and a.step_if_cancelling is not null)::int,
        events = o.events + 1,
        closing = false,
        updated_at = now(),
        closed_at = case when a.final then now() end
    from allowed a
    where o.order_id = a.order_id
        and o.state = a.from_state
    returning
        o.order_id,
        o.version,
        a.from_state,
        o.state as to_state,
        a.event,
        a.reason,
        a.step_no,
        a.attempt_no,
        a.actor_type,
        a.actor_id,
        a.audit,
        a.step,
        case when a.cancelling then a.step_if_cancelling end as second_step,
        coalesce(a.sequence, 1) as sequence,
        o.steps,
        o.events,
        o.process_version,
        o.total,
        o.currency,
        o.items,
        o.trace_id,
        o.cancel_status,
        o.cancel_requested_at,
        o.created_at
),` + journalMoves

// journalMoves writes everything that goes with a move: history, audit, outbox event, the next
// steps, the end of the steps that the new state does not admit, and the end of the attention
// that belonged to the state left. It follows moved (which a creation defines itself) and own.
const journalMoves = `
history as (
    insert into order_history (
        order_id, version, from_state, to_state, event, reason, step_no, attempt_no, at
    )
    select
        order_id, version, from_state, to_state, event, reason, step_no, attempt_no, now()
    from moved
),
audited as (
    insert into audit_events (
        order_id, audit_key, at, actor_type, actor_id, action, result, reason,
        step_no, attempt_no
    )
    select
        order_id, 'v' || version, now(), actor_type, actor_id, audit, to_state, reason,
        step_no, attempt_no
    from moved
    where audit is not null
),
emitted as (
    insert into outbox (order_id, sequence, event_id, type, payload, trace_id, created_at)
    select
        order_id,
        events,
        order_event_id(order_id, version),
        'order.' || to_state,
        jsonb_build_object(
            'order_id', order_id,
            'version', version,
            'state', to_state,
            'event', event),
        trace_id,
        now()
    from moved
),
next_steps as (
    insert into workflow_steps (
        order_id, step_no, kind, status, process_version, sequence, series, due_at,
        provider_key, target_key, request, created_at
    )
    select
        m.order_id,
        n.step_no,
        n.kind,
        'due',
        m.process_version,
        m.sequence,
        1,
        now(),
        operation_key(m.order_id, n.kind, m.sequence),
        operation_key(m.order_id, target_operation(n.kind), 1),
        step_request(n.kind, m.order_id, m.total, m.currency, m.items),
        now()
    from moved m
    cross join lateral (values
        (m.step, m.steps - (m.second_step is not null)::int),
        (m.second_step, m.steps::int)
    ) as n (kind, step_no)
    where n.kind is not null
),
ended as (
    update workflow_steps s
    set
        status = 'closed',
        generation = s.generation + 1,
        lease_owner = null,
        lease_expires_at = null,
        ended_at = now()
    from moved m
    where s.order_id = m.order_id
        and s.status in ('due', 'running')
        and not exists (
            select from workflow_takes k where k.kind = s.kind and k.state = m.to_state
        )
        and not exists (
            select from own where own.order_id = s.order_id and own.step_no = s.step_no
        )
),
settled as (
    delete from order_attention n
    using moved m
    where n.order_id = m.order_id
        and n.state = m.from_state
)`
