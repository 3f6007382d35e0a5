package invariant

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ordeal/scenarios/evidence"
)

// Every invariant holds in every flawless story, at rest and seen halfway, and over all stories
// each has something to check.
func TestFlawlessStoriesHold(t *testing.T) {
	checked := map[string]int{}
	for _, s := range stories {
		for _, atRest := range []bool{true, false} {
			run := s.tell()
			run.AtRest = atRest
			for _, f := range Judge(run, All()) {
				checked[f.ID] += f.Result.Checked
				for _, v := range f.Result.Violations {
					t.Errorf("%s (at rest %v): %s: %s", s.name, atRest, f.ID, v.Message)
				}
			}
		}
	}
	for _, i := range Implemented() {
		if checked[i.ID] == 0 {
			t.Errorf("%s never had anything to check", i.ID)
		}
	}
}

// Every invariant holds at the quiet moments in the middle, with steps due and running.
func TestFlawlessUnderWayHolds(t *testing.T) {
	stages := []func(*story){
		func(*story) {},
		func(s *story) { s.take("w1"); s.move("reserve_started", reserving, 1, 1) },
		(*story).reserve,
		func(s *story) { s.reserve(); s.pay() },
		func(s *story) { s.reserve(); s.payVaguely(true); s.step(stepReconcile) },
		func(s *story) { s.reserve(); s.payWell() },
		func(s *story) {
			s.reserve()
			s.payWell()
			s.take("w1")
			s.move("ship_started", shipping, 3, 1)
		},
		func(s *story) {
			s.reserve()
			s.end(2, "closed")
			s.move("cancelled", releasing, 0, 0)
			s.cancel(202, "done")
			s.step(stepRelease)
			s.take("w1")
		},
	}
	for n, reach := range stages {
		s := newStory()
		reach(s)
		for _, f := range Judge(&s.run, All()) {
			for _, v := range f.Result.Violations {
				t.Errorf("stage %d, %s: %s: %s", n, s.order().State, f.ID, v.Message)
			}
		}
	}
}

// broken is a flawless story with one thing wrong, and the invariant that must notice.
type broken struct {
	name  string
	tell  func() *evidence.Run
	id    string
	words string
}

// expectRed runs broken stories: the invariant must be violated, and say why.
func expectRed(t *testing.T, cases []broken) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.id+" "+c.name, func(t *testing.T) {
			i, ok := Lookup(c.id)
			if !ok || i.Check == nil {
				t.Fatalf("no invariant %s", c.id)
			}
			run := c.tell()
			run.Index()
			result := i.Check(run)
			if result.Held() {
				t.Fatalf("%s held, want a violation about %q", c.id, c.words)
			}
			var messages []string
			for _, v := range result.Violations {
				messages = append(messages, v.Message)
			}
			if all := strings.Join(messages, "\n"); !strings.Contains(all, c.words) {
				t.Errorf("no violation says %q:\n%s", c.words, all)
			}
			if result.Checked == 0 {
				t.Error("violated, but nothing was checked")
			}
		})
	}
}

func TestListIsCompleteAndInOrder(t *testing.T) {
	for n, i := range All() {
		if want := fmt.Sprintf("INV-%02d", n+1); i.ID != want {
			t.Errorf("invariant %d has id %s, want %s", n, i.ID, want)
		}
		if i.Title == "" || i.Text == "" || len(i.Needs) == 0 {
			t.Errorf("%s lacks title, text or needs", i.ID)
		}
	}
	if n := len(All()); n != 18 {
		t.Errorf("%d invariants, want 18", n)
	}
	if _, ok := Lookup("INV-99"); ok {
		t.Error("INV-99 was found")
	}
}

// A judge that depends on the order in which evidence was collected would differ between runs.
func TestJudgingIsDeterministic(t *testing.T) {
	for _, s := range stories {
		forward, backward := s.tell(), s.tell()
		reverseAll(backward)
		a, b := fmt.Sprint(Judge(forward, All())), fmt.Sprint(Judge(backward, All()))
		if a != b {
			t.Errorf("%s: judged %s and, collected backwards, %s", s.name, a, b)
		}
	}
}

// reverseAll turns the collected evidence around; what is numbered keeps its numbers.
func reverseAll(r *evidence.Run) {
	slices.Reverse(r.Steps)
	slices.Reverse(r.Attempts)
	slices.Reverse(r.History)
	slices.Reverse(r.Audit)
	slices.Reverse(r.Payment)
	slices.Reverse(r.Warehouse)
	slices.Reverse(r.Client)
	slices.Reverse(r.Calls)
}

var stateName = regexp.MustCompile(`^[a-z_]+$`)

func TestTransitionTable(t *testing.T) {
	if n := len(transitions); n != 34 {
		t.Errorf("%d rows, want 34", n)
	}
	for row, end := range transitions {
		if !stateName.MatchString(row.to) || !stateName.MatchString(row.event) {
			t.Errorf("odd row %v", row)
		}
		begins := row.to == releasing && row.from != releaseFailed
		if begins != (end != "") {
			t.Errorf("row %v begins a release: %v, but its end is %q", row, begins, end)
		}
		if final(row.from) {
			t.Errorf("row %v leaves a final state", row)
		}
	}
}
