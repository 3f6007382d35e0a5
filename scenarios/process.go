package scenarios

import "time"

// cancelRaces meets every statement and call of an order's life with a cancellation.
func cancelRaces() Scenario {
	s := cancels()
	s.Name = "cancel-races"
	s.Title = "A cancellation beside every statement"
	s.Goal = "At whatever statement of an order's life a cancellation arrives, it is either " +
		"refused, or the charge provably never happened."
	s.Method = "Every order is cancelled, most of them while a statement or a call of it is under " +
		"way, and again under the same or another key. Calls are slow, so that many requests " +
		"meet an attempt in flight; executors die and pause over it."
	s.Requirements = []string{"WF-004", "WF-005", "ORD-4", "ORD-5"}
	s.Workload.Cancel = Cancel{
		PerMille:       1000,
		AtOncePerMille: 250,
		After:          Span{0, 9 * time.Second},
		RepeatPerMille: 500,
	}
	s.Workload.Spacing = Span{0, 200 * time.Millisecond}
	s.Faults = []Fault{
		{CallSlow, 450},
		{CrashAfterCall, 40},
		{CrashBeforeCall, 40},
		{CallAnswerLost, 80},
		{CallLateArrival, 80},
		{Pause, 20},
		{DBLostAck, 15},
	}
	s.Crashes = Crashes{Count: Range{0, 2}, Down: Span{100 * time.Millisecond, 40 * time.Second}}
	s.Mandatory = []FaultKind{CallSlow, CrashAfterCall, CallAnswerLost, CallLateArrival, DBLostAck}
	return s
}

// unknownPayments keeps the outcome of charges in the dark.
func unknownPayments() Scenario {
	return Scenario{
		Name:  "unknown-payments",
		Title: "Charges that nobody knows about",
		Goal: "A charge whose outcome is unknown is never repeated, released beside, or counted as " +
			"paid before the provider says so; an operator can always bring it to an end.",
		Method: "Answers of charges are lost, late or about something else; status queries lag, err, " +
			"break their format and contradict; the original charge arrives before and after " +
			"queries and voids. Operators start new series and void keys.",
		Requirements: []string{"WF-003", "WF-006", "WF-007", "ORD-4", "STEP-6", "STEP-10"},
		Invariants:   judged(),
		Workload: Workload{
			Orders:  Range{1, 3},
			Items:   Range{1, 2},
			Clients: 2,
			Spacing: Span{0, time.Second},
			Cancel:  Cancel{PerMille: 150, After: Span{0, 20 * time.Second}},
			Operators: Operators{
				Count: 1, Rounds: Range{2, 5}, Every: Span{10 * time.Second, 3 * time.Minute},
				ActPerMille: 700, StalePerMille: 100, TwicePerMille: 100,
			},
		},
		Executors: 2,
		Faults: []Fault{
			{CallAnswerLost, 150},
			{CallRequestLost, 100},
			{CallLateArrival, 150},
			{CallReset, 60},
		},
		Outcomes: []Outcome{
			{"charge", ProviderPending, 200},
			{"charge", ProviderMalformed, 80},
			{"charge", ProviderContradictory, 80},
			{"charge", ProviderTransient, 150},
			{"charge", ProviderRefused, 80},
			{"status_charge", ProviderTransient, 300},
			{"status_charge", ProviderPending, 200},
			{"status_charge", ProviderMalformed, 100},
			{"status_charge", ProviderContradictory, 60},
			{"void", ProviderPending, 150},
			{"void", ProviderTransient, 150},
		},
		Swarm:     true,
		Heal:      4 * time.Minute,
		Limit:     patience,
		Mandatory: []FaultKind{CallAnswerLost, CallLateArrival, ProviderPending, ProviderTransient},
	}
}

