package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ordeal/scenarios/invariant"
)

// patience is how long a healed run may take to come to rest: a reservation lives for 15 minutes,
// an unresolved charge is asked about until then, and a release takes its five attempts.
const patience = 20 * time.Minute

// judged are the ids of all invariants that can be judged: every scenario is held to all of them.
func judged() []string {
	var ids []string
	for _, i := range invariant.Implemented() {
		ids = append(ids, i.ID)
	}
	return ids
}

// All returns the catalogue in the order in which a sweep runs it. The result is the caller's.
func All() []Scenario {
	return []Scenario{
		happy(), oneOrder(), providerFaults(), twoExecutors(), crashes(), cancels(),
		cancelRaces(), unknownPayments(), reservationExpiry(), shippingFailures(), refunds(),
		operatorActions(), swarm(), outages(),
	}
}

// Names lists the names of all scenarios in the order of All.
func Names() []string {
	var names []string
	for _, s := range All() {
		names = append(names, s.Name)
	}
	return names
}

// Lookup returns the scenario of a name, or an error that lists the names there are.
func Lookup(name string) (Scenario, error) {
	all := All()
	at := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name })
	if at < 0 {
		return Scenario{}, fmt.Errorf("scenario %q is not one of %s",
			name, strings.Join(Names(), ", "))
	}
	return all[at], nil
}

func happy() Scenario {
	return Scenario{
		Name:  "happy",
		Title: "Nothing goes wrong",
		Goal: "Orders reach shipped by the shortest way, each with one reservation, one charge, " +
			"one shipment and one commit of stock, whatever the order of statements and calls.",
		Method: "Customers create a few orders at nearly the same time and repeat some creates. " +
			"Two executors compete for the steps. No fault is on: what fails here is the " +
			"service or the testbed itself.",
		Requirements: []string{"WF-001", "WF-002", "WF-005", "ORD-1", "ORD-3", "STEP-2", "STEP-3"},
		Invariants:   judged(),
		Workload: Workload{
			Orders:            Range{1, 3},
			Items:             Range{1, 3},
			Clients:           2,
			DuplicatePerMille: 200,
			Spacing:           Span{0, 500 * time.Millisecond},
		},
		Executors: 2,
		Limit:     patience,
	}
}

func providerFaults() Scenario {
	return Scenario{
		Name:  "provider-faults",
		Title: "Unreliable providers and network",
		Goal: "No answer, late answer or wrong answer of a provider leads to a second charge, to a " +
			"release beside a possible charge, or to an order that nobody looks after.",
		Method: "Requests and answers are lost, late, doubled or cut; providers refuse, postpone, " +
			"contradict themselves and break their own format. The run draws which of it is " +
			"on. Charges are hit hardest, so that unknown payments and releases are common.",
		Requirements: []string{"WF-003", "WF-004", "WF-006", "ORD-4", "ORD-6",
			"STEP-5", "STEP-8", "STEP-9", "STEP-10"},
		Invariants: judged(),
		Workload: Workload{
			Orders:            Range{1, 3},
			Items:             Range{1, 2},
			Clients:           2,
			DuplicatePerMille: 100,
			Spacing:           Span{0, 2 * time.Second},
		},
		Executors: 2,
		Faults: []Fault{
			{CallAnswerLost, 120},
			{CallRequestLost, 100},
			{CallLateArrival, 100},
			{CallDialFailed, 80},
			{CallReset, 80},
			{CallDuplicate, 80},
			{CallSlow, 100},
		},
		Swarm: true,
		Outcomes: []Outcome{
			{"charge", ProviderRefused, 200},
			{"charge", ProviderNotProcessed, 150},
			{"charge", ProviderPending, 120},
			{"charge", ProviderTransient, 100},
			{"charge", ProviderMalformed, 60},
			{"charge", ProviderWrongType, 60},
			{"charge", ProviderContradictory, 80},
			{"charge", ProviderPermanent, 40},
			{"status_charge", ProviderTransient, 150},
			{"status_charge", ProviderPending, 150},
			{"status_charge", ProviderMalformed, 60},
			{"status_charge", ProviderContradictory, 60},
			{"reserve", ProviderRefused, 60},
			{"reserve", ProviderTransient, 120},
			{"reserve", ProviderPending, 80},
			{"reserve", ProviderPermanent, 30},
			{"release", ProviderTransient, 250},
			{"release", ProviderRefused, 60},
			{"release", ProviderPermanent, 40},
			{"ship", ProviderRefused, 80},
			{"ship", ProviderTransient, 120},
			{"ship", ProviderPending, 60},
			{"ship", ProviderPermanent, 40},
			{"commit", ProviderTransient, 120},
			{"commit", ProviderMalformed, 60},
		},
		Heal:  2 * time.Minute,
		Limit: patience,
		Mandatory: []FaultKind{
			CallAnswerLost, CallRequestLost, CallLateArrival, CallDialFailed, CallReset,
			CallDuplicate, CallSlow, ProviderRefused, ProviderTransient,
			ProviderNotProcessed, ProviderPending, ProviderPermanent, ProviderMalformed,
			ProviderWrongType, ProviderContradictory,
		},
	}
}

