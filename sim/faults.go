package sim

import (
	"strings"
	"time"

	"ordeal/reports"
	"ordeal/scenarios"
	"ordeal/sim/engine"
)

// faults turns the fault mix of a scenario into the fates of one run's operations, and counts per
// kind how often it could have fired and did.
type faults struct {
	scenario scenarios.Scenario
	world    *engine.World
	rest     *rest

	// mix and outcomes are what this run has switched on.
	mix      []scenarios.Fault
	outcomes []scenarios.Outcome
	// crashes and pauses are what is left of the run's own limits.
	crashes, pauses int
	// over says that the fault period has ended.
	over bool

	counted map[scenarios.FaultKind]*reports.Fault
}

func newFaults(s scenarios.Scenario, rest *rest) *faults {
	return &faults{
		scenario: s,
		rest:     rest,
		mix:      s.Faults,
		outcomes: s.Outcomes,
		counted:  map[scenarios.FaultKind]*reports.Fault{},
	}
}

// begin draws what this run has: with swarm, each kind is on with even odds, and never none.
func (f *faults) begin(w *engine.World) {
	f.world = w
	draw := w.Faults()
	between := func(label string, r scenarios.Range) int {
		return r.Min + draw.Choose(label, r.Max-r.Min+1)
	}
	f.crashes = between("crashes", f.scenario.Crashes.Count)
	f.pauses = between("pauses", f.scenario.Pauses.Count)
	if !f.scenario.Swarm {
		return
	}
	f.mix = some(f.scenario.Faults, func(x scenarios.Fault) bool {
		return draw.Choose("swarm "+string(x.Kind), 2) == 0
	})
	f.outcomes = some(f.scenario.Outcomes, func(x scenarios.Outcome) bool {
		return draw.Choose("swarm "+x.Operation+" "+string(x.Behaviour), 2) == 0
	})
}

// some keeps what is on; everything where nothing is.
func some[T any](all []T, on func(T) bool) []T {
	var kept []T
	for _, x := range all {
		if on(x) {
			kept = append(kept, x)
		}
	}
	if len(kept) == 0 {
		return all
	}
	return kept
}

// end stops all faults.
func (f *faults) end() { f.over = true }

// draw chooses at most one kind of a mix, by one choice: zero, the plainest value, is none.
func (f *faults) draw(label string, mix []scenarios.Fault) (scenarios.FaultKind, bool) {
	if len(mix) == 0 {
		return "", false
	}
	const perMille = 1000
	value := perMille - 1 - f.world.Faults().Choose(label, perMille)
	found, ok := scenarios.FaultKind(""), false
	for _, x := range mix {
		c := f.count(x.Kind)
		c.Offered++
		if value < 0 || ok {
			continue
		}
		if value < x.PerMille {
			found, ok = x.Kind, true
			c.Fired++
		}
		value -= x.PerMille
	}
	return found, ok
}

func (f *faults) count(kind scenarios.FaultKind) *reports.Fault {
	c := f.counted[kind]
	if c == nil {
		c = &reports.Fault{Kind: string(kind)}
		f.counted[kind] = c
	}
	return c
}

// counts lists the counters in the order of the closed list.
func (f *faults) counts() []reports.Fault {
	var all []reports.Fault
	for _, kind := range scenarios.FaultKinds() {
		if c := f.counted[kind]; c != nil {
			all = append(all, *c)
		}
	}
	return all
}

// operation decides the fate of an operation whose turn has come.
func (f *faults) operation(op *engine.Operation, draw *engine.Draw) engine.Fate {
	if f.over || op.Holds > 0 {
		return engine.Fate{}
	}
	var mix []scenarios.Fault
	for _, x := range f.mix {
		if !f.applies(x.Kind, op) {
			continue
		}
		if x.Kind == scenarios.Pause && op.Kind == engine.Statement {
			x.PerMille = f.scenario.Pauses.StatementPerMille
		}
		mix = append(mix, x)
	}
	kind, ok := f.draw("fate", mix)
	if !ok {
		return engine.Fate{}
	}
	return f.fate(kind, op, draw)
}

