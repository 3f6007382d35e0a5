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
			{ClientDisconnect, 50},
			{ClientDuplicate, 60},
			{ClientAnswerLost, 60},
			{NetCut, 8},
			{DBRestart, 4},
			{ClockProcess, 500},
			{ClockJump, 8},
			{ClockDatabase, 500},
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
		Cuts:      Outages{Count: Range{0, 2}, Length: Span{time.Second, 50 * time.Second}},
		Restarts:  Outages{Count: Range{0, 1}, Length: Span{0, 20 * time.Second}},
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

// outages takes away what everything stands on.
func outages() Scenario {
	return Scenario{
		Name:  "outages",
		Title: "The database restarts, the network is cut, clocks disagree",
		Goal: "Whatever two parties cannot hear each other for a while, and whatever a clock says, " +
			"every request has one effect and every order comes to its end.",
		Method: "The database restarts under open statements and stays away for a while; an " +
			"executor, the API, a provider or a client is cut off from another, longer than " +
			"leases last; clients hang up and send twice; no two clocks agree, and some jump. " +
			"Every process may die.",
		Requirements: []string{"WF-001", "WF-002", "WF-005", "WF-006", "STEP-4", "STEP-6", "API-1"},
		Invariants:   judged(),
		Workload: Workload{
			Orders:            Range{1, 3},
			Items:             Range{1, 2},
			Clients:           2,
			DuplicatePerMille: 200,
			Cancel: Cancel{
				PerMille:       300,
				AtOncePerMille: 300,
				After:          Span{0, 20 * time.Second},
				RepeatPerMille: 300,
			},
			Spacing: Span{0, 2 * time.Second},
		},
		Executors: 2,
		Faults: []Fault{
			{NetCut, 40},
			{DBRestart, 25},
			{ClientDisconnect, 150},
			{ClientDuplicate, 150},
			{ClientAnswerLost, 150},
			{ClockProcess, 700},
			{ClockJump, 30},
			{ClockDatabase, 500},
			{CrashBeforeStatement, 15},
			{CrashAfterStatement, 15},
			{DBLostAck, 15},
			{CallLateArrival, 40},
		},
		Swarm:    true,
		Crashes:  Crashes{Count: Range{0, 2}, Down: Span{100 * time.Millisecond, 40 * time.Second}},
		Cuts:     Outages{Count: Range{1, 3}, Length: Span{time.Second, 60 * time.Second}},
		Restarts: Outages{Count: Range{0, 2}, Length: Span{0, 30 * time.Second}},
		Outcomes: []Outcome{
			{"charge", ProviderRefused, 100},
			{"charge", ProviderNotProcessed, 100},
			{"reserve", ProviderTransient, 80},
			{"ship", ProviderTransient, 80},
		},
		Heal:  4 * time.Minute,
		Limit: patience,
		Mandatory: []FaultKind{
			NetCut, DBRestart, ClientDisconnect, ClientDuplicate, ClientAnswerLost,
			ClockProcess, ClockJump, ClockDatabase,
		},
	}
}
