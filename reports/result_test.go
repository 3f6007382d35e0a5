package reports

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// sample is a sweep with two failures, a fault that never fired and an invariant that never had
// anything to check.
func sample() Result {
	return Merge(Result{
		Build:  Build{Version: "v0.1.0", Commit: "1f2e3d4", Go: "go1.26.8"},
		Config: map[string]string{"seeds": "1..400", "shard": "1/1"},
		Scenarios: []Scenario{
			{Name: "swarm", Seeds: Seeds{Run: 200, Passed: 197, Failed: 2, Nondeterministic: 1},
				Statements: 14_000, Virtual: 50 * time.Hour, Elapsed: 1500 * time.Millisecond},
			{Name: "happy", Seeds: Seeds{Run: 200, Passed: 200},
				Statements: 12_000, Virtual: time.Hour, Elapsed: 500 * time.Millisecond},
		},
		Invariants: []Invariant{
			{ID: "INV-05", Title: "No release beside a charge", Checked: 96, Violated: 2},
			{ID: "INV-01", Title: "One charge per order", Checked: 780},
			{ID: "INV-12", Title: "Money adds up"},
		},
		Faults: []Fault{
			{Kind: "pause", Offered: 30_000, Fired: 212, Compared: 14, Mattered: 9},
			{Kind: "call.reset", Offered: 4_000},
		},
		Failures: []Failure{
			{Scenario: "swarm", Seed: 40, Invariant: "INV-05",
				Message: "w1 asked for the release\n(call 7) | while *nothing* was <known>",
				Repeats: "exact", Command: "simulate run --scenario swarm --seed 40"},
			{Scenario: "swarm", Seed: 7, Invariant: "INV-05", Message: "released too early",
				Command: "simulate run --scenario swarm --seed 7"},
			{Scenario: "swarm", Seed: 99, Invariant: Nondeterminism,
				Message: "event 112 differs", Repeats: "3 of 10",
				Detail:  "  both   111 call\n  first  112 timer\n  again  112 call\n",
				Command: "simulate run --scenario swarm --seed 99"},
		},
	})
}

func TestGoldenRenderings(t *testing.T) {
	r := sample()
	long := sample()
	for seed := range uint64(25) {
		long.Failures = append(long.Failures, Failure{Scenario: "happy", Seed: seed,
			Invariant: Broken, Message: strings.Repeat("word ", 300), Command: "simulate"})
	}
	long.Settle()
	run := Run{Result: r, EventHash: "c0ffee", Events: 312,
		Orders: []OrderCost{{Order: "o1", Statements: 21, RoundTrips: 17}}}
	for name, render := range map[string]func(io.Writer) error{
		"summary.txt":      r.Summary,
		"junit.xml":        r.JUnit,
		"summary.md":       r.Markdown,
		"result.json":      r.Encode,
		"run.json":         run.Encode,
		"many-summary.txt": long.Summary,
		"many-junit.xml":   long.JUnit,
		"many-summary.md":  long.Markdown,
		"empty.txt":        New(Build{}, nil).Summary,
		"empty.xml":        New(Build{}, nil).JUnit,
		"empty.json":       New(Build{}, nil).Encode,
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := render(&got); err != nil {
				t.Fatal(err)
			}
			golden(t, name, got.Bytes())
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("-want +got (run with -rewrite if the change is meant):\n%s", diff)
	}
}

func TestWriteAndRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "report")
	r := sample()
	for range 2 { // the second time over the files of the first
		if err := r.Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, ResultFile)} {
		got, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, got); diff != "" {
			t.Errorf("read something else than was written:\n%s", diff)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 3 {
		t.Errorf("%d files left in the folder, want 3: %v", len(entries), entries)
	}
}

// A rendering that fails leaves the old file as it was, and no other.
func TestReplaceIsAtomic(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, ResultFile)
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	failure := errors.New("no more ink")
	err := replace(path, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half of the n")
		return failure
	})
	if !errors.Is(err, failure) {
		t.Errorf("got %v, want %v", err, failure)
	}
	data, _ := os.ReadFile(path)
	entries, _ := os.ReadDir(dir)
	if string(data) != "old" || len(entries) != 1 {
		t.Errorf("the folder holds %v, the file %q", entries, data)
	}
}

