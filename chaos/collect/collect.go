// Package collect reads what a run of real processes left behind, from outside: the rows of the
// database by SQL, the ledgers of the providers over HTTP. Calls and exchanges are brought by
// whoever witnessed them. The result is the evidence that the invariants judge.
package collect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"ordeal/scenarios/evidence"
	"ordeal/scenarios/evidence/rows"
	"ordeal/sim/imitation"
)

// Sources are where evidence is found.
type Sources struct {
	// Database is the URL of the orders database.
	Database string
	// Providers are the base URLs of the providers by party.
	Providers map[string]string
	// Calls were seen leaving processes, Client was seen by customers, Processes were started.
	Calls     []evidence.Call
	Client    []evidence.Exchange
	Processes []evidence.Process
	// Lease is how long executors held a step.
	Lease time.Duration
	// AtRest says that the run had all the time it may have.
	AtRest bool
}

// Run collects the evidence of a run in which nothing moves any more.
func Run(ctx context.Context, s Sources) (*evidence.Run, error) {
	run := &evidence.Run{
		Client:    s.Client,
		Processes: s.Processes,
		Lease:     s.Lease,
		AtRest:    s.AtRest,
		Horizon:   time.Now().UTC().Truncate(time.Microsecond),
	}
	if err := readRows(ctx, s.Database, run); err != nil {
		return nil, fmt.Errorf("collect rows: %w", err)
	}
	for party, into := range map[string]*[]evidence.Entry{
		evidence.PartyPayment:   &run.Payment,
		evidence.PartyWarehouse: &run.Warehouse,
		evidence.PartyShipping:  &run.Shipping,
	} {
		var err error
		if *into, err = ledger(ctx, s.Providers[party]); err != nil {
			return nil, fmt.Errorf("collect ledger of %s: %w", party, err)
		}
	}
	var stock []imitation.StockLine
	if err := get(ctx, s.Providers[evidence.PartyWarehouse]+"/v1/stock", &stock); err != nil {
		return nil, fmt.Errorf("collect stock: %w", err)
	}
	for _, line := range stock {
		run.Stock = append(run.Stock, evidence.StockLine(line))
	}
	run.Calls = joined(s.Calls, map[string][]evidence.Entry{
		evidence.PartyPayment:   run.Payment,
		evidence.PartyWarehouse: run.Warehouse,
		evidence.PartyShipping:  run.Shipping,
	})
	run.Index()
	return run, nil
}

// readRows reads the rows in one snapshot, over a connection of its own.
func readRows(ctx context.Context, url string, run *evidence.Run) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	var b pgx.Batch
	b.Queue("begin isolation level repeatable read read only")
	rows.Queue(&b, run)
	b.Queue("commit")
	return errors.Join(conn.SendBatch(ctx, &b).Close(), conn.Close(ctx))
}

// get reads a JSON answer.
func get(ctx context.Context, url string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", url, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(into)
}

// ledger reads a provider's ledger.
func ledger(ctx context.Context, url string) ([]evidence.Entry, error) {
	var entries []imitation.Entry
	if err := get(ctx, url+"/v1/ledger", &entries); err != nil {
		return nil, err
	}
	var all []evidence.Entry
	for _, e := range entries {
		all = append(all, evidence.Entry{
			Seq:       e.Seq,
			At:        e.At,
			Origin:    string(e.Origin),
			Operation: string(e.Operation),
			Key:       e.Key,
			TargetKey: e.TargetKey,
			Order:     e.OrderID,
			Step:      e.Step,
			Attempt:   e.Attempt,
			Delivery:  e.Delivery,
			Amount:    e.Amount,
			Currency:  e.Currency,
			Reference: e.Reference,
			Outcome:   string(e.Outcome),
			Code:      e.Code,
			Before:    string(e.Before),
			After:     string(e.After),
			Effect:    e.Effect,
		})
	}
	return all, nil
}

// delivery identifies the entry that a call made in its provider's ledger.
type delivery struct {
	party, operation, order string
	step, attempt           int
}

// joined numbers the calls in the order in which they left, and joins each with the entry of its
// delivery. What was not delivered never will be: the run is over.
func joined(calls []evidence.Call, ledgers map[string][]evidence.Entry) []evidence.Call {
	entries := map[delivery]evidence.Entry{}
	for party, ledger := range ledgers {
		for _, e := range ledger {
			key := delivery{party, e.Operation, e.Order, e.Step, e.Attempt}
			_, known := entries[key]
			if e.Origin == string(imitation.FromCall) && e.Delivery <= 1 && !known {
				entries[key] = e
			}
		}
	}
	calls = slices.Clone(calls)
	slices.SortStableFunc(calls, func(a, b evidence.Call) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Process, b.Process),
			cmp.Compare(a.Order, b.Order), cmp.Compare(a.Step, b.Step),
			cmp.Compare(a.Attempt, b.Attempt))
	})
	for i := range calls {
		c := &calls[i]
		c.Seq, c.Lost = i+1, true
		if e, ok := entries[delivery{c.Party, c.Operation, c.Order, c.Step, c.Attempt}]; ok {
			c.Delivered, c.DeliveredAt, c.Effect, c.Lost = true, e.At, e.Effect, false
		}
	}
	return calls
}
