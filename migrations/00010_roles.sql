-- Who may do what. No process needs to own what it works with: each kind of process has a group
-- role with exactly the verbs of its statements.
--
--   ordeal_owner     owns the schema; migrates and seeds
--   ordeal_api       serves the REST API
--   ordeal_worker    takes and records steps, sweeps
--   ordeal_relay     publishes events
--   ordeal_readonly  reads, but neither tokens nor stored answers
--
-- The roles cannot log in. A login is made a member of those it needs (grant ordeal_api to …),
-- or one of the roles is given a login itself; only then do its timeouts apply by themselves,
-- since PostgreSQL does not hand settings on to members. The service asks for the same ones
-- with each connection.
--
-- Roles belong to the whole server, so databases share them. Whoever may not create them can
-- have them created before by somebody who may, and then apply_roles() again.
-- +goose Up

-- +goose StatementBegin
create function apply_roles() returns setof text language plpgsql as $$
declare
    home text := quote_ident(current_schema());
    command text;
begin
    -- One at a time in this database; other databases meet at "create role" alone.
    perform pg_advisory_xact_lock(hashtext('ordeal.apply_roles'));
    for command in
        with roles (role, statement_timeout, lock_timeout, idle_timeout) as (
            values
                ('owner',    '0',   '10s', '60s'),
                ('api',      '3s',  '3s',  '3s'),
                ('worker',   '3s',  '3s',  '3s'),
                ('relay',    '3s',  '3s',  '3s'),
                ('readonly', '30s', '1s',  '30s')
        ),
        grants (role, verbs, relation) as (
            values
                ('api', 'select', 'workflow_states, workflow_transitions, workflow_takes,
                    order_history, audit_events, outbox, refunds, order_attention,
                    idempotency_keys, principals'),
                ('api', 'insert', 'order_history, audit_events, outbox, refunds,
                    idempotency_keys'),
                ('api', 'delete', 'order_attention'),

                ('worker', 'select', 'workflow_states, workflow_transitions, workflow_takes,
                    refund_transitions, step_attempts, order_history, outbox, refunds,
                    order_attention'),
                ('worker', 'select (order_id, step_no, attempt_no, result)', 'audit_events'),
                ('worker', 'insert', 'step_attempts, order_history, audit_events, outbox,
                    order_attention, discrepancies'),
                ('worker', 'update (attempts, unsent, maybe_sent, due_at)', 'workflow_steps'),
                ('worker', 'update (recorded_at, outcome, sent, code, reference)',
                    'step_attempts'),
                ('worker', 'update (state, version, cause, reference, updated_at)', 'refunds'),
                ('worker', 'delete', 'order_attention'),

                ('relay', 'select', 'outbox'),
                ('relay', 'update (published_at, tries, parked_at)', 'outbox'),
                ('relay', 'delete', 'outbox'),

                ('readonly', 'select', 'workflow_states, workflow_transitions, workflow_takes,
                    refund_transitions, orders, workflow_steps, step_attempts, order_history,
                    audit_events, outbox, order_attention, refunds, discrepancies')
            -- Whoever moves orders does so by the same building block; identity, amounts,
            -- keys and request bodies never change.
            union all
            select mover, verbs, relation
            from (values ('api'), ('worker')) as m (mover)
            cross join (values
                ('select', 'orders, workflow_steps'),
                ('insert', 'workflow_steps'),
                ('update (state, version, reason, compensation, release_end, reservation_ref,
                    payment_ref, shipment_ref, reservation_deadline, cancel_status,
                    cancel_requested_at, steps, events, refunded, closing, updated_at,
                    closed_at)', 'orders'),
                ('select (kind, resolved_at)', 'discrepancies'),
                ('update (status, generation, lease_owner, lease_expires_at, ended_at)',
                    'workflow_steps')
            ) as g (verbs, relation)
            union all
            values
                ('api', 'insert', 'orders'),
                ('api', 'update (close_reason, release_stock)', 'orders')
        ),
        ours (kind, name, owner) as (
            select 'table', oid::regclass::text, relowner
            from pg_class
            where relnamespace = current_schema()::regnamespace
                and relkind = 'r'
                and not exists (select from pg_depend d where d.objid = oid and d.deptype = 'e')
            union all
            select 'routine', oid::regprocedure::text, proowner
            from pg_proc
            where pronamespace = current_schema()::regnamespace
                and not exists (select from pg_depend d where d.objid = oid and d.deptype = 'e')
        ),
        -- Everybody but the owner, with what belongs to nobody in particular.
        others as (
            select 'ordeal_' || role as name from roles where role <> 'owner'
        ),
        commands (phase, command) as (
            select 1, format('create role ordeal_%s nologin', role)
            from roles
            where to_regrole('ordeal_' || role) is null
            union all
            select 2, format('grant ordeal_owner to %I', current_user)
            from pg_roles
            where rolname = current_user
                and not rolsuper
                and not coalesce(pg_has_role(to_regrole('ordeal_owner'), 'member'), false)
            union all
            select 3, format('alter role ordeal_%s in database %I set %s = %L',
                r.role, current_database(), t.name, t.value)
            from roles r
            cross join lateral (values
                ('statement_timeout', r.statement_timeout),
                ('lock_timeout', r.lock_timeout),
                ('idle_in_transaction_session_timeout', r.idle_timeout)
            ) as t (name, value)
            union all
            select 4, format('revoke create on schema %s from public', home)
            union all
            select 4, format('grant usage, create on schema %s to ordeal_owner', home)
            union all
            select 4, format('grant usage on schema %s to %s', home, name) from others
            union all
            select 5, format('revoke all on all tables in schema %s from public', home)
            union all
            select 5, format('revoke all on all tables in schema %s from %s', home, name)
            from others
            union all
            select 6, format('grant select on goose_db_version to %s', name) from others
            union all
            select 6, format('grant %s on %s to ordeal_%s', verbs, relation, role) from grants
            union all
            select 7, format('alter %s %s owner to ordeal_owner', kind, name)
            from ours
            where owner is distinct from to_regrole('ordeal_owner')::oid
        )
        select c.command from commands c order by c.phase
    loop
        begin
            execute command;
        exception
            when duplicate_object or unique_violation then
                null; -- somebody else created the role just now, for another database
            when insufficient_privilege or undefined_object then
                return next regexp_replace(command, '\s+', ' ', 'g') || ': ' || sqlerrm;
        end;
    end loop;
end $$;
-- +goose StatementEnd

revoke execute on function apply_roles() from public;

-- +goose StatementBegin
do $$
declare
    skipped text;
begin
    for skipped in select apply_roles() loop
        raise notice 'skipped: %', skipped;
    end loop;
end $$;
-- +goose StatementEnd

-- +goose Down
-- The roles stay: other databases may use them.

-- +goose StatementBegin
do $$
declare
    command text;
begin
    for command in
        with roles (role) as (
            select rolname
            from pg_roles
            where rolname in ('ordeal_owner', 'ordeal_api', 'ordeal_worker', 'ordeal_relay',
                'ordeal_readonly')
        )
        select format('alter table %s owner to %I', oid::regclass, current_user)
        from pg_class
        where relnamespace = current_schema()::regnamespace
            and relkind = 'r'
            and pg_get_userbyid(relowner) = 'ordeal_owner'
        union all
        select format('alter routine %s owner to %I', oid::regprocedure, current_user)
        from pg_proc
        where pronamespace = current_schema()::regnamespace
            and pg_get_userbyid(proowner) = 'ordeal_owner'
        union all
        select format('revoke all on all tables in schema %I from %I', current_schema(), role)
        from roles
        union all
        select format('revoke all on schema %I from %I', current_schema(), role)
        from roles
        union all
        select format('alter role %I in database %I reset all', role, current_database())
        from roles
    loop
        execute command;
    end loop;
end $$;
-- +goose StatementEnd

drop function apply_roles();
