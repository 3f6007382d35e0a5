package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"ordeal/service/order"
)

// AuditRow is a row of the audit trail of an order.
type AuditRow struct {
	At                                         time.Time
	ActorType, ActorID, Action, Result, Reason string
	// StepNo and Attempt are zero where the row is about neither.
	StepNo, Attempt int
}

const auditRefusal = `-- name: AuditRefusal
insert into audit_events (order_id, audit_key, at, actor_type, actor_id, action, result)
values ($1, 'refused.' || $2, now(), $3, $4, $5, $6)
on conflict do nothing`

// AuditRefusal writes the audit row of an operator's request that was refused before any order
// was looked at, or that found none. RequestID makes the row unique (API-5).
func (s *Store) AuditRefusal(
	ctx context.Context, id order.ID, actorType, actorID, action, result, requestID string,
) error {
	_, err := s.work.Exec(ctx, auditRefusal, id, requestID, actorType, actorID, action, result)
	if err != nil {
		return fmt.Errorf("audit refused %s of order %s: %w", action, id, err)
	}
	return nil
}

const listAudit = `-- name: ListAudit
select
    a.at,
    a.actor_type,
    a.actor_id,
    a.action,
    a.result,
    coalesce(a.reason, ''),
    coalesce(a.step_no, 0),
    coalesce(a.attempt_no, 0)
from audit_events a
join orders o on o.order_id = a.order_id
where a.order_id = $1
order by a.at, a.audit_key`

// ListAudit returns the audit trail of an order, oldest first; found is false when there is no
// such order.
func (s *Store) ListAudit(
	ctx context.Context, id order.ID,
) (rows []AuditRow, found bool, err error) {
	var b pgx.Batch
	b.Queue(`-- name: OrderExists
select true
from orders
where order_id = $1`, id).QueryRow(func(row pgx.Row) error {
		err := row.Scan(&found)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	b.Queue(listAudit, id).Query(func(r pgx.Rows) (err error) {
		rows, err = pgx.CollectRows(r, func(row pgx.CollectableRow) (a AuditRow, err error) {
			err = row.Scan(&a.At, &a.ActorType, &a.ActorID, &a.Action, &a.Result, &a.Reason,
				&a.StepNo, &a.Attempt)
			return a, err
		})
		return err
	})
	if err := s.batch(ctx, &b); err != nil {
		return nil, false, fmt.Errorf("list audit of order %s: %w", id, err)
	}
	return rows, found, nil
}
