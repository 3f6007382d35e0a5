package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/pressly/goose/v3/lock"
)

// lockPoll is how often the lock is asked for.
const lockPoll = 200 * time.Millisecond

// BusyError reports that another session held the migration lock all the time.
type BusyError struct {
	// Wait is how long it was waited for.
	Wait time.Duration
	// PID and Application tell the session that holds it; PID is 0 when it ended just now.
	PID         int
	Application string
	// Since is when that session began.
	Since time.Time
}

func (e *BusyError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("another session held the migration lock for %s and ended just now: "+
			"try again", e.Wait)
	}
	return fmt.Sprintf("another session has held the migration lock for %s: pid %d, "+
		"application %q, connected since %s; if it is stuck, end it with "+
		"select pg_terminate_backend(%d)", e.Wait, e.PID, e.Application,
		e.Since.Format(time.RFC3339), e.PID)
}

// sessionLock is goose's advisory lock, with a bound on the wait and a name for who has it.
type sessionLock struct{ wait time.Duration }

// SessionLock implements goose's lock.SessionLocker.
func (l sessionLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	deadline := time.Now().Add(l.wait)
	for {
		var locked bool
		err := conn.QueryRowContext(ctx, "select pg_try_advisory_lock($1)", lock.DefaultLockID).
			Scan(&locked)
		if err != nil {
			return fmt.Errorf("ask for the migration lock: %w", err)
		}
		if locked {
			return nil
		}
		if time.Now().After(deadline) {
			return l.holder(ctx, conn)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the migration lock: %w", ctx.Err())
		case <-time.After(lockPoll):
		}
	}
}

const lockHolder = `-- name: MigrationLockHolder
select
    a.pid,
    a.application_name,
    coalesce(a.backend_start, now())
from pg_locks l
join pg_stat_activity a on a.pid = l.pid
where l.locktype = 'advisory'
    and l.granted
    and l.database = (select oid from pg_database where datname = current_database())
    and ((l.classid::bigint << 32) | l.objid::bigint) = $1`

// holder is the error that names who holds the lock.
func (l sessionLock) holder(ctx context.Context, conn *sql.Conn) error {
	e := &BusyError{Wait: l.wait}
	err := conn.QueryRowContext(ctx, lockHolder, lock.DefaultLockID).
		Scan(&e.PID, &e.Application, &e.Since)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("find who holds the migration lock: %w", err)
	}
	return e
}

// SessionUnlock implements goose's lock.SessionLocker.
func (sessionLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	var unlocked bool
	err := conn.QueryRowContext(ctx, "select pg_advisory_unlock($1)", lock.DefaultLockID).
		Scan(&unlocked)
	if err != nil {
		return fmt.Errorf("give the migration lock back: %w", err)
	}
	if !unlocked {
		return errors.New("the migration lock was lost")
	}
	return nil
}
