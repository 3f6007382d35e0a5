package stage

import (
	"context"
	"fmt"
	"time"
)

// Rested reports whether no step is open, those apart that are asked about for an order of which
// a person knows already.
func (s *Stage) Rested(ctx context.Context) (rested bool, err error) {
	err = s.pool.QueryRow(ctx, `
		select not exists (
			select
			from workflow_steps s
			where s.status in ('due', 'running')
				and not exists (
					select
					from order_attention a
					where a.order_id = s.order_id
						and a.reason = 'payment_unresolved'
				)
		)`).Scan(&rested)
	if err != nil {
		return false, fmt.Errorf("look for open steps: %w", err)
	}
	return rested, nil
}

// Moved returns when an order first moved after a moment: a change of state, an attempt taken, or
// the result of one recorded; zero if it has not. Executor, if not empty, is whose moves do not
// count.
func (s *Stage) Moved(
	ctx context.Context, order string, after time.Time, executor string,
) (time.Time, error) {
	var at *time.Time
	err := s.pool.QueryRow(ctx, `
		select min(moves.at)
		from (
			select h.at, coalesce(a.executor, '') as executor
			from order_history h
			left join step_attempts a
				on a.order_id = h.order_id
				and a.step_no = h.step_no
				and a.attempt_no = h.attempt_no
			where h.order_id = $1
			union all
			select taken_at, executor from step_attempts where order_id = $1
			union all
			select recorded_at, executor from step_attempts where order_id = $1
		) moves
		where moves.at > $2
			and (moves.executor <> $3 or $3 = '')`, order, after, executor).Scan(&at)
	if err != nil {
		return time.Time{}, fmt.Errorf("look for moves of order %s: %w", order, err)
	}
	if at == nil {
		return time.Time{}, nil
	}
	return at.UTC(), nil
}

// State is the state and the version of an order.
func (s *Stage) State(ctx context.Context, order string) (state string, version int, err error) {
	err = s.pool.QueryRow(ctx, `
		select state, version
		from orders
		where order_id::text = $1`, order).Scan(&state, &version)
	if err != nil {
		return "", 0, fmt.Errorf("state of order %s: %w", order, err)
	}
	return state, version, nil
}

// LateResults counts the results of an order that came too late.
func (s *Stage) LateResults(ctx context.Context, order string) (n int, err error) {
	return s.count(ctx, `
		select count(*)
		from audit_events
		where action = 'late_result'
			and ($1 = '' or order_id::text = $1)`, order)
}

// Held counts the steps that an executor holds a lease of.
func (s *Stage) Held(ctx context.Context, executor string) (n int, err error) {
	return s.count(ctx, `
		select count(*)
		from workflow_steps
		where status = 'running'
			and lease_owner = $1`, executor)
}

// Abandoned counts the attempts without a result of an executor, or of anybody if it is empty.
func (s *Stage) Abandoned(ctx context.Context, executor string) (n int, err error) {
	return s.count(ctx, `
		select count(*)
		from step_attempts
		where recorded_at is null
			and ($1 = '' or executor = $1)`, executor)
}

func (s *Stage) count(ctx context.Context, sql, argument string) (n int, err error) {
	if err := s.pool.QueryRow(ctx, sql, argument).Scan(&n); err != nil {
		return 0, fmt.Errorf("count rows: %w", err)
	}
	return n, nil
}

// InWork is an order of which an executor has taken a step without recording its result; empty if
// there is none.
func (s *Stage) InWork(ctx context.Context, executor string) (order string, err error) {
	err = s.pool.QueryRow(ctx, `
		select coalesce(min(order_id::text), '')
		from step_attempts
		where recorded_at is null
			and executor = $1`, executor).Scan(&order)
	if err != nil {
		return "", fmt.Errorf("look for the work of %s: %w", executor, err)
	}
	return order, nil
}

// RestedOrder reports whether an order has no open step.
func (s *Stage) RestedOrder(ctx context.Context, order string) (rested bool, err error) {
	n, err := s.count(ctx, `
		select count(*)
		from workflow_steps
		where status in ('due', 'running')
			and order_id::text = $1`, order)
	return n == 0, err
}

// Lost counts the attempts that ended with their lease: without a result, although their step is
// in other hands or over.
func (s *Stage) Lost(ctx context.Context) (n int, err error) {
	err = s.pool.QueryRow(ctx, `
		select count(*)
		from step_attempts a
		join workflow_steps s
			on s.order_id = a.order_id
			and s.step_no = a.step_no
		where a.recorded_at is null
			and (s.status <> 'running' or s.attempts > a.attempt_no)`).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count lost attempts: %w", err)
	}
	return n, nil
}
