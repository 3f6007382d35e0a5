package invariant

import "slices"

// All returns the invariants in the order of their ids, also those that have no check yet: their
// Needs say what evidence would decide them. The result is the caller's.
func All() []Invariant {
	return []Invariant{
		singleCharge, cancelledUnpaid, auditedRelease, historyPath, noReleaseBesideCharge,
		paidMeansCharged, noBlindCharge, fencedResults, workWithinLease, outboxComplete,
		stockAdds, moneyAdds, oneAnswerPerKey, linearizable, comesToRest, nothingForgotten,
		operatorAudit, cleanShutdown,
	}
}

// Implemented returns the invariants that have a check, in the order of their ids.
func Implemented() []Invariant {
	return slices.DeleteFunc(All(), func(i Invariant) bool { return i.Check == nil })
}

// Lookup returns the invariant of an id.
func Lookup(id string) (i Invariant, ok bool) {
	for _, i := range All() {
		if i.ID == id {
			return i, true
		}
	}
	return Invariant{}, false
}

// The invariants that this evidence cannot decide.
var (
	linearizable = Invariant{
		ID:    "INV-14",
		Title: "Answers agree with one order of events",
		Text: "REST responses agree with a sequential model of the order; versions never go back " +
			"for a client.",
		Needs: []string{"client history", "sequential model"},
	}
	cleanShutdown = Invariant{
		ID:    "INV-18",
		Title: "Shutdown leaves nothing behind",
		Text:  "No goroutine, connection or lease is left after shutdown.",
		Needs: []string{"process ends", "leases", "connections"},
	}
)
