package store

import (
	"context"
	"fmt"
	"time"
)

const flagUnknownVersions = `-- name: FlagUnknownVersions
insert into order_attention (order_id, reason, step_no, state, since)
select s.order_id, 'unknown_process_version', s.step_no, '', now()
from workflow_steps s
where s.status = 'due'
    and s.due_at <= now() - $2::interval
    and s.process_version <> all ($1)
order by s.due_at, s.order_id, s.step_no
limit $3
on conflict do nothing`

// FlagUnknownVersions raises attention on steps that stayed due for longer than patience and whose
// process version is none of the given ones (ORD-2). A take clears it.
func (s *Store) FlagUnknownVersions(
	ctx context.Context, versions []int16, patience time.Duration, limit int,
) (flagged int, err error) {
	done, err := s.work.Exec(ctx, flagUnknownVersions, versions, patience, limit)
	if err != nil {
		return 0, fmt.Errorf("flag unknown process versions: %w", err)
	}
	return int(done.RowsAffected()), nil
}
