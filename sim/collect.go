package sim

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"ordeal/reports"
	"ordeal/scenarios/evidence"
	"ordeal/scenarios/evidence/rows"
	"ordeal/sim/engine"
	"ordeal/sim/imitation"
)

// collect reads what the run left behind. AtRest says that it had all the time it may have.
func (r *rig) collect(ctx context.Context, atRest bool) (*evidence.Run, error) {
	run := &evidence.Run{
		Payment:   entries(r.payment.Ledger()),
		Warehouse: entries(r.warehouse.Ledger()),
		Shipping:  entries(r.shipping.Ledger()),
		Client:    r.customers.history(),
		Processes: r.processes,
		AtRest:    atRest,
		Horizon:   r.world.DatabaseTime(r.end),
	}
	for _, s := range r.warehouse.Stock() {
		run.Stock = append(run.Stock, evidence.StockLine(s))
	}
	run.Calls = r.calls.history(map[string][]evidence.Entry{
		evidence.PartyPayment:   run.Payment,
		evidence.PartyWarehouse: run.Warehouse,
		evidence.PartyShipping:  run.Shipping,
	})
	var b pgx.Batch
	rows.Queue(&b, run)
	if err := r.conn.SendBatch(ctx, &b).Close(); err != nil {
		return nil, fmt.Errorf("collect evidence: %w", err)
	}
	run.Index()
	return run, nil
}

// entries copies a provider's ledger.
func entries(ledger []imitation.Entry) []evidence.Entry {
	var all []evidence.Entry
	for _, e := range ledger {
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
	return all
}

// costs counts what the process of an order cost the database. It is exact where the run had one
// order, else the statements that did something are shared out evenly.
func (r *rig) costs(run *evidence.Run) []reports.OrderCost {
	var all []reports.OrderCost
	for _, o := range run.Orders {
		n := r.touched / len(run.Orders)
		all = append(all, reports.OrderCost{Order: o.ID, Statements: n, RoundTrips: n})
	}
	return all
}

// idle are the statements that look for work; they count where they found some.
var idle = []string{"TakeSteps", "ExpiredSteps", "RenewLeases", "ExpireReservations"}

// didSomething reports whether a performed statement belongs to the process of an order: not a
// read, and not a poll that found nothing.
func didSomething(e engine.Event) bool {
	for _, name := range idle {
		if e.Name == name {
			return e.Result != "SELECT 0" && e.Result != "-" && e.Name != "ExpiredSteps"
		}
	}
	return strings.Contains(e.Name, "CreateOrder") || strings.Contains(e.Name, "CancelOrder") ||
		e.Name == "RecordResults"
}