// reservationExpiry lets the deadline pass around the charge.
func reservationExpiry() Scenario {
	return Scenario{
		Name:  "reservation-expiry",
		Title: "The deadline of a reservation, around the charge",
		Goal: "No charge is tried after the deadline's margin; what was not paid in time is " +
			"released, unless a charge may have happened, which then keeps its stock.",
		Method: "The payment provider processes next to nothing for a quarter of an hour, so that " +
			"pay steps are exhausted, retried by an operator at any moment up to the deadline, " +
			"and overtaken by it.",
		Requirements: []string{"WF-005", "WF-006", "ORD-4", "STEP-9"},
		Invariants:   judged(),
		Workload: Workload{
			Orders:  Range{1, 2},
			Items:   Range{1, 1},
			Clients: 1,
			Spacing: Span{0, time.Second},
			Operators: Operators{
				Count: 1, Rounds: Range{4, 9}, Every: Span{30 * time.Second, 4 * time.Minute},
				ActPerMille: 800,
			},
		},
		Executors: 2,
		Faults: []Fault{
			{CallDialFailed, 60},
			{CallSlow, 100},
			{CallAnswerLost, 20},
			{CrashBeforeCall, 30},
		},
		Crashes: Crashes{Count: Range{0, 1}, Down: Span{time.Second, 5 * time.Minute}},
		Outcomes: []Outcome{
			{"charge", ProviderNotProcessed, 900},
			{"release", ProviderTransient, 100},
		},
		Heal:      17 * time.Minute,
		Limit:     patience,
		Mandatory: []FaultKind{ProviderNotProcessed, CallDialFailed},
	}
}

// shippingFailures keeps the shipper from shipping.
func shippingFailures() Scenario {
	return Scenario{
		Name:  "shipping-failures",
		Title: "Paid, and not shipped",
		Goal: "Money that was taken is never given back by the machine; an operator ships again or " +
			"closes, and a close never hides a parcel that is on its way.",
		Method: "The shipper refuses, rejects and loses; its answers to cancels are lost too. " +
			"Operators ship again, close with and without the stock, and refund what they closed.",
		Requirements: []string{"WF-004", "WF-006", "WF-007", "REF-4", "STEP-1", "STEP-9"},
		Invariants:   judged(),
		Workload: Workload{
			Orders:  Range{1, 2},
			Items:   Range{1, 2},
			Clients: 1,
			Spacing: Span{0, time.Second},
			Operators: Operators{
				Count: 1, Rounds: Range{3, 6}, Every: Span{5 * time.Second, 60 * time.Second},
				ActPerMille: 800, RefundPerMille: 300, TwicePerMille: 100,
			},
		},
		Executors: 2,
		Faults: []Fault{
			{CallAnswerLost, 80},
			{CallRequestLost, 60},
			{CallLateArrival, 80},
			{CrashAfterCall, 40},
		},
		Crashes: Crashes{Count: Range{0, 1}, Down: Span{time.Second, 40 * time.Second}},
		Outcomes: []Outcome{
			{"ship", ProviderRefused, 350},
			{"ship", ProviderPermanent, 200},
			{"ship", ProviderTransient, 300},
			{"cancel_ship", ProviderTransient, 200},
			{"cancel_ship", ProviderPermanent, 80},
			{"release", ProviderTransient, 150},
		},
		Swarm:     true,
		Heal:      5 * time.Minute,
		Limit:     patience,
		Mandatory: []FaultKind{ProviderRefused, ProviderPermanent, ProviderTransient},
	}
}

