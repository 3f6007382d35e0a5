package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"ordeal/service/order"
)

// An order that is not closed has a step that is due or running, or a reason for attention, so
// those two small indexes find them all however many closed ones there are.
const countOpen = `-- name: CountOpen
with watched as (
    select order_id
    from workflow_steps
    where status in ('due', 'running')
    union
    select order_id
    from order_attention
),
standing as (
    select
        o.state,
        coalesce(o.reason, '') as reason,
        coalesce(s.kind, '') as next,
        now() - h.at as age,
        coalesce(s.attempts, 0) as attempts
    from watched w
    join orders o on o.order_id = w.order_id
    join order_history h
        on h.order_id = o.order_id
        and h.version = o.version
    left join lateral (
        select
            x.kind,
            x.attempts - x.unsent as attempts
        from workflow_steps x
        where x.order_id = o.order_id
            and x.status in ('due', 'running')
        order by x.due_at, x.step_no
        limit 1
    ) s on true
    where o.closed_at is null
)
select
    s.state,
    s.reason,
    s.next,
    count(*),
    max(s.age),
    max(s.attempts),
    count(*) filter (where s.age > e.after)
from standing s
left join unnest($1::text[], $2::interval[]) as e (state, after) on e.state = s.state
group by s.state, s.reason, s.next
order by s.state, s.reason, s.next`

// CountOpen counts the orders that are not closed, by state, reason and next step.
func (s *Store) CountOpen(ctx context.Context) ([]order.Backlog, error) {
	var states []string
	var after []time.Duration
	for _, info := range order.States {
		states = append(states, string(info.State))
		after = append(after, info.Escalates)
	}
	rows, err := s.work.Query(ctx, countOpen, states, after)
	if err != nil {
		return nil, fmt.Errorf("count open orders: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (b order.Backlog, err error) {
		err = row.Scan(&b.State, &b.Reason, &b.Next, &b.Orders, &b.Oldest, &b.Attempts,
			&b.Escalated)
		return b, err
	})
	if err != nil {
		return nil, fmt.Errorf("count open orders: %w", err)
	}
	return found, nil
}

// It reads nothing but an index of closed orders by state.
const countClosed = `-- name: CountClosed
select
    state,
    count(*)
from orders
where closed_at is not null
group by state
order by state`

// CountClosed counts the closed orders by state.
func (s *Store) CountClosed(ctx context.Context) ([]order.Closed, error) {
	rows, err := s.work.Query(ctx, countClosed)
	if err != nil {
		return nil, fmt.Errorf("count closed orders: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c order.Closed, err error) {
		err = row.Scan(&c.State, &c.Orders)
		return c, err
	})
	if err != nil {
		return nil, fmt.Errorf("count closed orders: %w", err)
	}
	return found, nil
}

const countFlagged = `-- name: CountFlagged
select
    reason,
    count(distinct order_id),
    now() - min(since)
from order_attention
group by reason
order by reason`

// CountFlagged counts the orders with each reason for attention.
func (s *Store) CountFlagged(ctx context.Context) ([]order.Flagged, error) {
	rows, err := s.work.Query(ctx, countFlagged)
	if err != nil {
		return nil, fmt.Errorf("count orders with attention: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (f order.Flagged, err error) {
		err = row.Scan(&f.Reason, &f.Orders, &f.Oldest)
		return f, err
	})
	if err != nil {
		return nil, fmt.Errorf("count orders with attention: %w", err)
	}
	return found, nil
}

const countDiscrepancies = `-- name: CountDiscrepancies
select
    kind,
    count(*)
from discrepancies
where resolved_at is null
group by kind
order by kind`

// CountDiscrepancies counts the discrepancies that nobody has resolved.
func (s *Store) CountDiscrepancies(ctx context.Context) ([]order.Discrepant, error) {
	rows, err := s.work.Query(ctx, countDiscrepancies)
	if err != nil {
		return nil, fmt.Errorf("count discrepancies: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d order.Discrepant, err error) {
		err = row.Scan(&d.Kind, &d.Open)
		return d, err
	})
	if err != nil {
		return nil, fmt.Errorf("count discrepancies: %w", err)
	}
	return found, nil
}

// The count stops at a bound, so that an outage of the broker cannot make it slow.
const measureOutbox = `-- name: MeasureOutbox
select
    count(*),
    count(*) filter (where parked_at is not null),
    coalesce(now() - min(created_at), interval '0')
from (
    select
        created_at,
        parked_at
    from outbox
    where published_at is null
    order by created_at
    limit 100000
) u`

// MeasureOutbox tells how many events are not published, and since when.
func (s *Store) MeasureOutbox(ctx context.Context) (u order.Unpublished, err error) {
	err = s.work.QueryRow(ctx, measureOutbox).Scan(&u.Events, &u.Parked, &u.Oldest)
	if err != nil {
		return order.Unpublished{}, fmt.Errorf("measure outbox: %w", err)
	}
	return u, nil
}
