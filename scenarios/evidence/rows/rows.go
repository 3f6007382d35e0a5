// Package rows reads the database's part of the evidence. It names tables and columns of the schema
// and imports nothing of the service: simulation and chaos read the same rows by the same queries.
package rows

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"ordeal/scenarios/evidence"
)

// Queue queues the queries that fill in the slices of a run that are rows of the database, for one
// round trip. Where others may write meanwhile, the batch needs a snapshot of the caller's.
func Queue(b *pgx.Batch, run *evidence.Run) {
	readOrders(b, run)
	readSteps(b, run)
	readAttempts(b, run)
	readHistory(b, run)
	readAudit(b, run)
	readOutbox(b, run)
	readAttention(b, run)
	readRefunds(b, run)
}

// rowsInto queues a query whose rows become evidence.
func rowsInto[T any](b *pgx.Batch, into *[]T, sql string, scan func(pgx.CollectableRow, *T) error) {
	b.Queue(sql).Query(func(rows pgx.Rows) error {
		all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t T, err error) {
			err = scan(row, &t)
			return t, err
		})
		*into = all
		return err
	})
}

// orZero is a time that may be missing in the database; then it is the zero time.
func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

func readOrders(b *pgx.Batch, run *evidence.Run) {
	rowsInto(b, &run.Orders, `
		select order_id::text, customer, process_version, state, version, items, total, currency,
			coalesce(reason, ''), compensation, coalesce(release_end, ''),
			coalesce(reservation_ref, ''), coalesce(payment_ref, ''), coalesce(shipment_ref, ''),
			reservation_deadline, coalesce(cancel_status, ''), cancel_requested_at,
			created_at, updated_at,
			case when state in ('shipping_failed', 'release_failed') then closed_at end
		from orders
		order by order_id`,
		func(row pgx.CollectableRow, o *evidence.Order) error {
			var items []byte
			var deadline, requested, closed *time.Time
			err := row.Scan(&o.ID, &o.Customer, &o.ProcessVersion, &o.State, &o.Version, &items,
				&o.Total, &o.Currency, &o.Reason, &o.Compensation, &o.ReleaseEnd,
				&o.ReservationRef, &o.PaymentRef, &o.ShipmentRef, &deadline, &o.CancelStatus,
				&requested, &o.CreatedAt, &o.UpdatedAt, &closed)
			if err != nil {
				return err
			}
			o.Deadline = orZero(deadline)
			o.CancelRequestedAt = orZero(requested)
			o.ClosedAt = orZero(closed)
			o.CreatedAt, o.UpdatedAt = o.CreatedAt.UTC(), o.UpdatedAt.UTC()
			return readItems(items, o)
		})
}

func readItems(text []byte, o *evidence.Order) error {
	var items []struct {
		SKU       string `json:"sku"`
		Quantity  int64  `json:"quantity"`
		UnitPrice int64  `json:"unit_price"`
	}
	if err := json.Unmarshal(text, &items); err != nil {
		return fmt.Errorf("items of order %s: %w", o.ID, err)
	}
	for _, i := range items {
		o.Items = append(o.Items, evidence.Item{
			SKU: i.SKU, Quantity: i.Quantity, UnitPrice: i.UnitPrice,
		})
	}
	return nil
}

func readSteps(b *pgx.Batch, run *evidence.Run) {
	rowsInto(b, &run.Steps, `
		select order_id::text, step_no, kind, status, sequence, series, generation, attempts,
			unsent, due_at, coalesce(lease_owner, ''), lease_expires_at,
			coalesce(provider_key, ''), coalesce(target_key, ''), created_at, ended_at
		from workflow_steps
		order by order_id, step_no`,
		func(row pgx.CollectableRow, s *evidence.Step) error {
			var expires, ended *time.Time
			err := row.Scan(&s.Order, &s.No, &s.Kind, &s.Status, &s.Sequence, &s.Series,
				&s.Generation, &s.Taken, &s.Unsent, &s.DueAt, &s.LeaseOwner, &expires, &s.Key,
				&s.TargetKey, &s.CreatedAt, &ended)
			s.LeaseExpiresAt = orZero(expires)
			s.EndedAt = orZero(ended)
			s.DueAt, s.CreatedAt = s.DueAt.UTC(), s.CreatedAt.UTC()
			return err
		})
}

