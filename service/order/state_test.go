package order_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ordeal/service/order"
)

func TestStates(t *testing.T) {
	states := coverage{}
	for _, name := range stateNames() {
		states.expect(name)
	}
	for _, r := range readTable(t, "states.txt") {
		states.see(t, r, r.fields[0])
		state := order.State(r.fields[0])
		info, known := order.Info(state)
		if !known || info.State != state {
			r.errorf(t, "got %+v, known %v", info, known)
			continue
		}
		got := []string{string(info.State), string(info.Class), string(info.Status),
			r.fields[3], admitted(state)}
		if !slices.Equal(got, r.fields) {
			r.errorf(t, "got %v", got)
		}
		if want := escalation(t, r.fields[3]); info.Escalates != want {
			r.errorf(t, "escalates after %s, want %s", info.Escalates, want)
		}
	}
	states.complete(t, "states.txt")
	if len(order.States) != 14 {
		t.Errorf("%d states, want 14", len(order.States))
	}
	for _, unknown := range []order.State{"", "no_such_state", "Created", none} {
		if info, known := order.Info(unknown); known || info != (order.StateInfo{}) {
			t.Errorf("%q: got %+v, known %v", unknown, info, known)
		}
	}
}

// admitted prints the steps that may be taken in a state, as the table does.
func admitted(s order.State) string {
	var kinds []string
	for _, take := range order.Takes {
		switch {
		case take.State != s:
		case take.Event == "":
			kinds = append(kinds, string(take.Kind))
		default:
			kinds = append(kinds, string(take.Kind)+":"+string(take.Event))
		}
	}
	if kinds == nil {
		return "-"
	}
	return strings.Join(kinds, ",")
}

// escalation reads a duration; a series is how long a first reconciliation takes, its calls apart.
func escalation(t *testing.T, text string) (sum time.Duration) {
	t.Helper()
	if text != "series" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for attempt := 1; ; attempt++ {
		delay, more := order.RetryDelay(order.StepReconcile, 1, attempt)
		if !more {
			return sum
		}
		sum += delay
	}
}

// TestStatesAreConnected: an order can get to every state, and out of every one that is not
// final; a final state is never left.
func TestStatesAreConnected(t *testing.T) {
	reachable := reach("")
	for _, info := range order.States {
		if !slices.Contains(reachable, info.State) {
			t.Errorf("nothing leads to %s", info.State)
		}
		onward := reach(info.State)
		if left := len(onward) > 1; left == (info.Class == order.Final) {
			t.Errorf("%s is %s; left: %v", info.State, info.Class, left)
		}
		if !slices.ContainsFunc(onward, final) {
			t.Errorf("no final state can be reached from %s", info.State)
		}
	}
}

// final tells whether a state is final, or becomes it when it is closed (REF-4).
func final(s order.State) bool {
	info, _ := order.Info(s)
	return info.Class == order.Final || s == order.ShippingFailed || s == order.ReleaseFailed
}

// TestMovingStatesHaveAStep: a state that the service leaves by itself admits a step, and one
// that waits admits one or escalates at once.
func TestMovingStatesHaveAStep(t *testing.T) {
	for _, info := range order.States {
		idle := admitted(info.State) == "-"
		if info.Class == order.Moving && (idle || info.Escalates == 0) {
			t.Errorf("%+v: steps %s", info, admitted(info.State))
		}
		if info.Class == order.Waiting && idle && info.Escalates != 0 {
			t.Errorf("%s: nobody does anything for %s", info.State, info.Escalates)
		}
	}
}

// TestStepsFitTheirState: what a transition creates may be taken in the state that it leads to,
// and the state that a service must leave by itself is never entered without a step.
func TestStepsFitTheirState(t *testing.T) {
	for _, row := range order.Transitions {
		for _, kind := range []order.StepKind{row.Step, row.StepIfCancelling} {
			if kind != "" && !admits(row.To, kind) {
				t.Errorf("%s %s: creates %s, which %s does not admit", row.From, row.Event, kind,
					row.To)
			}
		}
		if row.StepIfCancelling != "" && row.Step == "" {
			t.Errorf("%s %s: a second step without a first", row.From, row.Event)
		}
		info, _ := order.Info(row.To)
		if info.Class == order.Moving && row.Step == "" && !intent(row) {
			t.Errorf("%s %s: leads to %s without a step", row.From, row.Event, row.To)
		}
	}
}

