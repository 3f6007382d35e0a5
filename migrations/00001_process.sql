-- The process as data: what the domain package knows, the database knows too.
-- +goose Up
create table workflow_states (
    state  text primary key,
    class  text not null check (class in ('moving', 'waiting', 'final')),
    status text not null
);

insert into workflow_states (state, class, status) values
    ('created',            'moving',  'processing'),
    ('reserving',          'moving',  'processing'),
    ('reserved',           'moving',  'processing'),
    ('paying',             'moving',  'processing'),
    ('payment_unknown',    'waiting', 'processing'),
    ('paid',               'moving',  'paid'),
    ('shipping',           'moving',  'in_delivery'),
    ('shipped',            'final',   'in_delivery'),
    ('releasing',          'moving',  'processing'),
    ('release_failed',     'waiting', 'processing'),
    ('reservation_failed', 'final',   'failed'),
    ('payment_failed',     'final',   'failed'),
    ('cancelled',          'final',   'failed'),
    ('shipping_failed',    'waiting', 'paid');

-- A row per allowed transition; an empty from_state is the creation. release_end chooses among
-- the rows of one (from_state, event): the state that a release ends in.
create table workflow_transitions (
    from_state         text not null,
    event              text not null,
    to_state           text not null,
    release_end        text not null,
    step               text,
    step_if_cancelling text,
    cancel             text,
    compensation       text,
    audit              text,
    primary key (from_state, event, to_state, release_end)
);

insert into workflow_transitions (
    from_state, event, to_state, release_end,
    step, step_if_cancelling, cancel, compensation, audit
) values
    ('', 'order_created', 'created', '',
        'reserve', null, null, null, null),
    ('created', 'reserve_started', 'reserving', '',
        null, null, null, null, null),
    ('created', 'cancelled', 'cancelled', '',
        null, null, 'done', null, 'order_cancelled'),
    ('reserving', 'reserve_succeeded', 'reserved', '',
        'pay', null, null, null, null),
    ('reserving', 'reserve_succeeded_cancelling', 'releasing', 'cancelled',
        'release', null, 'done', 'pending', 'compensation_started'),
    ('reserving', 'reserve_refused', 'reservation_failed', '',
        null, null, 'superseded', null, null),
    ('reserving', 'cancelled', 'releasing', 'cancelled',
        'release', null, 'done', 'pending', 'compensation_started'),
    ('reserved', 'pay_started', 'paying', '',
        null, null, null, null, 'charge_started'),
    ('reserved', 'cancelled', 'releasing', 'cancelled',
        'release', null, 'done', 'pending', 'compensation_started'),
    ('reserved', 'reservation_expired', 'releasing', 'reservation_failed',
        'release', null, null, 'pending', 'compensation_started'),
    ('paying', 'pay_succeeded', 'paid', '',
        'ship', null, 'refused', null, 'charge_confirmed'),
    ('paying', 'pay_refused', 'releasing', 'payment_failed',
        'release', null, 'superseded', 'pending', 'compensation_started'),
    ('paying', 'pay_outcome_unknown', 'payment_unknown', '',
        'reconcile', 'void', null, null, 'charge_unknown'),
    ('paying', 'reservation_expired', 'payment_unknown', '',
        'reconcile', null, null, null, 'charge_unknown'),
    ('paying', 'reservation_expired_unpaid', 'releasing', 'payment_failed',
        'release', null, null, 'pending', 'compensation_started'),
    ('paying', 'cancel_voiding', 'payment_unknown', '',
        'reconcile', 'void', null, null, 'charge_unknown'),
    ('paying', 'cancelled', 'releasing', 'cancelled',
        'release', null, 'done', 'pending', 'compensation_started'),
    ('payment_unknown', 'reconciled_paid', 'paid', '',
        'ship', null, 'refused', null, 'charge_confirmed'),
    ('payment_unknown', 'reconciled_refused', 'releasing', 'payment_failed',
        'release', null, 'superseded', 'pending', 'compensation_started'),
    ('payment_unknown', 'voided', 'releasing', 'cancelled',
        'release', null, 'done', 'pending', 'compensation_started'),
    ('payment_unknown', 'voided', 'releasing', 'payment_failed',
        'release', null, null, 'pending', 'compensation_started'),
    ('paid', 'ship_started', 'shipping', '',
        null, null, null, null, null),
    ('shipping', 'ship_succeeded', 'shipped', '',
        'commit', null, null, null, null),
    ('shipping', 'ship_refused', 'shipping_failed', '',
        null, null, null, null, 'shipping_failed'),
    ('shipping', 'ship_exhausted', 'shipping_failed', '',
        null, null, null, null, 'shipping_failed'),
    ('shipping', 'ship_permanent', 'shipping_failed', '',
        null, null, null, null, 'shipping_failed'),
    ('shipping_failed', 'ship_retried', 'shipping', '',
        'ship', null, null, null, 'shipping_retried'),
    ('shipping_failed', 'ship_found', 'shipped', '',
        'commit', null, null, null, 'shipping_found'),
    ('releasing', 'release_succeeded', 'payment_failed', 'payment_failed',
        null, null, null, 'done', 'compensation_done'),
    ('releasing', 'release_succeeded', 'cancelled', 'cancelled',
        null, null, null, 'done', 'compensation_done'),
    ('releasing', 'release_succeeded', 'reservation_failed', 'reservation_failed',
        null, null, null, 'done', 'compensation_done'),
    ('releasing', 'release_refused', 'release_failed', '',
        null, null, null, 'incomplete', 'compensation_incomplete'),
    ('releasing', 'release_exhausted', 'release_failed', '',
        null, null, null, 'incomplete', 'compensation_incomplete'),
    ('releasing', 'release_permanent', 'release_failed', '',
        null, null, null, 'incomplete', 'compensation_incomplete'),
    ('release_failed', 'release_retried', 'releasing', '',
        'release', null, null, 'pending', 'compensation_retried');

