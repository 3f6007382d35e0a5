package api

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"
	yaml "github.com/pb33f/go-yaml"
	"github.com/pb33f/libopenapi"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"

	"ordeal/service/order"
	"ordeal/service/store"
)

// described is the document as a model.
func described(t *testing.T) *v3.Document {
	t.Helper()
	document, err := libopenapi.NewDocument(openapi)
	if err != nil {
		t.Fatal(err)
	}
	model, err := document.BuildV3Model()
	if err != nil {
		t.Fatal(err)
	}
	return &model.Model
}

// TestRoutesAreDescribed: every route is in the document, and every operation of the document is
// a route. HEAD goes with GET.
func TestRoutesAreDescribed(t *testing.T) {
	var routes, operations, heads, gets []string
	err := chi.Walk(newAPI(Config{}).router, func(
		method, path string, _ http.Handler, _ ...func(http.Handler) http.Handler,
	) error {
		switch method {
		case http.MethodHead:
			heads = append(heads, path)
			return nil
		case http.MethodGet:
			gets = append(gets, path)
		}
		routes = append(routes, method+" "+path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range described(t).Paths.PathItems.FromOldest() {
		for method := range item.GetOperations().FromOldest() {
			operations = append(operations, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(routes)
	slices.Sort(operations)
	if diff := cmp.Diff(routes, operations); diff != "" {
		t.Errorf("routes and operations differ: %s", diff)
	}
	slices.Sort(heads)
	slices.Sort(gets)
	if diff := cmp.Diff(gets, heads); diff != "" || len(gets) == 0 {
		t.Errorf("GET and HEAD differ: %s", diff)
	}
}

// TestListsAreDescribed: the closed lists of the document are those of the program.
func TestListsAreDescribed(t *testing.T) {
	lists := map[string][]string{
		"State":           texts(order.States, func(s order.StateInfo) string { return string(s.State) }),
		"AttentionReason": texts(order.Attentions, func(a order.Attention) string { return string(a) }),
		"Action":          texts(order.Actions, func(a order.Action) string { return string(a) }),
		"ReasonCode":      texts(reasonCodes, func(r reasonCode) string { return r.code }),
		"ProblemCode":     nil,
		"Currency":        {order.Currency},
		"Status": {string(order.StatusProcessing), string(order.StatusPaid),
			string(order.StatusInDelivery), string(order.StatusFailed)},
		"Compensation": {string(order.CompensationNone), string(order.CompensationPending),
			string(order.CompensationDone), string(order.CompensationIncomplete)},
		"CancelStatus": {string(order.CancelWaiting), string(order.CancelDone),
			string(order.CancelRefused), string(order.CancelSuperseded)},
	}
	for c := range kinds {
		lists["ProblemCode"] = append(lists["ProblemCode"], string(c))
	}
	document := described(t)
	for name, want := range lists {
		compareList(t, name, want, enumOf(document, name, ""))
	}
	compareList(t, "events",
		texts(order.Events, func(e order.Event) string { return string(e) }),
		enumOf(document, "Change", "event"))
	compareList(t, "kinds of steps",
		texts(order.StepKinds, func(k order.StepKind) string { return string(k) }),
		enumOf(document, "Step", "kind"))
	compareList(t, "states of refunds", refundStates(), enumOf(document, "Refund", "state"))
	list := document.Paths.PathItems.GetOrZero(ordersRoute).Get
	for _, p := range list.Parameters {
		if p.Name == "attention" {
			compareList(t, "filter by attention", append(lists["AttentionReason"], anyAttention),
				values(p.Schema.Schema().Enum))
		}
	}
}

// refundStates lists the states that the table of refunds leads to.
func refundStates() (states []string) {
	for _, row := range order.RefundTransitions {
		if !slices.Contains(states, string(row.To)) {
			states = append(states, string(row.To))
		}
	}
	return states
}

func texts[T any](list []T, text func(T) string) []string {
	out := make([]string, len(list))
	for n, item := range list {
		out[n] = text(item)
	}
	return out
}

// enumOf returns the list of a schema, or of a property of it.
func enumOf(document *v3.Document, name, property string) []string {
	schema := document.Components.Schemas.GetOrZero(name).Schema()
	if property != "" {
		schema = schema.Properties.GetOrZero(property).Schema()
	}
	return values(schema.Enum)
}

// values returns the texts of a list in the document.
func values(nodes []*yaml.Node) []string {
	return texts(nodes, func(n *yaml.Node) string { return n.Value })
}

func compareList(t *testing.T, name string, want, got []string) {
	t.Helper()
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
}

// TestCodesAreDescribed: every code is a code of some answer with its status, and no answer has
// a code of another status.
func TestCodesAreDescribed(t *testing.T) {
	document := described(t)
	seen := map[string]bool{}
	for name, response := range document.Components.Responses.FromOldest() {
		status, codes := problemsOf(response)
		for _, c := range codes {
			seen[c] = true
			if strconv.Itoa(kinds[code(c)].status) != status {
				t.Errorf("%s: %s has not status %s", name, c, status)
			}
		}
	}
	for c := range kinds {
		if !seen[string(c)] {
			t.Errorf("no answer has code %s", c)
		}
	}
	for path, item := range document.Paths.PathItems.FromOldest() {
		for method, operation := range item.GetOperations().FromOldest() {
			for status, response := range operation.Responses.Codes.FromOldest() {
				declared, codes := problemsOf(response)
				if (len(codes) > 0) != (status >= "400") || len(codes) > 0 && declared != status {
					t.Errorf("%s %s: %s leads to %s %s", method, path, status, declared, codes)
				}
			}
		}
	}
}

// problemsOf returns the status and the codes of a response that is a problem.
func problemsOf(response *v3.Response) (status string, codes []string) {
	if response.Content == nil || response.Content.GetOrZero(typeProblem) == nil {
		return "", nil
	}
	properties := response.Content.GetOrZero(typeProblem).Schema.Schema().Properties
	return properties.GetOrZero("status").Schema().Const.Value,
		values(properties.GetOrZero("code").Schema().Enum)
}

// TestKindsAreExplained: every problem says what it means.
func TestKindsAreExplained(t *testing.T) {
	for c, k := range kinds {
		if k.title == "" || k.meaning == "" || k.status < 400 {
			t.Errorf("%s: %+v", c, k)
		}
	}
	for _, r := range reasonCodes {
		if r.code == "" || r.meaning == "" {
			t.Errorf("%+v", r)
		}
	}
}

// TestBoundsAreDescribed: the limits of the document are those of the program.
func TestBoundsAreDescribed(t *testing.T) {
	schemas := described(t).Components.Schemas
	if got := *schemas.GetOrZero("Note").Schema().MaxLength; got != maxNote {
		t.Errorf("notes of %d characters", got)
	}
	version := schemas.GetOrZero("ExpectedVersion").Schema()
	if *version.Minimum != 1 || *version.Maximum != maxVersion {
		t.Errorf("versions from %v to %v", *version.Minimum, *version.Maximum)
	}
	items := schemas.GetOrZero("NewOrder").Schema().Properties.GetOrZero("items").Schema()
	if *items.MinItems != 1 || *items.MaxItems != order.MaxItems {
		t.Errorf("from %d to %d items", *items.MinItems, *items.MaxItems)
	}
	for _, p := range described(t).Paths.PathItems.GetOrZero(ordersRoute).Get.Parameters {
		if s := p.Schema.Schema(); p.Name == "limit" && (*s.Minimum != 1 || *s.Maximum != maxLimit ||
			s.Default.Value != strconv.Itoa(defaultLimit)) {
			t.Errorf("limit from %v to %v", *s.Minimum, *s.Maximum)
		}
	}
	for name, route := range commandRoutes {
		if name != store.CommandRefund && !strings.HasSuffix(route, "/"+string(name)) {
			t.Errorf("%s is at %s", name, route)
		}
	}
}