func readAttempts(b *pgx.Batch, run *evidence.Run) {
	rowsInto(b, &run.Attempts, `
		select order_id::text, step_no, attempt_no, generation, executor, taken_at, recorded_at,
			coalesce(outcome, ''), coalesce(sent, false), coalesce(code, ''),
			coalesce(reference, '')
		from step_attempts
		order by order_id, step_no, attempt_no`,
		func(row pgx.CollectableRow, a *evidence.Attempt) error {
			var recorded *time.Time
			err := row.Scan(&a.Order, &a.Step, &a.No, &a.Generation, &a.Executor, &a.TakenAt,
				&recorded, &a.Outcome, &a.Sent, &a.Code, &a.Reference)
			a.RecordedAt = orZero(recorded)
			a.TakenAt = a.TakenAt.UTC()
			return err
		})
}

func readHistory(b *pgx.Batch, run *evidence.Run) {
	rowsInto(b, &run.History, `
		select order_id::text, version, from_state, to_state, event, coalesce(reason, ''),
			coalesce(step_no, 0), coalesce(attempt_no, 0), at
		from order_history
		order by order_id, version`,
		func(row pgx.CollectableRow, c *evidence.Change) error {
			err := row.Scan(&c.Order, &c.Version, &c.From, &c.To, &c.Event, &c.Reason, &c.Step,
				&c.Attempt, &c.At)
			c.At = c.At.UTC()
			return err
		})
}

func readAudit(b *pgx.Batch, run *evidence.Run) {
	rowsInto(b, &run.Audit, `
		select order_id::text, audit_key, at, actor_type, actor_id, action, result,
			coalesce(reason, ''), coalesce(step_no, 0), coalesce(attempt_no, 0)
		from audit_events
		order by order_id, at, audit_key`,
		func(row pgx.CollectableRow, a *evidence.Audit) error {
			err := row.Scan(&a.Order, &a.Key, &a.At, &a.ActorType, &a.ActorID, &a.Action,
				&a.Result, &a.Reason, &a.Step, &a.Attempt)
			a.At = a.At.UTC()
			return err
		})
}

func readOutbox(b *pgx.Batch, run *evidence.Run) {
	rowsInto(b, &run.Outbox, `
		select order_id::text, sequence, event_id::text, type, trace_id, created_at,
			published_at, parked_at, tries
		from outbox
		order by order_id, sequence`,
		func(row pgx.CollectableRow, e *evidence.Event) error {
			var published, parked *time.Time
			err := row.Scan(&e.Order, &e.Sequence, &e.EventID, &e.Type, &e.TraceID,
				&e.CreatedAt, &published, &parked, &e.Tries)
			e.PublishedAt = orZero(published)
			e.ParkedAt = orZero(parked)
			e.CreatedAt = e.CreatedAt.UTC()
			return err
		})
}

func readAttention(b *pgx.Batch, run *evidence.Run) {
	rowsInto(b, &run.Attention, `
		select order_id::text, reason, step_no, since
		from order_attention
		order by order_id, reason, step_no`,
		func(row pgx.CollectableRow, a *evidence.Attention) error {
			err := row.Scan(&a.Order, &a.Reason, &a.Step, &a.Since)
			a.Since = a.Since.UTC()
			return err
		})
}

func readRefunds(b *pgx.Batch, run *evidence.Run) {
	rowsInto(b, &run.Refunds, `
		select order_id::text, refund_no, state, version, amount, currency,
			coalesce(reference, '')
		from refunds
		order by order_id, refund_no`,
		func(row pgx.CollectableRow, f *evidence.Refund) error {
			return row.Scan(&f.Order, &f.No, &f.State, &f.Version, &f.Amount, &f.Currency,
				&f.Reference)
		})
}
