-- What is never undone is refused to everybody, the owner included: history and audit are so
-- since their guards exist, here are the rest of an order's life and the results of attempts.
-- +goose Up
create trigger orders_no_truncate
    before truncate on orders
    for each statement execute function refuse_change();
create trigger workflow_steps_no_delete
    before delete on workflow_steps
    for each row execute function refuse_change();
create trigger workflow_steps_no_truncate
    before truncate on workflow_steps
    for each statement execute function refuse_change();
create trigger step_attempts_no_delete
    before delete on step_attempts
    for each row execute function refuse_change();
create trigger step_attempts_no_truncate
    before truncate on step_attempts
    for each statement execute function refuse_change();

-- A result is recorded once.
create trigger step_attempts_final
    before update on step_attempts
    for each row when (old.outcome is not null)
    execute function refuse_change();

-- +goose Down
drop trigger step_attempts_final on step_attempts;
drop trigger step_attempts_no_truncate on step_attempts;
drop trigger step_attempts_no_delete on step_attempts;
drop trigger workflow_steps_no_truncate on workflow_steps;
drop trigger workflow_steps_no_delete on workflow_steps;
drop trigger orders_no_truncate on orders;