// refunds gives money back under every kind of answer.
func refunds() Scenario {
	return Scenario{
		Name:  "refunds",
		Title: "Money given back, once",
		Goal: "What is given back never exceeds what was charged, and each refund has one effect, " +
			"whatever becomes of its answers.",
		Method: "Operators refund parts of shipped orders, several at once. Refunds are refused, " +
			"pending and lost; status queries lag; executors die over them.",
		Requirements: []string{"WF-004", "WF-005", "WF-007", "REF-1", "REF-2", "REF-3"},
		Invariants:   judged(),
		Workload: Workload{
			Orders:  Range{1, 2},
			Items:   Range{1, 2},
			Clients: 1,
			Spacing: Span{0, time.Second},
			Operators: Operators{
				Count: 2, Rounds: Range{3, 6}, Every: Span{2 * time.Second, 40 * time.Second},
				ActPerMille: 700, RefundPerMille: 800, TwicePerMille: 150, StalePerMille: 50,
			},
		},
		Executors: 2,
		Faults: []Fault{
			{CallAnswerLost, 100},
			{CallRequestLost, 80},
			{CallLateArrival, 100},
			{CallDuplicate, 60},
			{CrashAfterCall, 60},
			{CrashBeforeCall, 40},
			{DBLostAck, 15},
		},
		Crashes: Crashes{Count: Range{0, 2}, Down: Span{time.Second, 40 * time.Second}},
		Outcomes: []Outcome{
			{"refund", ProviderRefused, 120},
			{"refund", ProviderPending, 150},
			{"refund", ProviderTransient, 150},
			{"refund", ProviderNotProcessed, 150},
			{"refund", ProviderMalformed, 60},
			{"refund", ProviderContradictory, 60},
			{"status_refund", ProviderTransient, 200},
			{"status_refund", ProviderPending, 150},
		},
		Swarm:     true,
		Heal:      5 * time.Minute,
		Limit:     patience,
		Mandatory: []FaultKind{ProviderRefused, ProviderPending, ProviderTransient, CallAnswerLost},
	}
}

// operatorActions lets operators decide rightly, wrongly, twice and about the past.
func operatorActions() Scenario {
	return Scenario{
		Name:  "operator-actions",
		Title: "Decisions of people",
		Goal: "A decision is authorised, re-checked under the lock, carried out once and audited " +
			"once; a wrong, stale or repeated one changes nothing.",
		Method: "Two operators decide about the same orders, sometimes what nobody asked for, " +
			"sometimes about a version that has passed, sometimes twice under one key; customers " +
			"try operators' routes. Providers fail in every way that asks for a person.",
		Requirements: []string{"WF-005", "WF-007", "STEP-11", "REF-4"},
		Invariants:   judged(),
		Workload: Workload{
			Orders:            Range{1, 3},
			Items:             Range{1, 2},
			Clients:           2,
			DuplicatePerMille: 100,
			Spacing:           Span{0, 2 * time.Second},
			Cancel:            Cancel{PerMille: 200, After: Span{0, 20 * time.Second}},
			Operators: Operators{
				Count: 2, Rounds: Range{2, 5}, Every: Span{2 * time.Second, 60 * time.Second},
				ActPerMille: 800, RefundPerMille: 300, WrongPerMille: 300, StalePerMille: 200,
				TwicePerMille: 300, TrespassPerMille: 300,
			},
		},
		Executors: 2,
		Faults: []Fault{
			{CallAnswerLost, 60},
			{CrashAfterCall, 30},
			{DBLostAck, 20},
			{DBSerialization, 20},
		},
		Crashes: Crashes{Count: Range{0, 1}, Down: Span{time.Second, 40 * time.Second}},
		Outcomes: []Outcome{
			{"reserve", ProviderTransient, 200},
			{"reserve", ProviderPermanent, 100},
			{"charge", ProviderRefused, 120},
			{"charge", ProviderPending, 120},
			{"charge", ProviderNotProcessed, 150},
			{"status_charge", ProviderTransient, 250},
			{"release", ProviderRefused, 200},
			{"release", ProviderTransient, 200},
			{"release", ProviderPermanent, 100},
			{"ship", ProviderRefused, 250},
			{"ship", ProviderPermanent, 150},
			{"cancel_ship", ProviderTransient, 150},
			{"refund", ProviderRefused, 100},
			{"refund", ProviderTransient, 150},
		},
		Heal:  4 * time.Minute,
		Limit: patience,
		Mandatory: []FaultKind{
			ProviderRefused, ProviderPermanent, ProviderTransient, DBLostAck, DBSerialization,
		},
	}
}
