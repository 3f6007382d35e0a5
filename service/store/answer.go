package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ordeal/service/order"
)

// oneAnswer reads the status and the body of an answer; ok is false when there is no row.
func oneAnswer(rows pgx.Rows) (a Answer, ok bool, err error) {
	a, err = pgx.CollectOneRow(rows, func(row pgx.CollectableRow) (a Answer, err error) {
		err = row.Scan(&a.Status, &a.Body)
		return a, err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return Answer{}, false, nil
	}
	return a, err == nil, err
}

const findAnswer = `-- name: FindAnswer
select status, response, fingerprint
from idempotency_keys
where order_id = $1
    and caller = $2
    and route = $3
    and key = $4`

// FindAnswer returns the answer stored under a request's key for an order; ok is false when the
// key was not used yet.
func (s *Store) FindAnswer(
	ctx context.Context, id order.ID, r Request,
) (a Answer, ok bool, err error) {
	err = s.work.QueryRow(ctx, findAnswer, id, r.Caller, r.Route, r.Key).
		Scan(&a.Status, &a.Body, &a.Fingerprint)
	if errors.Is(err, pgx.ErrNoRows) {
		return Answer{}, false, nil
	}
	if err != nil {
		return Answer{}, false, fmt.Errorf("find answer of key for order %s: %w", id, err)
	}
	a.Replayed = true
	return a, true, nil
}
