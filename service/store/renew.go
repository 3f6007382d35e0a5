package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"ordeal/service/order"
)

const renewLeases = `-- name: RenewLeases
with mine as (
    select s.order_id, s.step_no
    from unnest($1::uuid[], $2::smallint[], $3::integer[]) as r (order_id, step_no, generation)
    join workflow_steps s
        on s.order_id = r.order_id
        and s.step_no = r.step_no
        and s.generation = r.generation
        and s.lease_owner = $4
        and s.status = 'running'
    order by s.order_id, s.step_no
    for update of s
),
renewed as (
    update workflow_steps s
    set lease_expires_at = now() + $5::interval
    from mine m
    where s.order_id = m.order_id
        and s.step_no = m.step_no
    returning s.order_id, s.step_no, s.generation
)
select order_id, step_no, generation
from renewed
order by order_id, step_no`

// RenewLeases extends the leases of the given takes, all of one owner, and returns those that
// are still held. A take that is missing from the answer has lost its lease.
func (s *Store) RenewLeases(
	ctx context.Context, owner string, held []order.StepRef, lease time.Duration,
) ([]order.StepRef, error) {
	ids, steps := make([]order.ID, len(held)), make([]int16, len(held))
	generations := make([]int32, len(held))
	for i, h := range held {
		ids[i], steps[i], generations[i] = h.OrderID, int16(h.StepNo), int32(h.Generation)
	}
	rows, err := s.leases.Query(ctx, renewLeases, ids, steps, generations, owner, lease)
	if err != nil {
		return nil, fmt.Errorf("renew %d leases of %s: %w", len(held), owner, err)
	}
	// An executor may hold a step twice: an older take that it has lost, and the newest.
	at := order.StepRef{Owner: owner}
	kept := make(map[order.StepRef]bool, len(held))
	_, err = pgx.ForEachRow(rows, []any{&at.OrderID, &at.StepNo, &at.Generation}, func() error {
		kept[at] = true
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("renew %d leases of %s: %w", len(held), owner, err)
	}
	var still []order.StepRef
	for _, h := range held {
		if kept[h] {
			still = append(still, h)
		}
	}
	return still, nil
}
