package scenarios

import "time"

// oneOrder is the smallest life with everything in it. Its runs are the cheapest of the catalogue,
// so it is the one whose speed is measured and the one to play by the hundred thousand.
func oneOrder() Scenario {
	return Scenario{
		Name:  "one-order",
		Title: "One order, two executors, every kind of fault",
		Goal: "The life of one order survives whatever happens to it, in as many combinations as " +
			"a minute of real time has room for.",
		Method: "One customer creates one order, sometimes twice and sometimes to cancel it. Two " +
			"executors compete for its steps. The run draws which kinds of faults and which " +
			"behaviours of providers are on.",
		Requirements: []string{"WF-001", "WF-002", "WF-003", "WF-004", "WF-005", "WF-006"},
		Invariants:   judged(),
		Workload: Workload{
			Orders:            Range{1, 1},
			Items:             Range{1, 1},
			Clients:           1,
			DuplicatePerMille: 50,
			Cancel: Cancel{
				PerMille:       100,
				AtOncePerMille: 300,
				After:          Span{0, 15 * time.Second},
			},
		},
		Executors: 2,
		Faults:    oneOrderFaults(),
		Swarm:     true,
		Crashes: Crashes{
			Count: Range{0, 1},
			Down:  Span{100 * time.Millisecond, 40 * time.Second},
		},
		Pauses: Pauses{
			Count:             Range{0, 1},
			Length:            Span{5 * time.Second, 50 * time.Second},
			StatementPerMille: 10,
		},
		Cuts:     Outages{Count: Range{0, 1}, Length: Span{time.Second, 40 * time.Second}},
		Restarts: Outages{Count: Range{0, 1}, Length: Span{0, 10 * time.Second}},
		Outcomes: oneOrderMoods(),
		Heal:     time.Minute,
		Limit:    patience,
		Mandatory: []FaultKind{
			CrashBeforeCall, CrashAfterCall, CallAnswerLost, CallRequestLost, CallLateArrival,
			DBLostAck, DBSerialization, ProviderRefused, ProviderTransient,
		},
	}
}

// oneOrderFaults is every kind, each at a low rate: the run draws which are on.
func oneOrderFaults() []Fault {
	return []Fault{
		{CrashAfterCall, 25},
		{CrashBeforeCall, 20},
		{CrashAfterStatement, 8},
		{CrashBeforeStatement, 8},
		{Pause, 20},
		{CallAnswerLost, 30},
		{CallRequestLost, 20},
		{CallLateArrival, 30},
		{CallDialFailed, 20},
		{CallReset, 20},
		{CallDuplicate, 40},
		{CallSlow, 60},
		{DBLostAck, 15},
		{DBResetBefore, 15},
		{DBSerialization, 15},
		{DBDeadlock, 15},
		{ClientDisconnect, 60},
		{ClientDuplicate, 60},
		{ClientAnswerLost, 60},
		{NetCut, 6},
		{DBRestart, 4},
		{ClockProcess, 500},
		{ClockJump, 6},
		{ClockDatabase, 500},
	}
}

// oneOrderMoods are the behaviours of the providers.
func oneOrderMoods() []Outcome {
	return []Outcome{
		{"charge", ProviderRefused, 40},
		{"charge", ProviderNotProcessed, 30},
		{"charge", ProviderPending, 20},
		{"charge", ProviderMalformed, 20},
		{"charge", ProviderContradictory, 20},
		{"reserve", ProviderRefused, 30},
		{"reserve", ProviderTransient, 30},
		{"release", ProviderTransient, 100},
		{"ship", ProviderTransient, 30},
		{"commit", ProviderTransient, 30},
	}
}
