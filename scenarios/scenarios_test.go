package scenarios

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ordeal/scenarios/invariant"
)

func TestEveryScenarioIsValid(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range All() {
		if err := s.Validate(); err != nil {
			t.Error(err)
		}
		if seen[s.Name] {
			t.Errorf("two scenarios are called %q", s.Name)
		}
		seen[s.Name] = true
	}
}

// No scenario is excused from an invariant because of its faults.
func TestEveryScenarioIsHeldToEverything(t *testing.T) {
	for _, s := range All() {
		for _, i := range invariant.Implemented() {
			if !slices.Contains(s.Invariants, i.ID) {
				t.Errorf("%s is not judged by %s", s.Name, i.ID)
			}
		}
	}
}

func TestEveryFaultKindIsMandatorySomewhere(t *testing.T) {
	for _, kind := range FaultKinds() {
		if !slices.ContainsFunc(All(), func(s Scenario) bool {
			return slices.Contains(s.Mandatory, kind)
		}) {
			t.Errorf("no sweep fails when %s never fires", kind)
		}
	}
}

func TestFaultKindsAreDistinctAndSorted(t *testing.T) {
	kinds := FaultKinds()
	if len(kinds) != 32 {
		t.Errorf("%d kinds, want 32", len(kinds))
	}
	seen := map[FaultKind]bool{}
	for _, k := range kinds {
		if seen[k] || !k.Known() {
			t.Errorf("%s is listed twice or unknown", k)
		}
		seen[k] = true
		if k.IsCrash() != strings.HasPrefix(string(k), "crash.") {
			t.Errorf("%s counts as crash: %v", k, k.IsCrash())
		}
		if k.IsBehaviour() != strings.HasPrefix(string(k), "provider.") {
			t.Errorf("%s counts as behaviour: %v", k, k.IsBehaviour())
		}
	}
}

func TestLookup(t *testing.T) {
	s, err := Lookup("two-executors")
	if err != nil || s.Name != "two-executors" {
		t.Errorf("got %q, %v", s.Name, err)
	}
	_, err = Lookup("nothing")
	if err == nil || !strings.Contains(err.Error(), strings.Join(Names(), ", ")) {
		t.Errorf("got %v, want an error that lists the names", err)
	}
}

// The catalogue is handed out fresh: nobody can change it for others.
func TestCatalogueIsTheCallersOwn(t *testing.T) {
	All()[1].Faults[0].PerMille = 1000
	All()[1].Invariants[0] = "INV-99"
	if got := All()[1]; got.Faults[0].PerMille == 1000 || got.Invariants[0] == "INV-99" {
		t.Error("a change of one copy shows in the next")
	}
}

func TestValidateNames(t *testing.T) {
	for _, c := range []struct {
		want  string
		spoil func(*Scenario)
	}{
		{"lower-case-with-dashes", func(s *Scenario) { s.Name = "Two Words" }},
		{"must all be written", func(s *Scenario) { s.Goal = "" }},
		{"no requirement is named", func(s *Scenario) { s.Requirements = nil }},
		{`requirement "WF-9" is no known id`, func(s *Scenario) { s.Requirements[0] = "WF-9" }},
		{"no invariant is named", func(s *Scenario) { s.Invariants = nil }},
		{`invariant "INV-18" cannot be judged`, func(s *Scenario) { s.Invariants[0] = "INV-18" }},
		{`invariant "INV-99" cannot be judged`, func(s *Scenario) { s.Invariants[0] = "INV-99" }},
		{"orders: 3 to 1", func(s *Scenario) { s.Workload.Orders = Range{3, 1} }},
		{"items: 0 to 1", func(s *Scenario) { s.Workload.Items = Range{0, 1} }},
		{"clients: 0", func(s *Scenario) { s.Workload.Clients = 0 }},
		{"duplicates: 1001", func(s *Scenario) { s.Workload.DuplicatePerMille = 1001 }},
		{"cancel: -1", func(s *Scenario) { s.Workload.Cancel.PerMille = -1 }},
		{"spacing: 1s to 0s", func(s *Scenario) { s.Workload.Spacing = Span{time.Second, 0} }},
		{"executors: 0", func(s *Scenario) { s.Executors = 0 }},
		{"fault call.typo is no known kind", func(s *Scenario) { s.Faults[0].Kind = "call.typo" }},
		{"fault provider.pending belongs to the outcomes", func(s *Scenario) {
			s.Faults[0].Kind = ProviderPending
		}},
		{"is named twice", func(s *Scenario) { s.Faults[1].Kind = s.Faults[0].Kind }},
		{"fault crash.after_call: 0", func(s *Scenario) { s.Faults[0].PerMille = 0 }},
		{"no such operation", func(s *Scenario) { s.Outcomes[0].Operation = "pay" }},
		{"no provider behaves so", func(s *Scenario) { s.Outcomes[0].Behaviour = Pause }},
		{"outcome provider.refused of charge is named twice", func(s *Scenario) {
			s.Outcomes[1] = s.Outcomes[0]
		}},
		{"the sum exceeds 1000", func(s *Scenario) { s.Outcomes[0].PerMille = 1000 }},
		{"heal: faults without an end", func(s *Scenario) { s.Heal = 0 }},
		{"limit: no time to come to rest", func(s *Scenario) { s.Limit = 0 }},
		{"crashes: faults and count", func(s *Scenario) { s.Crashes.Count = Range{} }},
		{"pauses: faults and count", func(s *Scenario) { s.Pauses.Count = Range{0, 1} }},
		{"pauses at statements: 1001", func(s *Scenario) { s.Pauses.StatementPerMille = 1001 }},
		{"crashes.down: 0s to 48h0m0s", func(s *Scenario) {
			s.Crashes.Down = Span{0, 48 * time.Hour}
		}},
		{"mandatory db.deadlock is never on", func(s *Scenario) { s.Mandatory[0] = DBDeadlock }},
	} {
		s := crashes()
		c.spoil(&s)
		err := s.Validate()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want an error about %q", err, c.want)
		} else if !strings.Contains(err.Error(), "scenario") {
			t.Errorf("%v does not name the scenario", err)
		}
	}
}
