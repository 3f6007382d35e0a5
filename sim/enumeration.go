package sim

import (
	"net/url"
	"time"

	"ordeal/reports"
	"ordeal/scenarios/evidence"
	"ordeal/sim/engine"
	"ordeal/sim/imitation"
)

// enumeration is the trouble of exhaustive runs. It draws nothing by chance: at each seam event
// of a process it asks whether the process crashes, and at each call to a provider what comes of
// it, so that a source which forces one answer at a time reaches all of them. Zero is the happy
// answer.
type enumeration struct {
	world *engine.World
	rest  *rest
	// crashes is how many the run may still have.
	crashes int
	planned imitation.Behaviour
	over    bool
}

// Labels of the questions.
const (
	crashQuestion   = "crash"
	outcomeQuestion = "outcome "
)

// boundaries are the ways to crash at a seam event.
var boundaries = []engine.Fate{
	{Kind: engine.Deliver},
	{Kind: engine.CrashBefore},
	{Kind: engine.CrashAfter},
	{Kind: engine.CrashAnswered},
}

func (e *enumeration) begin(w *engine.World) { e.world = w }

func (e *enumeration) end() { e.over = true }

func (e *enumeration) counts() []reports.Fault { return nil }

// operation decides about an operation whose turn has come.
func (e *enumeration) operation(op *engine.Operation, draw *engine.Draw) engine.Fate {
	e.planned = imitation.Behaviour{Kind: imitation.Succeed}
	if e.over || op.Holds > 0 || op.Kind == engine.Request {
		return engine.Fate{}
	}
	crash := 0
	if e.crashes > 0 {
		crash = draw.Choose(crashQuestion, len(boundaries))
	}
	if crash > 0 {
		e.crashes--
		draw.Note(string(boundaries[crash].Kind))
	}
	if op.Kind != engine.Call || boundaries[crash].Kind == engine.CrashBefore {
		return boundaries[crash]
	}
	o := e.outcome(op, draw, crash > 0)
	if o.behaviour.Kind != "" {
		e.planned = o.behaviour
	}
	if crash > 0 {
		return boundaries[crash]
	}
	if o.fate.After > 0 {
		e.rest.expect(e.world.Now(), o.fate.After)
	}
	return o.fate
}

// outcome asks what comes of a call. Where the caller crashes after it, only what the provider
// itself does makes a difference.
func (e *enumeration) outcome(op *engine.Operation, draw *engine.Draw, crash bool) outcome {
	path := op.URL
	if u, err := url.Parse(op.URL); err == nil {
		path = u.Path
	}
	operation := evidence.OperationOf(op.Party, op.Method, path)
	list := outcomesOf(operation, crash)
	chosen := draw.Choose(outcomeQuestion+operation, len(list))
	if chosen > 0 {
		draw.Note(list[chosen].name)
	}
	return list[chosen]
}

// givenUp drops what was on its way.
func (e *enumeration) givenUp(*engine.Operation, *engine.Draw) engine.Fate {
	return engine.Fate{Kind: engine.Drop}
}

// plan carries out what was decided for the call.
func (e *enumeration) plan(imitation.Call) imitation.Behaviour {
	planned := e.planned
	e.planned = imitation.Behaviour{Kind: imitation.Succeed}
	return planned
}

// outcome is one thing that can come of a call: something on its way, or the provider's doing.
type outcome struct {
	name      string
	fate      engine.Fate
	behaviour imitation.Behaviour
}

// onTheWay is what the network can do to any call.
var onTheWay = []outcome{
	{name: "dial failed", fate: engine.Fate{Kind: engine.DialFail}},
	{name: "request lost", fate: engine.Fate{Kind: engine.LoseRequest}},
	{name: "answer lost", fate: engine.Fate{Kind: engine.LoseAnswer}},
	{name: "reset before the effect", fate: engine.Fate{Kind: engine.ConnResetBefore}},
	{name: "reset after the effect", fate: engine.Fate{Kind: engine.ResetAfter}},
	{name: "arrives late", fate: engine.Fate{Kind: engine.LateArrival, After: 5 * time.Second}},
	{name: "arrives twice", fate: engine.Fate{Kind: engine.Duplicate, After: time.Second}},
}

// anyProvider is what a provider can do to any call.
var anyProvider = []outcome{
	does("transient", imitation.Transient),
	does("permanent", imitation.Permanent),
	does("malformed", imitation.Malformed),
	does("wrong type", imitation.WrongType),
	does("huge", imitation.Huge),
	does("redirect", imitation.Redirect),
	does("contradicts the order", imitation.ContradictOrder),
}

// ofOperation is what a provider can do to calls of one operation besides.
var ofOperation = map[string][]outcome{
	evidence.OpReserve: {refused, notProcessed, pending, pendingRefused},
	evidence.OpCharge:  {refused, notProcessed, pending, pendingRefused, otherAmount},
	evidence.OpShip:    {refused, notProcessed, pending, pendingRefused},
	evidence.OpRelease: {refused, notProcessed},
	evidence.OpCommit:  {notProcessed},
	evidence.OpVoid:    {notProcessed, pending},

	evidence.OpStatusCharge: {pending, otherAmount},
}

var (
	refused        = does("refused", imitation.Refuse)
	notProcessed   = does("not processed", imitation.NotProcessed)
	pending        = does("pending", imitation.Pending)
	otherAmount    = does("contradicts the amount", imitation.ContradictAmount)
	pendingRefused = outcome{name: "pending, later refused",
		behaviour: imitation.Behaviour{Kind: imitation.Pending, SettleRefused: true}}
)

func does(name string, kind imitation.Kind) outcome {
	return outcome{name: name, behaviour: imitation.Behaviour{Kind: kind}}
}

// outcomesOf is the closed list of outcomes of an operation; the first is success.
func outcomesOf(operation string, providerOnly bool) []outcome {
	list := []outcome{{name: "succeeds"}}
	if !providerOnly {
		list = append(list, onTheWay...)
	}
	return append(append(list, anyProvider...), ofOperation[operation]...)
}
