package store

// finishClose follows accepted in a record. It ends a close with the outcome of its cancel_ship
// step (REF-4): confirmed closes the order for good, and creates a release step where the close
// asked for the stock; used up or permanent ends only the closing. It also notes what came of
// such a release, which changes no state.
const finishClose = `
finished as (
    update orders o
    set
        closing = false,
        closed_at = case
            when a.kind = 'cancel_ship' and a.new_status = 'succeeded' then now()
            else o.closed_at
        end,
        reason = case
            when a.kind = 'cancel_ship' and a.new_status = 'succeeded' then o.close_reason
            else o.reason
        end,
        compensation = case
            when a.kind = 'cancel_ship' and a.new_status = 'succeeded' and o.release_stock
                then 'pending'
            when a.kind = 'release' and a.new_status = 'succeeded' then 'done'
            when a.kind = 'release' then 'incomplete'
            else o.compensation
        end,
        steps = o.steps
            + (a.kind = 'cancel_ship' and a.new_status = 'succeeded' and o.release_stock)::int,
        updated_at = now()
    from accepted a
    where o.order_id = a.order_id
        and a.to_state is null
        and a.new_status <> 'due'
        and a.kind in ('cancel_ship', 'release')
    returning
        o.order_id,
        o.steps,
        o.process_version,
        o.release_stock,
        o.compensation,
        a.kind,
        a.new_status,
        a.owner,
        a.step_no,
        a.attempt_no
),
finish_release as (
    insert into workflow_steps (
        order_id, step_no, kind, status, process_version, sequence, series, due_at,
        provider_key, target_key, request, created_at
    )
    select
        order_id,
        steps,
        'release',
        'due',
        process_version,
        1,
        1,
        now(),
        operation_key(order_id, 'release', 1),
        operation_key(order_id, 'reserve', 1),
        json_build_object('order_id', order_id)::text,
        now()
    from finished
    where kind = 'cancel_ship'
        and new_status = 'succeeded'
        and release_stock
),
finish_settled as (
    delete from order_attention n
    using finished f
    where n.order_id = f.order_id
        and f.kind = 'cancel_ship'
        and f.new_status = 'succeeded'
),
finish_audited as (
    insert into audit_events (
        order_id, audit_key, at, actor_type, actor_id, action, result, step_no, attempt_no
    )
    select
        order_id,
        'close.s' || step_no || '.a' || attempt_no,
        now(),
        'executor',
        owner,
        case
            when kind = 'release' then 'compensation_' || compensation
            when new_status = 'succeeded' and release_stock then 'compensation_started'
            when new_status = 'succeeded' then 'order_closed'
            else 'close_ended'
        end,
        new_status,
        step_no,
        attempt_no
    from finished
)`
