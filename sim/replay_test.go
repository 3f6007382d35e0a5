package sim

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ordeal/reports"
	"ordeal/scenarios/invariant"
	"ordeal/sim/engine"
)

func someReplay() Replay {
	return NewReplay(reports.Build{Version: "v1", Commit: "c", Go: "go1.26"}, Course{}, Verdict{
		Scenario:  "happy",
		Seed:      7,
		EventHash: "abc",
		Choices: []engine.Choice{
			{Stream: "faults", Label: "fate@x y", N: 1000, Value: 0},
			{Stream: "faults", Label: "fate@x y", N: 1000, Value: 999, Note: "pause"},
			{Stream: "schedule", Label: "pick", N: 3, Value: 2},
		},
		Invariants: []Judgement{{ID: "INV-01"}, {ID: "INV-04", Violations: []invariant.Violation{
			{Order: "o", Message: "m"}}}},
	})
}

// A replay file is read as it was written, and has a line per deviation.
func TestReplayFileIsReadAsWritten(t *testing.T) {
	r := someReplay()
	var file bytes.Buffer
	if err := r.Encode(&file); err != nil {
		t.Fatal(err)
	}
	text := file.String()
	if !strings.Contains(text, "\n    {\"at\":1,\"stream\":\"faults\",\"label\":\"fate@x y\","+
		"\"nth\":2,\"of\":1000,\"value\":999,\"means\":\"pause\"},\n") {
		t.Errorf("no such line in\n%s", text)
	}
	again, err := ReadReplay(&file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r, again); d != "" {
		t.Error(d)
	}
	if r.Expect.Invariant != "INV-04" || r.Expect.Message != "order o: m" || r.Choices != 3 {
		t.Errorf("got %+v", r)
	}
}

// A file that cannot be played is refused, with the reason.
func TestReplayFilesThatAreRefused(t *testing.T) {
	var file bytes.Buffer
	if err := someReplay().Encode(&file); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, words string }{
		{`"version": 1,`, `"version": 2,`, `version 2`},
		{`"ordeal-replay"`, `"other"`, `"other"`},
		{`"happy"`, `"unknown"`, `scenario "unknown"`},
		{`"seed": 7`, `"sead": 7`, "sead"},
		{`"at":2`, `"at":0`, "choice 0"},
		{`"value":2`, `"value":3`, "out of range"},
		{`"choices": 3,`, ``, ""},
		{`{`, `[`, "read replay"},
	} {
		text := strings.Replace(file.String(), c.old, c.new, 1)
		if text == file.String() {
			t.Fatalf("%q is not in the file", c.old)
		}
		_, err := ReadReplay(strings.NewReader(text))
		if c.words == "" && err != nil || c.words != "" &&
			(err == nil || !strings.Contains(err.Error(), c.words)) {
			t.Errorf("%s: got %v, want %q", c.new, err, c.words)
		}
	}
}

// The corpus can be read, and all of it is played on its scenarios.
func TestCorpusCanBePlayed(t *testing.T) {
	all, err := Corpus()
	if err != nil || len(all) == 0 {
		t.Fatalf("%d replays, %v", len(all), err)
	}
	for _, r := range all {
		if r.Expect.Invariant == "" || len(r.Deviations) == 0 {
			t.Errorf("%s does not tell what was wrong, or how to show it", r.Name)
		}
	}
}

func TestCourseIsChecked(t *testing.T) {
	for _, c := range []struct {
		course Course
		words  string
	}{
		{Course{}, ""},
		{Course{Strategy: PCT, Depth: 3}, ""},
		{Course{Strategy: "careful"}, "random, pct"},
		{Course{Strategy: Exhaustive}, "random, pct"},
		{Course{Strategy: PCT, Depth: -1}, "depth -1"},
	} {
		err := c.course.Check()
		if c.words == "" && err != nil || c.words != "" &&
			(err == nil || !strings.Contains(err.Error(), c.words)) {
			t.Errorf("%+v: got %v, want %q", c.course, err, c.words)
		}
	}
}

// A child has one answer more, after the last, within what the run may have.
func TestChildrenOfARun(t *testing.T) {
	e := &explorer{ExploreConfig: ExploreConfig{Crashes: 1, Outcomes: 1}}
	choices := []engine.Choice{
		{Stream: engine.StreamSchedule, Label: "pick", N: 9},
		{Stream: engine.StreamFaults, Label: "crash@p Take", N: 4},
		{Stream: engine.StreamFaults, Label: "crash@p Take", N: 4},
		{Stream: engine.StreamFaults, Label: "outcome charge@p POST", N: 3},
		{Stream: engine.StreamFaults, Label: "restart", N: 1025},
	}
	roots := e.children(branch{}, choices)
	if len(roots) != 3+3+2 {
		t.Fatalf("%d children of the default run", len(roots))
	}
	second := roots[3].answers[0]
	if second.At != 2 || second.Nth != 2 || second.Value != 1 || roots[3].crashes != 1 {
		t.Errorf("got %+v", roots[3])
	}
	if n := len(e.children(roots[3], choices)); n != 2 {
		t.Errorf("%d children of a run with a crash, want its outcomes after it", n)
	}
	if n := len(e.children(roots[7], choices)); n != 0 {
		t.Errorf("%d children of a run with an outcome, want the crashes after it", n)
	}
}

// Parts are cut out of the choices of one stream, the others stay.
func TestCutOut(t *testing.T) {
	list := []engine.Deviation{{At: 0, Stream: "a"}, {At: 1, Stream: "b"}, {At: 2, Stream: "a"},
		{At: 3, Stream: "a"}}
	of := func(d engine.Deviation) bool { return d.Stream == "a" }
	var left []int
	for _, d := range cutOut(list, of, 1, 3) {
		left = append(left, d.At)
	}
	if d := cmp.Diff([]int{0, 1}, left); d != "" || len(list) != 4 || count(list, of) != 3 {
		t.Error(d)
	}
}