// admits tells whether a step of a kind may be taken in a state.
func admits(s order.State, kind order.StepKind) bool {
	return slices.ContainsFunc(order.Takes, func(take order.Take) bool {
		return take.State == s && take.Kind == kind
	})
}

// intent tells whether a transition is the take of a step, which goes on in the next state.
func intent(row order.Transition) bool {
	return slices.ContainsFunc(order.Takes, func(take order.Take) bool {
		return take.State == row.From && take.Event == row.Event && admits(row.To, take.Kind)
	})
}

// TestTakesFitTheTable: the event of a take is allowed in its state and keeps the step takable,
// and no pair is admitted twice.
func TestTakesFitTheTable(t *testing.T) {
	pairs := map[string]bool{}
	for _, take := range order.Takes {
		pair := string(take.Kind) + " " + string(take.State)
		if pairs[pair] {
			t.Errorf("%s is admitted twice", pair)
		}
		pairs[pair] = true
		if take.Event == "" {
			continue
		}
		next, err := order.Next(take.State, take.Event, "")
		if err != nil || !admits(next.To, take.Kind) {
			t.Errorf("%s: leads to %q, error %v", pair, next.To, err)
		}
	}
}

// TestReleasesHaveAnEnd: an order that enters releasing knows the final state that it is meant
// for, unless an earlier release already stored it, and the release can end there.
func TestReleasesHaveAnEnd(t *testing.T) {
	for _, row := range order.Transitions {
		if row.To != order.Releasing || row.From == order.ReleaseFailed {
			if row.End != "" && row.Event != order.ReleaseSucceeded {
				t.Errorf("%s %s: an end without a release", row.From, row.Event)
			}
			continue
		}
		next, err := order.Next(order.Releasing, order.ReleaseSucceeded, row.End)
		info, _ := order.Info(next.To)
		if err != nil || next.To != row.End || info.Class != order.Final {
			t.Errorf("%s %s: end %q leads to %q, error %v", row.From, row.Event, row.End, next.To,
				err)
		}
	}
}

// TestCompensationsAndMoneyAreAudited: the start and end of every compensation and every
// decision on money leave an audit row (AUD-1).
func TestCompensationsAndMoneyAreAudited(t *testing.T) {
	money := []order.State{order.Paying, order.PaymentUnknown}
	for _, row := range order.Transitions {
		decides := slices.Contains(money, row.From) || slices.Contains(money, row.To)
		if (decides || row.Compensation != "") && row.Audit == "" {
			t.Errorf("%s %s: no audit row", row.From, row.Event)
		}
	}
}

// TestListsAreClosed: each list holds every constant of its type that the package declares, once,
// and nothing else.
func TestListsAreClosed(t *testing.T) {
	declared := constants(t)
	for typ, list := range map[string][]string{
		"State":      stateNames(),
		"Event":      texts(order.Events),
		"StepKind":   texts(order.StepKinds),
		"StepStatus": texts(order.StepStatuses),
		"Outcome":    texts(order.Outcomes),
		"Answer":     texts(order.Answers),
		"Attention":  texts(order.Attentions),
	} {
		slices.Sort(list)
		slices.Sort(declared[typ])
		if len(list) == 0 || !slices.Equal(list, declared[typ]) {
			t.Errorf("%s: listed   %q\n\tdeclared %q", typ, list, declared[typ])
		}
	}
}

// TestEveryEventIsUsed: the list of events and the table know the same ones.
func TestEveryEventIsUsed(t *testing.T) {
	used := map[order.Event]bool{}
	for _, row := range order.Transitions {
		used[row.Event] = true
		if !slices.Contains(order.Events, row.Event) {
			t.Errorf("%q is not listed", row.Event)
		}
	}
	for _, event := range order.Events {
		if !used[event] {
			t.Errorf("%q moves nothing", event)
		}
	}
}

// texts turns a list of named strings into strings.
func texts[S ~string](list []S) []string {
	var names []string
	for _, s := range list {
		names = append(names, string(s))
	}
	return names
}

// constants reads the exported string constants of the package's source, by type.
func constants(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, name := range []string{"state.go", "event.go", "step.go", "outcome.go",
		"attention.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 || !spec.Names[0].IsExported() {
				return true
			}
			typ, named := spec.Type.(*ast.Ident)
			text, literal := spec.Values[0].(*ast.BasicLit)
			if named && literal && text.Kind == token.STRING {
				value, _ := strconv.Unquote(text.Value)
				found[typ.Name] = append(found[typ.Name], value)
			}
			return true
		})
	}
	return found
}