// applies tells whether an operation is an opportunity of a kind.
func (f *faults) applies(kind scenarios.FaultKind, op *engine.Operation) bool {
	process, _ := splitIncarnation(op.Process)
	executor := role(process) == "executor"
	call, statement := op.Kind == engine.Call, op.Kind == engine.Statement
	switch kind {
	case scenarios.CrashBeforeCall, scenarios.CrashAfterCall:
		return executor && call && f.crashes > 0
	case scenarios.CrashBeforeStatement, scenarios.CrashAfterStatement:
		return executor && statement && f.crashes > 0
	case scenarios.Pause:
		return executor && (call || statement) && f.pauses > 0
	}
	if strings.HasPrefix(string(kind), "call.") {
		return call
	}
	return statement
}

// fates are the kinds that need no more than their name.
var fates = map[scenarios.FaultKind]engine.FaultKind{
	scenarios.CallDialFailed:       engine.DialFail,
	scenarios.CallRequestLost:      engine.LoseRequest,
	scenarios.CallAnswerLost:       engine.LoseAnswer,
	scenarios.DBResetBefore:        engine.ConnResetBefore,
	scenarios.DBLostAck:            engine.LostAck,
	scenarios.DBSerialization:      engine.SerializationFailure,
	scenarios.DBDeadlock:           engine.Deadlock,
	scenarios.CrashBeforeCall:      engine.CrashBefore,
	scenarios.CrashAfterCall:       engine.CrashAfter,
	scenarios.CrashBeforeStatement: engine.CrashBefore,
	scenarios.CrashAfterStatement:  engine.CrashAfter,
}

// Ranges of delays. A late arrival comes after its sender gave up (3 s), or long after.
var (
	lateArrival = engine.Range{Min: 3 * time.Second, Max: 40 * time.Second}
	secondCopy  = engine.Range{Min: 0, Max: 30 * time.Second}
	slowAnswer  = engine.Range{Min: 100 * time.Millisecond, Max: 2900 * time.Millisecond}
)

// fate turns a kind into what the engine does.
func (f *faults) fate(
	kind scenarios.FaultKind, op *engine.Operation, draw *engine.Draw,
) engine.Fate {
	if kind.IsCrash() {
		f.crashes--
	}
	switch kind {
	case scenarios.Pause:
		return f.pause(op, draw)
	case scenarios.CallReset:
		if draw.Choose("reset before the effect", 2) == 1 {
			return engine.Fate{Kind: engine.ConnResetBefore}
		}
		return engine.Fate{Kind: engine.ResetAfter}
	case scenarios.CallLateArrival:
		return f.late(engine.LateArrival, draw.Duration("late arrival", lateArrival))
	case scenarios.CallDuplicate:
		return f.late(engine.Duplicate, draw.Duration("second copy", secondCopy))
	case scenarios.CallSlow:
		return engine.Fate{Kind: engine.Delay, After: draw.Duration("slow", slowAnswer)}
	}
	return engine.Fate{Kind: fates[kind]}
}

// late is a fate of which something arrives only after d.
func (f *faults) late(kind engine.FaultKind, d time.Duration) engine.Fate {
	f.rest.expect(f.world.Now(), d)
	return engine.Fate{Kind: kind, After: d}
}

// pause holds the sender's process from now on, with the operation on its way.
func (f *faults) pause(op *engine.Operation, draw *engine.Draw) engine.Fate {
	f.pauses--
	name, _ := splitIncarnation(op.Process)
	length := draw.Duration("pause", engine.Range(f.scenario.Pauses.Length))
	process := f.world.Process(name)
	f.world.At(f.world.Now(), "pause "+name, func() {
		if process.Running() {
			process.Pause(length)
		}
	})
	return engine.Fate{Kind: engine.Hold, After: time.Microsecond}
}

// givenUp decides about an operation whose sender stopped waiting after it had left: it is
// dropped, or it arrives although nobody waits for it any more.
func (f *faults) givenUp(_ *engine.Operation, draw *engine.Draw) engine.Fate {
	if f.over {
		return engine.Fate{Kind: engine.Drop}
	}
	if draw.Choose("arrives although given up", 2) == 0 {
		return engine.Fate{Kind: engine.Drop}
	}
	return f.late(engine.LateArrival, draw.Duration("given up", lateArrival))
}
