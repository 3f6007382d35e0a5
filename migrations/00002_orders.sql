-- Everything that an order's life touches. Each primary key starts with order_id.
-- +goose Up
create table orders (
    order_id             uuid primary key,
    customer             text not null,
    process_version      smallint not null,
    state                text not null,
    version              integer not null check (version >= 1),
    currency             text not null check (currency = 'RUB'),
    total                bigint not null check (total > 0),
    items                jsonb not null,
    reason               text,
    compensation         text not null default 'none'
        check (compensation in ('none', 'pending', 'done', 'incomplete')),
    release_end          text
        check (release_end in ('payment_failed', 'cancelled', 'reservation_failed')),
    reservation_ref      text,
    payment_ref          text,
    shipment_ref         text,
    reservation_deadline timestamptz,
    cancel_status        text
        check (cancel_status in ('waiting', 'done', 'refused', 'superseded')),
    cancel_requested_at  timestamptz,
    trace_id             text not null,
    -- Counters that number the order's steps and events.
    steps                smallint not null check (steps >= 1),
    events               integer not null check (events >= version),
    -- The sum of all refunds but the failed ones: the check is the limit, under the order's lock.
    refunded             bigint not null default 0 check (refunded between 0 and total),
    -- A close that is under way, and what it was asked for.
    closing              boolean not null default false,
    close_reason         text,
    release_stock        boolean not null default false,
    created_at           timestamptz not null,
    updated_at           timestamptz not null,
    closed_at            timestamptz,
    check ((cancel_status is null) = (cancel_requested_at is null)),
    check (state <> 'releasing' or release_end is not null),
    check (not closing or (state = 'shipping_failed' and closed_at is null)),
    check (state not in ('paid', 'shipping', 'shipped', 'shipping_failed')
        or payment_ref is not null)
);

-- Reservations that may expire: only these are looked at by the sweep.
create index orders_deadline on orders (reservation_deadline)
    where state in ('reserved', 'paying');

create index orders_customer on orders (customer, created_at, order_id);

create table workflow_steps (
    order_id         uuid not null,
    step_no          smallint not null,
    kind             text not null,
    refund_no        smallint,
    status           text not null,
    process_version  smallint not null,
    sequence         smallint not null,
    series           smallint not null,
    generation       integer not null default 0,
    attempts         smallint not null default 0,
    unsent           smallint not null default 0,
    maybe_sent       boolean not null default false,
    due_at           timestamptz not null,
    lease_owner      text,
    lease_expires_at timestamptz,
    provider_key     text,
    target_key       text,
    request          text,
    created_at       timestamptz not null,
    ended_at         timestamptz,
    primary key (order_id, step_no),
    check (status in ('due', 'running', 'succeeded', 'refused', 'permanent', 'unknown',
        'exhausted', 'closed')),
    check ((kind in ('refund', 'reconcile_refund')) = (refund_no is not null)),
    check (attempts - unsent between 0 and 5),
    check ((status = 'running') = (lease_owner is not null)),
    check ((lease_owner is null) = (lease_expires_at is null)),
    check ((status in ('due', 'running')) = (ended_at is null))
);

-- Its order is that of the takes, so that a take stops at its limit.
create index workflow_steps_due on workflow_steps (due_at, order_id, step_no)
    where status = 'due';

create index workflow_steps_leased on workflow_steps (lease_expires_at)
    where status = 'running';

create table step_attempts (
    order_id    uuid not null,
    step_no     smallint not null,
    attempt_no  smallint not null,
    generation  integer not null,
    executor    text not null,
    taken_at    timestamptz not null,
    recorded_at timestamptz,
    outcome     text,
    sent        boolean,
    code        text,
    reference   text,
    primary key (order_id, step_no, attempt_no),
    check ((outcome is null) = (recorded_at is null)),
    check ((outcome is null) = (sent is null))
);

create table order_history (
    order_id   uuid not null,
    version    integer not null,
    from_state text not null,
    to_state   text not null,
    event      text not null,
    reason     text,
    step_no    smallint,
    attempt_no smallint,
    at         timestamptz not null,
    primary key (order_id, version)
);

-- The key of an audit row is derived from what it is about, so nothing is recorded twice.
create table audit_events (
    order_id    uuid not null,
    audit_key   text not null,
    at          timestamptz not null,
    actor_type  text not null,
    actor_id    text not null,
    action      text not null,
    object_type text not null default 'distributed_workflow',
    result      text not null,
    reason      text,
    step_no     smallint,
    attempt_no  smallint,
    primary key (order_id, audit_key)
);

create table outbox (
    order_id     uuid not null,
    sequence     integer not null,
    event_id     uuid not null,
    type         text not null,
    payload      jsonb not null,
    trace_id     text not null check (trace_id <> ''),
    created_at   timestamptz not null,
    published_at timestamptz,
    tries        integer not null default 0,
    parked_at    timestamptz,
    primary key (order_id, sequence)
);

create table order_attention (
    order_id uuid not null,
    reason   text not null,
    step_no  smallint not null,
    -- Leaving this state clears the reason; empty for one that outlives the state.
    state    text not null,
    since    timestamptz not null,
    primary key (order_id, reason, step_no)
);

create table idempotency_keys (
    order_id    uuid not null,
    caller      text not null,
    route       text not null,
    key         text not null,
    fingerprint bytea not null,
    status      smallint not null,
    response    text not null,
    -- Free text of an operator's command; it is kept here and nowhere else.
    note        text check (length(note) <= 500),
    created_at  timestamptz not null,
    primary key (order_id, caller, route, key)
);

create table refunds (
    order_id   uuid not null,
    refund_no  smallint not null,
    state      text not null,
    version    integer not null check (version >= 1),
    amount     bigint not null check (amount > 0),
    currency   text not null check (currency = 'RUB'),
    reason     text not null,
    cause      text,
    reference  text,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (order_id, refund_no)
);

-- What does not fit together, with what to do next; found by late facts and by reconciliation.
create table discrepancies (
    order_id    uuid not null,
    key         text not null,
    kind        text not null,
    next_action text not null,
    step_no     smallint,
    attempt_no  smallint,
    found_at    timestamptz not null,
    resolved_at timestamptz,
    primary key (order_id, key)
);

create table principals (
    token_hash bytea primary key check (length(token_hash) = 32),
    name       text not null unique,
    role       text not null check (role in ('customer', 'operator')),
    created_at timestamptz not null
);

-- +goose Down
drop table principals;
drop table discrepancies;
drop table refunds;
drop table idempotency_keys;
drop table order_attention;
drop table outbox;
drop table audit_events;
drop table order_history;
drop table step_attempts;
drop table workflow_steps;
drop table orders;
