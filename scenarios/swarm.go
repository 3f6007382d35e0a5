package scenarios

import "time"

// swarm is everything at once. Its rates are low, because many kinds add up, and each run has
// only about half of them.
func swarm() Scenario {
	return Scenario{
		Name:  "swarm",
		Title: "Everything, in changing company",
		Goal: "No combination of crashes, pauses, lost answers, contention, cancellations and " +
			"moody providers breaks an invariant.",
		Method: "The run draws which kinds of faults and which behaviours are on, and leaves the " +
			"others out: a rare state often needs that something common does not happen.",
		Requirements: []string{"WF-001", "WF-002", "WF-003", "WF-004", "WF-005", "WF-006"},
		Invariants:   judged(),
		Workload: Workload{
			Orders:            Range{1, 3},
			Items:             Range{1, 3},
			Clients:           2,
			DuplicatePerMille: 150,
			Cancel: Cancel{
				PerMille:       350,
				AtOncePerMille: 400,
				After:          Span{0, 40 * time.Second},
				RepeatPerMille: 200,
			},
			Spacing: Span{0, 3 * time.Second},
		},
		Executors: 2,
		Faults: []Fault{
			{CrashAfterCall, 60},
			{CrashBeforeCall, 50},
			{CrashAfterStatement, 8},
			{CrashBeforeStatement, 6},
			{Pause, 70},
			{CallAnswerLost, 80},
			{CallRequestLost, 60},
			{CallLateArrival, 80},
			{CallDialFailed, 60},
			{CallReset, 60},
			{CallDuplicate, 80},
			{CallSlow, 120},
			{DBLostAck, 12},
			{DBResetBefore, 12},
			{DBSerialization, 12},
			{DBDeadlock, 12},
		},
		Swarm: true,
		Crashes: Crashes{
			Count: Range{0, 3},
			Down:  Span{100 * time.Millisecond, 45 * time.Second},
		},
		Pauses: Pauses{
			Count:             Range{0, 2},
			Length:            Span{5 * time.Second, 70 * time.Second},
			StatementPerMille: 6,
		},
		Outcomes:  moods(),
		Heal:      5 * time.Minute,
		Limit:     patience,
		Mandatory: FaultKinds(),
	}
}

// moods are the ways in which providers of the swarm treat calls, those of payment most of all.
func moods() []Outcome {
	return []Outcome{
		{"charge", ProviderRefused, 200},
		{"charge", ProviderNotProcessed, 150},
		{"charge", ProviderPending, 120},
		{"charge", ProviderTransient, 100},
		{"charge", ProviderMalformed, 50},
		{"charge", ProviderWrongType, 50},
		{"charge", ProviderContradictory, 60},
		{"charge", ProviderPermanent, 40},
		{"status_charge", ProviderTransient, 150},
		{"status_charge", ProviderPending, 120},
		{"status_charge", ProviderContradictory, 60},
		{"void", ProviderTransient, 120},
		{"void", ProviderPending, 150},
		{"void", ProviderMalformed, 60},
		{"reserve", ProviderRefused, 60},
		{"reserve", ProviderTransient, 150},
		{"reserve", ProviderPending, 80},
		{"reserve", ProviderPermanent, 30},
		{"release", ProviderTransient, 250},
		{"release", ProviderRefused, 60},
		{"release", ProviderPermanent, 40},
		{"ship", ProviderRefused, 80},
		{"ship", ProviderTransient, 150},
		{"ship", ProviderPending, 80},
		{"ship", ProviderPermanent, 40},
		{"commit", ProviderTransient, 150},
		{"commit", ProviderMalformed, 60},
	}
}
