package scenarios

import "slices"

// FaultKind names something that a run may do to the service. The names are shared by the
// catalogue, whatever injects the faults, and the reports.
type FaultKind string

// Faults of a request to a provider. Each meets one call on its way.
const (
	// CallDialFailed refuses the connection before a byte has left.
	CallDialFailed FaultKind = "call.dial_failed"
	// CallRequestLost loses the request: no effect, no answer, the caller times out.
	CallRequestLost FaultKind = "call.request_lost"
	// CallAnswerLost delivers the request and loses the answer: the caller times out.
	CallAnswerLost FaultKind = "call.answer_lost"
	// CallReset resets the connection after the request left; the choice of the run says
	// whether before or after the effect.
	CallReset FaultKind = "call.reset"
	// CallLateArrival delivers the request after the caller has given up.
	CallLateArrival FaultKind = "call.late_arrival"
	// CallDuplicate delivers the request twice; the second copy may be late.
	CallDuplicate FaultKind = "call.duplicate"
	// CallSlow delays request and answer, still within the caller's patience.
	CallSlow FaultKind = "call.slow"
)

// Faults of a SQL statement or of the connection that carries it.
const (
	// DBResetBefore resets the connection before the statement reaches the server.
	DBResetBefore FaultKind = "db.reset_before"
	// DBLostAck lets the statement commit and loses the acknowledgement.
	DBLostAck FaultKind = "db.lost_ack"
	// DBSerialization fails the statement with a serialization failure (40001).
	DBSerialization FaultKind = "db.serialization"
	// DBDeadlock fails the statement as the victim of a deadlock (40P01).
	DBDeadlock FaultKind = "db.deadlock"
)

// Faults of a process. Between them the four crashes reach the three commit boundaries of every
// step: before the external call, after it and before the commit, after the commit.
const (
	// CrashBeforeCall kills the process when it is about to call a provider: the intent is
	// committed, nothing was sent.
	CrashBeforeCall FaultKind = "crash.before_call"
	// CrashAfterCall kills the process when the provider has answered: the effect happened,
	// its result is not committed.
	CrashAfterCall FaultKind = "crash.after_call"
	// CrashBeforeStatement kills the process when it is about to send a statement.
	CrashBeforeStatement FaultKind = "crash.before_statement"
	// CrashAfterStatement kills the process after the statement committed and before it
	// learns so.
	CrashAfterStatement FaultKind = "crash.after_statement"
	// Pause holds a process, all its calls and statements, and later lets it go on.
	Pause FaultKind = "pause"
)

// Faults of the way between a client and the API. Each meets one request or one answer.
const (
	// ClientDisconnect lets the client hang up while its request is being served.
	ClientDisconnect FaultKind = "client.disconnect"
	// ClientDuplicate delivers the request twice; the second copy may be late.
	ClientDuplicate FaultKind = "client.duplicate"
	// ClientAnswerLost loses the answer, by a reset connection or without a sign.
	ClientAnswerLost FaultKind = "client.answer_lost"
)

// Faults of the world around the processes.
const (
	// NetCut holds everything between two parties for a while, or between one process and
	// everybody.
	NetCut FaultKind = "net.cut"
	// DBRestart breaks every connection to the database in use, loses every open transaction,
	// and lets nobody in for a while.
	DBRestart FaultKind = "db.restart"
	// ClockProcess sets a process's clock off and lets it run too fast or too slow.
	ClockProcess FaultKind = "clock.process"
	// ClockJump lets a process's clock jump forward.
	ClockJump FaultKind = "clock.jump"
	// ClockDatabase does to the database's clock what ClockProcess does to a process's.
	ClockDatabase FaultKind = "clock.database"
)

// Behaviours of a provider. Each is what one call meets there; see Outcome.
const (
	// ProviderRefused is a business refusal, remembered for the key.
	ProviderRefused FaultKind = "provider.refused"
	// ProviderTransient is a 503 without a definite body; nothing happened.
	ProviderTransient FaultKind = "provider.transient"
	// ProviderNotProcessed is a 503 that says that nothing was processed.
	ProviderNotProcessed FaultKind = "provider.not_processed"
	// ProviderPending accepts the request and decides it later.
	ProviderPending FaultKind = "provider.pending"
	// ProviderPermanent is a 400 without a definite body; nothing happened.
	ProviderPermanent FaultKind = "provider.permanent"
	// ProviderMalformed does the work and answers broken JSON.
	ProviderMalformed FaultKind = "provider.malformed"
	// ProviderWrongType does the work and labels its answer as something else than JSON.
	ProviderWrongType FaultKind = "provider.wrong_type"
	// ProviderContradictory does the work and answers about another order or amount.
	ProviderContradictory FaultKind = "provider.contradictory"
)

// The closed lists.
var (
	callFaults = []FaultKind{
		CallDialFailed, CallRequestLost, CallAnswerLost, CallReset, CallLateArrival,
		CallDuplicate, CallSlow,
	}
	statementFaults = []FaultKind{
		DBResetBefore, DBLostAck, DBSerialization, DBDeadlock,
	}
	crashFaults = []FaultKind{
		CrashBeforeCall, CrashAfterCall, CrashBeforeStatement, CrashAfterStatement,
	}
	clientFaults = []FaultKind{
		ClientDisconnect, ClientDuplicate, ClientAnswerLost,
	}
	worldFaults = []FaultKind{
		NetCut, DBRestart, ClockProcess, ClockJump, ClockDatabase,
	}
	behaviours = []FaultKind{
		ProviderRefused, ProviderTransient, ProviderNotProcessed, ProviderPending,
		ProviderPermanent, ProviderMalformed, ProviderWrongType, ProviderContradictory,
	}
)

// FaultKinds returns every kind, in a fixed order.
func FaultKinds() []FaultKind {
	return slices.Concat(callFaults, statementFaults, crashFaults,
		[]FaultKind{Pause}, clientFaults, worldFaults, behaviours)
}

// IsBehaviour reports whether the kind is a provider's behaviour, which Outcomes draw, and not a
// fault of the way there, which Faults draw.
func (k FaultKind) IsBehaviour() bool { return slices.Contains(behaviours, k) }

// IsCrash reports whether the kind kills a process.
func (k FaultKind) IsCrash() bool { return slices.Contains(crashFaults, k) }

// Known reports whether the kind is in the closed list.
func (k FaultKind) Known() bool { return slices.Contains(FaultKinds(), k) }