func TestDecodeRefuses(t *testing.T) {
	var whole bytes.Buffer
	if err := sample().Encode(&whole); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ old, new string }{
		"another version":  {`"schema_version": 2`, `"schema_version": 1`},
		"an unknown field": {`"build"`, `"colour": 1, "build"`},
		"wrong sums":       {`"run": 400`, `"run": 401`},
		"runs without verdict": {`"passed": 197,
      "failed": 2`, `"passed": 197,
      "failed": 1`},
		"a negative count": {`"checked": 96`, `"checked": -96`},
		"a negative fault": {`"fired": 212`, `"fired": -212`},
		"half a file":      {`"failures"`, ``},
		"trailing data":    {"]\n}\n", "]\n}\n{}"},
	} {
		text := strings.Replace(whole.String(), c.old, c.new, 1)
		if text == whole.String() {
			t.Fatalf("%s: nothing was replaced", name)
		}
		if _, err := Decode([]byte(text)); err == nil {
			t.Errorf("%s was accepted", name)
		} else if name == "another version" && !errors.Is(err, ErrSchema) {
			t.Errorf("%s: %v is not ErrSchema", name, err)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: got %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	var whole bytes.Buffer
	if err := sample().Encode(&whole); err != nil {
		f.Fatal(err)
	}
	f.Add(whole.Bytes())
	f.Add([]byte(`{"schema_version":2}`))
	f.Add([]byte(`{"schema_version":2,"config":{"a":"b, a"},"invariants":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Decode(data)
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := r.Encode(&again); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		second, err := Decode(again.Bytes())
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if diff := cmp.Diff(r, second); diff != "" {
			t.Fatalf("reading is not stable:\n%s", diff)
		}
		for _, render := range []func(io.Writer) error{r.Summary, r.JUnit, r.Markdown} {
			if err := render(io.Discard); err != nil {
				t.Fatalf("what was read cannot be rendered: %v", err)
			}
		}
	})
}

// drawResult draws a small result whose rows often meet those of another.
func drawResult(t *rapid.T) Result {
	word := rapid.SampledFrom([]string{"", "a", "b", "a, b", "c"})
	count := rapid.IntRange(0, 9)
	r := Result{
		Build:  Build{Version: word.Draw(t, "version"), Commit: word.Draw(t, "commit")},
		Config: rapid.MapOf(word, word).Draw(t, "config"),
	}
	for range rapid.IntRange(0, 3).Draw(t, "rows") {
		seeds := Seeds{Passed: count.Draw(t, "passed"), Failed: count.Draw(t, "failed")}
		seeds.Run = seeds.Passed + seeds.Failed
		r.Scenarios = append(r.Scenarios, Scenario{Name: word.Draw(t, "name"), Seeds: seeds,
			Statements: int64(count.Draw(t, "n")), Virtual: time.Duration(count.Draw(t, "v")),
			Elapsed: time.Duration(count.Draw(t, "e"))})
		r.Invariants = append(r.Invariants, Invariant{ID: word.Draw(t, "id"),
			Title: word.Draw(t, "title"), Checked: int64(count.Draw(t, "checked"))})
		r.Faults = append(r.Faults, Fault{Kind: word.Draw(t, "kind"),
			Fired: int64(count.Draw(t, "fired"))})
		r.Failures = append(r.Failures, Failure{Scenario: word.Draw(t, "scenario"),
			Seed: uint64(count.Draw(t, "seed")), Message: word.Draw(t, "message")})
	}
	return r
}

func TestMergeIsAssociativeAndCommutative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawResult(t), drawResult(t), drawResult(t)
		whole := Merge(a, b, c)
		for name, other := range map[string]Result{
			"left":    Merge(Merge(a, b), c),
			"right":   Merge(a, Merge(b, c)),
			"turned":  Merge(c, b, a),
			"swapped": Merge(b, a, c),
			"settled": Merge(whole),
			"nothing": Merge(Merge(), whole),
		} {
			if diff := cmp.Diff(whole, other); diff != "" {
				t.Fatalf("%s: -whole +other\n%s", name, diff)
			}
		}
	})
}

// Merging must not reach back into what was merged.
func TestMergeLeavesItsArgumentsAlone(t *testing.T) {
	a, b := sample(), sample()
	merged := Merge(a, b)
	merged.Scenarios[0].Run = -1
	merged.Config["seeds"] = "changed"
	if diff := cmp.Diff(b, a); diff != "" {
		t.Errorf("an argument was changed:\n%s", diff)
	}
}

func TestExitCode(t *testing.T) {
	ran := Result{Seeds: Seeds{Run: 1, Passed: 1}}
	with := func(spoil func(*Result)) Result {
		r := ran
		spoil(&r)
		return r
	}
	for _, c := range []struct {
		name   string
		result Result
		want   int
	}{
		{"all held", ran, ExitHeld},
		{"nothing ran", Result{}, ExitNothingRan},
		{"a seed failed", with(func(r *Result) { r.Seeds.Failed = 1 }), ExitViolated},
		{"an invariant was violated", with(func(r *Result) {
			r.Invariants = []Invariant{{Violated: 1}}
		}), ExitViolated},
		{"a run broke", with(func(r *Result) {
			r.Failures = []Failure{{Invariant: Broken}}
		}), ExitViolated},
		{"a seed did not replay", with(func(r *Result) {
			r.Seeds.Nondeterministic = 1
		}), ExitNondeterministic},
		{"only a failure tells so", with(func(r *Result) {
			r.Failures = []Failure{{Invariant: Nondeterminism}}
		}), ExitNondeterministic},
		{"both", with(func(r *Result) {
			r.Seeds.Failed, r.Seeds.Nondeterministic = 1, 1
		}), ExitViolated},
		{"coverage is missing although nothing ran", Result{
			Failures: []Failure{{Invariant: Coverage}},
		}, ExitViolated},
	} {
		if got := ExitCode(c.result); got != c.want {
			t.Errorf("%s: exit code %d, want %d", c.name, got, c.want)
		}
	}
}