-- A step of a kind may be taken while its order is in this state; the event is the intent.
create table workflow_takes (
    kind  text not null,
    state text not null,
    event text,
    primary key (kind, state)
);

insert into workflow_takes (kind, state, event) values
    ('reserve',   'created',         'reserve_started'),
    ('reserve',   'reserving',       null),
    ('pay',       'reserved',        'pay_started'),
    ('pay',       'paying',          null),
    ('reconcile', 'payment_unknown', null),
    ('void',      'payment_unknown', null),
    ('ship',      'paid',            'ship_started'),
    ('ship',      'shipping',        null),
    ('cancel_ship', 'shipping_failed', null),
    ('release',   'releasing',       null),
    ('release',   'shipping_failed', null),
    ('commit',    'shipped',         null),
    ('refund',    'shipped',         null),
    ('refund',    'shipping_failed', null),
    ('reconcile_refund', 'shipped',  null),
    ('reconcile_refund', 'shipping_failed', null);

-- The same for refunds (REF-3), which never change the order's state.
create table refund_transitions (
    from_state text not null,
    event      text not null,
    to_state   text not null,
    step       text,
    primary key (from_state, event)
);

insert into refund_transitions (from_state, event, to_state, step) values
    ('',               'refund_requested',          'requested',      'refund'),
    ('requested',      'refund_started',            'refunding',      null),
    ('refunding',      'refund_succeeded',          'refunded',       null),
    ('refunding',      'refund_refused',            'refund_failed',  null),
    ('refunding',      'refund_outcome_unknown',    'refund_unknown', 'reconcile_refund'),
    ('refund_unknown', 'refund_reconciled_done',    'refunded',       null),
    ('refund_unknown', 'refund_reconciled_refused', 'refund_failed',  null),
    ('refund_unknown', 'refund_resent',             'refunding',      'refund');

-- +goose Down
drop table refund_transitions;
drop table workflow_takes;
drop table workflow_transitions;
drop table workflow_states;
