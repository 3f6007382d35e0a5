-- What the database refuses by itself, also when typed by hand, and the pure functions that the
-- statements of the service share.
-- +goose Up

-- +goose StatementBegin
create function guard_order_state() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        if new.version <> 1 or not exists (
            select from workflow_transitions t
            where t.from_state = '' and t.to_state = new.state
        ) then
            raise exception 'order % cannot be created in state %', new.order_id, new.state
                using errcode = 'check_violation';
        end if;
        return new;
    end if;
    if new.order_id <> old.order_id or new.customer <> old.customer
        or new.total <> old.total or new.currency <> old.currency then
        raise exception 'order %: identity and amount never change', old.order_id
            using errcode = 'check_violation';
    end if;
    if new.state = old.state and new.version = old.version then
        return new;
    end if;
    if new.version <> old.version + 1 then
        raise exception 'order %: version % does not follow %',
            old.order_id, new.version, old.version
            using errcode = 'check_violation';
    end if;
    if not exists (
        select from workflow_transitions t
        where t.from_state = old.state and t.to_state = new.state
    ) then
        raise exception 'order %: transition from % to % is not in the table',
            old.order_id, old.state, new.state
            using errcode = 'check_violation';
    end if;
    return new;
end $$;
-- +goose StatementEnd

create trigger orders_guard
    before insert or update on orders
    for each row execute function guard_order_state();

-- +goose StatementBegin
create function require_order_history() returns trigger language plpgsql as $$
begin
    if not exists (
        select from order_history h
        where h.order_id = new.order_id
            and h.version = new.version
            and h.to_state = new.state
            and h.from_state = case tg_op when 'INSERT' then '' else old.state end
    ) then
        raise exception 'order %: version % has no history row', new.order_id, new.version
            using errcode = 'check_violation';
    end if;
    return null;
end $$;
-- +goose StatementEnd

create constraint trigger orders_history_on_insert
    after insert on orders
    deferrable initially deferred
    for each row execute function require_order_history();

create constraint trigger orders_history_on_update
    after update on orders
    deferrable initially deferred
    for each row when (new.version <> old.version or new.state <> old.state)
    execute function require_order_history();

-- +goose StatementBegin
create function refuse_change() returns trigger language plpgsql as $$
begin
    raise exception '% is append-only', tg_table_name using errcode = 'check_violation';
end $$;
-- +goose StatementEnd

create trigger order_history_append_only
    before update or delete on order_history
    for each row execute function refuse_change();
create trigger order_history_no_truncate
    before truncate on order_history
    for each statement execute function refuse_change();
create trigger audit_events_append_only
    before update or delete on audit_events
    for each row execute function refuse_change();
create trigger audit_events_no_truncate
    before truncate on audit_events
    for each statement execute function refuse_change();
create trigger orders_no_delete
    before delete on orders
    for each row execute function refuse_change();

-- The functions below are stable, not immutable, since casts to text are: a function that claims
-- more than its body is not inlined but parsed and planned anew by every statement.

-- The id of the event that a version of an order emits: a UUIDv8 (RFC 9562) of both.
create function order_event_id(order_id uuid, version integer) returns uuid
    language sql stable as $$
    select overlay(overlay(
        substr(encode(sha256(convert_to(order_id::text || ':' || version, 'UTF8')), 'hex'), 1, 32)
        placing '8' from 13) placing '8' from 17)::uuid
$$;

-- The same of a version of a refund.
create function refund_event_id(order_id uuid, refund_no integer, version integer) returns uuid
    language sql stable as $$
    select overlay(overlay(
        substr(encode(sha256(convert_to(
            order_id::text || ':refund:' || refund_no || ':' || version, 'UTF8')), 'hex'), 1, 32)
        placing '8' from 13) placing '8' from 17)::uuid
$$;

-- The idempotency key of an operation of an order: never drawn, always derived.
create function operation_key(order_id uuid, operation text, sequence integer) returns text
    language sql stable as $$
    select order_id::text || '-' || operation || '-' || sequence
$$;

-- The key of the operation that a step of the given kind is about, if it is about another one.
create function target_operation(kind text) returns text
    language sql immutable as $$
    select case kind
        when 'reconcile' then 'pay'
        when 'void' then 'pay'
        when 'release' then 'reserve'
        when 'commit' then 'reserve'
        when 'cancel_ship' then 'ship'
        when 'reconcile_refund' then 'refund'
    end
$$;

-- The request body of a step, stored with it and sent byte for byte on every attempt. A subquery
-- is never inlined; PL/pgSQL keeps its plan for the session.
-- +goose StatementBegin
create function step_request(kind text, order_id uuid, total bigint, currency text, items jsonb)
    returns text language plpgsql stable as $$
begin
    return case
        when kind = 'pay' then json_build_object(
            'order_id', order_id,
            'amount', total,
            'currency', currency)::text
        when kind in ('reserve', 'ship') then json_build_object(
            'order_id', order_id,
            'items', (
                select json_agg(json_build_object('sku', i.item -> 'sku',
                    'quantity', i.item -> 'quantity') order by i.n)
                from jsonb_array_elements(items) with ordinality as i (item, n)))::text
        when kind <> 'reconcile' then json_build_object('order_id', order_id)::text
    end;
end $$;
-- +goose StatementEnd

-- The request body of a refund.
create function refund_request(order_id uuid, amount bigint, currency text) returns text
    language sql stable as $$
    select json_build_object(
        'order_id', order_id,
        'charge_key', operation_key(order_id, 'pay', 1),
        'amount', amount,
        'currency', currency)::text
$$;

-- +goose Down
drop function refund_request(uuid, bigint, text);
drop function step_request(text, uuid, bigint, text, jsonb);
drop function target_operation(text);
drop function operation_key(uuid, text, integer);
drop function refund_event_id(uuid, integer, integer);
drop function order_event_id(uuid, integer);
drop trigger orders_no_delete on orders;
drop trigger audit_events_no_truncate on audit_events;
drop trigger audit_events_append_only on audit_events;
drop trigger order_history_no_truncate on order_history;
drop trigger order_history_append_only on order_history;
drop function refuse_change();
drop trigger orders_history_on_update on orders;
drop trigger orders_history_on_insert on orders;
drop function require_order_history();
drop trigger orders_guard on orders;
drop function guard_order_state();
