package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jonboulle/clockwork"
)

// bank is the example service: an API that accepts transfers, and workers that take them by
// lease, ask a notary for leave over HTTP, and move the money. It is written as production code
// would be and knows nothing of the simulation.
type bank struct {
	name   string
	pool   *pgxpool.Pool
	notary *http.Client
	clock  clockwork.Clock
	jitter *rand.Rand

	// lostUpdate plants a bug: balances are read in one statement and written in another.
	lostUpdate bool
}

const bankSchema = `
create table account (
	name text primary key,
	balance bigint not null
);
create table transfer (
	id text primary key,
	source text not null,
	target text not null,
	amount bigint not null,
	state text not null default 'due',
	generation int not null default 0,
	attempts int not null default 0,
	owner text,
	lease timestamptz,
	due timestamptz not null default now(),
	created timestamptz not null default now()
);
`

// Times of the bank.
const (
	lease         = 30 * time.Second
	renewal       = 10 * time.Second
	sqlTimeout    = 3 * time.Second
	notaryTimeout = 3 * time.Second
	batch         = 5
)

type transfer struct {
	ID             string `json:"id"`
	Source, Target string
	Amount         int64
	generation     int
}

// handler serves the API.
func (b *bank) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /transfers", func(rw http.ResponseWriter, req *http.Request) {
		var t transfer
		if err := json.NewDecoder(req.Body).Decode(&t); err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		ctx, cancel := context.WithTimeout(req.Context(), sqlTimeout)
		defer cancel()
		_, err := b.pool.Exec(ctx, `-- name: CreateTransfer
			insert into transfer (id, source, target, amount)
			values ($1, $2, $3, $4)
			on conflict do nothing`, t.ID, t.Source, t.Target, t.Amount)
		if err != nil {
			http.Error(rw, "try again", http.StatusServiceUnavailable)
			return
		}
		rw.WriteHeader(http.StatusCreated)
	})
	return mux
}

// work takes and moves transfers until ctx ends.
func (b *bank) work(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		taken, err := b.take(ctx)
		if err == nil {
			for _, t := range taken {
				wg.Go(func() { b.move(ctx, t) })
			}
		}
		pause := time.Second + time.Duration(b.jitter.Int64N(int64(200*time.Millisecond)))
		select {
		case <-ctx.Done():
			return nil
		case <-b.clock.After(pause):
		}
	}
}

func (b *bank) take(ctx context.Context) ([]transfer, error) {
	ctx, cancel := context.WithTimeout(ctx, sqlTimeout)
	defer cancel()
	rows, err := b.pool.Query(ctx, `-- name: Take
		with taken as (
			update transfer
			set owner = $1,
				lease = now() + $2,
				generation = generation + 1,
				attempts = attempts + 1
			where id in (
				select id
				from transfer
				where state = 'due'
					and due <= now()
					and (lease is null or lease < now())
				order by id
				limit $3
				for update skip locked)
			returning id, source, target, amount, generation)
		select id, source, target, amount, generation
		from taken
		order by id`, b.name, lease, batch)
	if err != nil {
		return nil, fmt.Errorf("take: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (t transfer, err error) {
		err = row.Scan(&t.ID, &t.Source, &t.Target, &t.Amount, &t.generation)
		return t, err
	})
}

// errLost says that the lease went to someone else.
var errLost = errors.New("lease lost")

// move works on one transfer while a goroutine renews its lease.
func (b *bank) move(ctx context.Context, t transfer) {
	ctx, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { b.renew(ctx, t, cancel) })
	defer wg.Wait()
	defer cancel(nil)
	allowed, err := b.ask(ctx, t)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		b.finish(ctx, t, "due")
	case !allowed:
		b.finish(ctx, t, "refused")
	case b.lostUpdate:
		b.payCarelessly(ctx, t)
	default:
		b.pay(ctx, t)
	}
}

func (b *bank) renew(ctx context.Context, t transfer, lost context.CancelCauseFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.clock.After(renewal):
		}
		n, err := b.exec(ctx, `-- name: Renew
			update transfer
			set lease = now() + $3
			where id = $1
				and generation = $2
				and state = 'due'`, t.ID, t.generation, lease)
		if err == nil && n == 0 {
			lost(errLost)
			return
		}
	}
}

// ask calls the notary.
func (b *bank) ask(ctx context.Context, t transfer) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, notaryTimeout)
	defer cancel()
	body, _ := json.Marshal(t)
	req, err := http.NewRequestWithContext(ctx, "POST", "http://notary/deeds",
		bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	req.Header.Set("Idempotency-Key", t.ID)
	resp, err := b.notary.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		return true, nil
	case http.StatusConflict:
		return false, nil
	}
	return false, errors.New("notary: status " + strconv.Itoa(resp.StatusCode))
}

func (b *bank) exec(ctx context.Context, sql string, args ...any) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, sqlTimeout)
	defer cancel()
	tag, err := b.pool.Exec(ctx, sql, args...)
	return tag.RowsAffected(), err
}

// finish ends an attempt without moving money.
func (b *bank) finish(ctx context.Context, t transfer, state string) {
	b.exec(ctx, `-- name: Finish
		update transfer
		set state = $3,
			owner = null,
			lease = null,
			due = now() + attempts * interval '1 second'
		where id = $1
			and generation = $2
			and state = 'due'`, t.ID, t.generation, state)
}

// pay moves the money in one statement, guarded by the generation.
func (b *bank) pay(ctx context.Context, t transfer) {
	b.exec(ctx, `-- name: Pay
		with done as (
			update transfer
			set state = 'done',
				owner = null,
				lease = null
			where id = $1
				and generation = $2
				and state = 'due'
			returning source, target, amount)
		update account
		set balance = balance
			+ case when name = done.target then done.amount else 0 end
			- case when name = done.source then done.amount else 0 end
		from done
		where name in (done.source, done.target)`, t.ID, t.generation)
}

// payCarelessly is the planted bug.
func (b *bank) payCarelessly(ctx context.Context, t transfer) {
	for _, side := range []struct {
		name  string
		delta int64
	}{{t.Source, -t.Amount}, {t.Target, t.Amount}} {
		var balance int64
		err := b.pool.QueryRow(ctx, `-- name: ReadBalance
			select balance
			from account
			where name = $1`, side.name).Scan(&balance)
		if err != nil {
			return
		}
		b.exec(ctx, `-- name: WriteBalance
			update account
			set balance = $2
			where name = $1`, side.name, balance+side.delta)
	}
	b.finish(ctx, t, "done")
}