func twoExecutors() Scenario {
	return Scenario{
		Name:  "two-executors",
		Title: "Contention and stale holders",
		Goal: "Of two executors that believe to hold one step, only the one with the newest " +
			"generation is heard; an answer that comes back to the other is a late fact.",
		Method: "Two executors compete for the steps of a few orders. One is held for longer than " +
			"its lease, while a call or a statement of it is on its way, and goes on after the " +
			"other took its steps over. Statements fail as under contention.",
		Requirements: []string{"WF-005", "WF-006", "ORD-6", "STEP-4", "STEP-5", "STEP-6"},
		Invariants:   judged(),
		Workload: Workload{
			Orders:            Range{1, 3},
			Items:             Range{1, 2},
			Clients:           2,
			DuplicatePerMille: 100,
			Spacing:           Span{0, time.Second},
		},
		Executors: 2,
		Faults: []Fault{
			{Pause, 150},
			{DBSerialization, 15},
			{DBDeadlock, 15},
			{CallSlow, 150},
		},
		Pauses: Pauses{
			Count:             Range{1, 3},
			Length:            Span{33 * time.Second, 70 * time.Second},
			StatementPerMille: 12,
		},
		Outcomes: []Outcome{
			{"charge", ProviderNotProcessed, 150},
			{"charge", ProviderRefused, 150},
			{"reserve", ProviderTransient, 150},
			{"ship", ProviderTransient, 150},
		},
		Heal:      4 * time.Minute,
		Limit:     patience,
		Mandatory: []FaultKind{Pause, DBSerialization, DBDeadlock, CallSlow},
	}
}

func crashes() Scenario {
	return Scenario{
		Name:  "crashes",
		Title: "Crash and restart at every commit boundary",
		Goal: "Whatever instant an executor dies at, the work goes on: nothing is charged, shipped " +
			"or released twice, nothing is forgotten.",
		Method: "Executors die before a call, after its effect and before the commit of its " +
			"result, after the commit, and around every other statement; they come back soon or " +
			"only after their leases ran out. Refusals, lost answers and cancellations lead to " +
			"every kind of step.",
		Requirements: []string{"WF-001", "WF-002", "WF-004", "WF-006", "STEP-2", "STEP-3",
			"STEP-5", "STEP-6"},
		Invariants: judged(),
		Workload: Workload{
			Orders:            Range{1, 2},
			Items:             Range{1, 2},
			Clients:           1,
			DuplicatePerMille: 100,
			Cancel: Cancel{
				PerMille:       200,
				AtOncePerMille: 300,
				After:          Span{0, 45 * time.Second},
			},
			Spacing: Span{0, 2 * time.Second},
		},
		Executors: 2,
		Faults: []Fault{
			{CrashAfterCall, 150},
			{CrashBeforeCall, 120},
			{CrashAfterStatement, 12},
			{CrashBeforeStatement, 10},
			{DBLostAck, 15},
			{DBResetBefore, 10},
			{CallAnswerLost, 60},
		},
		Crashes: Crashes{
			Count: Range{1, 3},
			Down:  Span{100 * time.Millisecond, 45 * time.Second},
		},
		Outcomes: []Outcome{
			{"charge", ProviderRefused, 200},
			{"charge", ProviderNotProcessed, 100},
			{"reserve", ProviderTransient, 80},
			{"ship", ProviderTransient, 80},
			{"release", ProviderTransient, 120},
		},
		Heal:  4 * time.Minute,
		Limit: patience,
		Mandatory: []FaultKind{
			CrashBeforeCall, CrashAfterCall, CrashBeforeStatement, CrashAfterStatement,
			DBLostAck, DBResetBefore, CallAnswerLost,
		},
	}
}

func cancels() Scenario {
	return Scenario{
		Name:  "cancels",
		Title: "Cancellation at any moment",
		Goal: "A cancellation is either carried out with nothing charged and nothing held, or " +
			"refused; it never meets a charge that it overlooks, and never waits for ever.",
		Method: "Most orders are cancelled, some twice, at a moment drawn from the whole life of " +
			"an order. Charges are refused, postponed and lost, so that requests wait for an " +
			"attempt in flight, for its takeover and for a void.",
		Requirements: []string{"WF-004", "WF-005", "ORD-4", "ORD-5", "STEP-10"},
		Invariants:   judged(),
		Workload: Workload{
			Orders:            Range{1, 3},
			Items:             Range{1, 2},
			Clients:           2,
			DuplicatePerMille: 50,
			Cancel: Cancel{
				PerMille:       850,
				AtOncePerMille: 400,
				After:          Span{0, 6 * time.Second},
				RepeatPerMille: 300,
			},
			Spacing: Span{0, time.Second},
		},
		Executors: 2,
		Faults: []Fault{
			{CallAnswerLost, 120},
			{CallRequestLost, 80},
			{CallLateArrival, 120},
			{CallSlow, 250},
			{CallDialFailed, 80},
			{Pause, 50},
		},
		Pauses: Pauses{
			Count:             Range{0, 1},
			Length:            Span{33 * time.Second, 50 * time.Second},
			StatementPerMille: 4,
		},
		Outcomes: []Outcome{
			{"reserve", ProviderTransient, 200},
			{"reserve", ProviderPermanent, 40},
			{"charge", ProviderNotProcessed, 250},
			{"charge", ProviderPending, 100},
			{"charge", ProviderRefused, 80},
			{"void", ProviderPending, 150},
			{"void", ProviderTransient, 100},
			{"release", ProviderTransient, 150},
		},
		Heal:  3 * time.Minute,
		Limit: patience,
		Mandatory: []FaultKind{
			CallAnswerLost, CallRequestLost, CallLateArrival, CallSlow, CallDialFailed, Pause,
			ProviderNotProcessed, ProviderPending, ProviderRefused,
		},
	}
}
