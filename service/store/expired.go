package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ordeal/service/order"
)

const expiredSteps = `-- name: ExpiredSteps
select distinct on (order_id)
    order_id,
    step_no,
    generation,
    lease_owner,
    kind,
    attempts,
    attempts - unsent,
    series
from (
    select *
    from workflow_steps
    where status = 'running'
        and lease_expires_at <= now()
        and process_version = any ($1)
    order by lease_expires_at, order_id, step_no
    limit $2
) s
order by order_id, step_no`

// ExpiredSteps lists steps whose lease has run out, at most one per order. It locks nothing: what
// follows is recorded by RecordResults as Lost, guarded by the same take.
func (s *Store) ExpiredSteps(
	ctx context.Context, versions []int16, limit int,
) ([]order.ExpiredStep, error) {
	rows, err := s.work.Query(ctx, expiredSteps, versions, limit)
	if err != nil {
		return nil, fmt.Errorf("list expired steps: %w", err)
	}
	expired, err := pgx.CollectRows(rows, scanExpired)
	if err != nil {
		return nil, fmt.Errorf("list expired steps: %w", err)
	}
	return expired, nil
}

func scanExpired(row pgx.CollectableRow) (e order.ExpiredStep, err error) {
	err = row.Scan(&e.Ref.OrderID, &e.Ref.StepNo, &e.Ref.Generation, &e.Ref.Owner, &e.Kind,
		&e.Attempt, &e.Counted, &e.Series)
	return e, err
}
