package sim

import (
	"slices"
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

	// off are the faults and outcomes that this run has switched off. They keep their place
	// in what is drawn from, so that what a value means is the same in every run.
	off map[any]bool
	// left is what is left of the run's own limits.
	left map[limit]int
	// skews are those of the processes' clocks.
	skews map[string]skew
	// over says that the fault period has ended.
	over bool

	counted map[scenarios.FaultKind]*reports.Fault
}

func newFaults(s scenarios.Scenario, rest *rest) *faults {
	return &faults{
		scenario: s,
		rest:     rest,
		off:      map[any]bool{},
		left:     map[limit]int{},
		skews:    map[string]skew{},
		counted:  map[scenarios.FaultKind]*reports.Fault{},
	}
}

// begin draws what this run has: with swarm, each kind is on with even odds, and never none.
func (f *faults) begin(w *engine.World) {
	f.world = w
	f.drawLimits()
	if f.scenario.Swarm {
		f.drawSwarm()
	}
	f.setClocks()
}

// aloneOneIn is how often a swarm is a single kind, whose doing cannot be another one's.
const aloneOneIn = 8

// drawSwarm draws which kinds and behaviours are on.
func (f *faults) drawSwarm() {
	draw := f.world.Faults()
	if draw.Choose("swarm of one kind", aloneOneIn) == aloneOneIn-1 {
		f.drawAlone()
		return
	}
	switchOff(f.off, f.scenario.Faults, func(x scenarios.Fault) bool {
		return draw.Choose("swarm "+string(x.Kind), 2) == 1
	})
	switchOff(f.off, f.scenario.Outcomes, func(x scenarios.Outcome) bool {
		return draw.Choose("swarm "+x.Operation+" "+string(x.Behaviour), 2) == 1
	})
}

// drawAlone draws the one fault or outcome that is on.
func (f *faults) drawAlone() {
	var all []any
	for _, x := range f.scenario.Faults {
		all = append(all, x)
	}
	for _, x := range f.scenario.Outcomes {
		all = append(all, x)
	}
	chosen := f.world.Faults().Choose("the one kind", len(all))
	for i, x := range all {
		f.off[x] = i != chosen
	}
}

// switchOff switches off what is to be, and nothing where that would be everything.
func switchOff[T comparable](off map[any]bool, all []T, drawn func(T) bool) {
	var chosen []T
	for _, x := range all {
		if drawn(x) {
			chosen = append(chosen, x)
		}
	}
	if len(chosen) == len(all) {
		return
	}
	for _, x := range chosen {
		off[x] = true
	}
}

// end stops all faults.
func (f *faults) end() { f.over = true }

// chance is a kind that an opportunity may bring.
type chance struct {
	scenarios.Fault
	// off says that it cannot happen in this run, or no longer.
	off bool
}

// draw chooses at most one kind of a mix, by one choice: zero, the plainest value, is none.
func (f *faults) draw(label string, mix []chance) (scenarios.FaultKind, bool) {
	if !slices.ContainsFunc(mix, func(x chance) bool { return !x.off }) {
		return "", false
	}
	const perMille = 1000
	value := perMille - 1 - f.world.Faults().Choose(label, perMille)
	found, ok := scenarios.FaultKind(""), false
	for _, x := range mix {
		hit := value >= 0 && value < x.PerMille
		value -= x.PerMille
		if x.off {
			continue
		}
		c := f.count(x.Kind)
		c.Offered++
		if hit {
			found, ok = x.Kind, true
			c.Fired++
			f.world.Faults().Note(string(x.Kind))
		}
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
	var mix []chance
	for _, x := range f.scenario.Faults {
		if !concerns(x.Kind, op) {
			continue
		}
		c := chance{x, f.off[x] || f.usedUp(x.Kind)}
		if x.Kind == scenarios.Pause && op.Kind == engine.Statement {
			c.PerMille = f.scenario.Pauses.StatementPerMille
		}
		mix = append(mix, c)
	}
	kind, ok := f.draw("fate", mix)
	if !ok {
		return engine.Fate{}
	}
	return f.fate(kind, op, draw)
}

// concerns tells whether an operation is an opportunity of a kind.
func concerns(kind scenarios.FaultKind, op *engine.Operation) bool {
	call, statement := op.Kind == engine.Call, op.Kind == engine.Statement
	switch kind {
	case scenarios.CrashBeforeCall, scenarios.CrashAfterCall:
		return call
	case scenarios.Pause, scenarios.ClockJump:
		return (call || statement) && strings.HasPrefix(op.Process, executorPrefix)
	case scenarios.ClientDisconnect, scenarios.ClientDuplicate:
		return op.Kind == engine.Request
	case scenarios.ClientAnswerLost:
		return op.Kind == engine.Response
	case scenarios.ClockProcess, scenarios.ClockDatabase:
		return false // see setClocks
	case scenarios.NetCut:
		return true
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
	impatience  = engine.Range{Min: 0, Max: 20 * time.Millisecond}
)

// fate turns a kind into what the engine does.
func (f *faults) fate(
	kind scenarios.FaultKind, op *engine.Operation, draw *engine.Draw,
) engine.Fate {
	f.use(kind)
	switch kind {
	case scenarios.Pause:
		return f.pause(op, draw)
	case scenarios.NetCut:
		return f.cut(op, draw)
	case scenarios.DBRestart:
		return f.restart(draw)
	case scenarios.ClockJump:
		return f.jump(op, draw)
	case scenarios.ClientDisconnect:
		return engine.Fate{Kind: engine.Disconnect, After: draw.Duration("hangs up", impatience)}
	case scenarios.ClientDuplicate:
		return f.late(engine.Duplicate, draw.Duration("second copy", secondCopy))
	case scenarios.ClientAnswerLost:
		if draw.Choose("answer lost without a sign", 2) == 1 {
			return engine.Fate{Kind: engine.LoseRequest}
		}
		return engine.Fate{Kind: engine.ConnResetBefore}
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
