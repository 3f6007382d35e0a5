package sim

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"ordeal/reports"
	"ordeal/scenarios"
	"ordeal/sim/engine"
)

// ReplayVersion is the version of the replay files that are written and read.
const ReplayVersion = 1

// replayFormat is how a replay file says what it is.
const replayFormat = "ordeal-replay"

// Replay is a recorded run: all that is needed to play it again, alone, and what came of it. The
// run is the default run of its seed, in which every choice is zero, but for the deviations.
type Replay struct {
	// Format and Version say what the file is.
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Build is what the run was recorded with.
	Build    reports.Build `json:"build"`
	Scenario string        `json:"scenario"`
	// Seed names the run; it still decides what is no choice, such as jitter of the service.
	Seed uint64 `json:"seed"`
	// Strategy is how the choices were found. An exhaustive run is also played by other
	// rules: see Explore.
	Strategy Strategy `json:"strategy"`
	// Crashes is how many an exhaustive run may have.
	Crashes int    `json:"crashes,omitempty"`
	Expect  Expect `json:"expect"`
	// Choices is the number of choices of the run, those that are zero included.
	Choices int `json:"choices"`
	// Deviations are the choices that are not zero, in their order.
	Deviations []engine.Deviation `json:"-"`

	// Name is that of the file, where it is part of the corpus.
	Name string `json:"-"`
}

// Expect is what came of a recorded run.
type Expect struct {
	// Invariant is the id of what was violated first, or reports.Broken; empty if all held.
	Invariant string `json:"invariant"`
	Message   string `json:"message"`
	EventHash string `json:"event_hash"`
}

// NewReplay records a run whose verdict holds its choices.
func NewReplay(build reports.Build, c Course, v Verdict) Replay {
	id, message := v.Finding()
	return Replay{
		Format:     replayFormat,
		Version:    ReplayVersion,
		Build:      build,
		Scenario:   v.Scenario,
		Seed:       v.Seed,
		Strategy:   cmp.Or(c.Strategy, Random),
		Crashes:    c.Crashes,
		Expect:     Expect{Invariant: id, Message: message, EventHash: v.EventHash},
		Choices:    len(v.Choices),
		Deviations: engine.Deviations(v.Choices),
	}
}

// Finding is the first thing that a run violated: the id of an invariant, or reports.Broken, and
// a message; both are empty where all held.
func (v Verdict) Finding() (id, message string) {
	if v.Broken != "" {
		return reports.Broken, v.Broken
	}
	for _, j := range v.Invariants {
		if len(j.Violations) > 0 {
			first := j.Violations[0]
			return j.ID, fmt.Sprintf("order %s: %s", first.Order, first.Message)
		}
	}
	return "", ""
}

// Violates reports whether the run violated an invariant, or broke off for reports.Broken.
func (v Verdict) Violates(id string) bool {
	if id == reports.Broken {
		return v.Broken != ""
	}
	return v.Broken == "" && slices.ContainsFunc(v.Invariants, func(j Judgement) bool {
		return j.ID == id && len(j.Violations) > 0
	})
}

// Course is how the recorded run is played again.
func (r Replay) Course(f Follow) Course {
	c := Course{Follow: f, Recorded: r.Deviations}
	if r.Strategy == Exhaustive {
		c.Strategy, c.Crashes = Exhaustive, r.Crashes
	}
	return c
}

// Encode writes the file: JSON with one line per deviation.
func (r Replay) Encode(w io.Writer) error {
	head, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode replay: %w", err)
	}
	var b bytes.Buffer
	b.Write(bytes.TrimSuffix(head, []byte("\n}")))
	b.WriteString(",\n  \"deviations\": [")
	for i, d := range r.Deviations {
		line, err := json.Marshal(d)
		if err != nil {
			return fmt.Errorf("encode replay: %w", err)
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n    ")
		b.Write(line)
	}
	b.WriteString("\n  ]\n}\n")
	_, err = w.Write(b.Bytes())
	return err
}

// ReadReplay reads a replay file. An error tells what is wrong with it: no JSON, another version,
// an unknown field or scenario.
func ReadReplay(in io.Reader) (Replay, error) {
	var file struct {
		Replay
		Deviations []engine.Deviation `json:"deviations"`
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return Replay{}, fmt.Errorf("read replay: %w", err)
	}
	var kind struct {
		Format  string
		Version int
	}
	if err := json.Unmarshal(text, &kind); err != nil {
		return Replay{}, fmt.Errorf("read replay: %w", err)
	}
	if kind.Format != replayFormat || kind.Version != ReplayVersion {
		return Replay{}, fmt.Errorf("read replay: the file is %q version %d, not %q version %d",
			kind.Format, kind.Version, replayFormat, ReplayVersion)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return Replay{}, fmt.Errorf("read replay: %w", err)
	}
	file.Replay.Deviations = file.Deviations
	return file.Replay, file.check()
}

// check reports what cannot be played.
func (r Replay) check() error {
	_, problem := scenarios.Lookup(r.Scenario)
	problems := []error{problem}
	last := -1
	for _, d := range r.Deviations {
		if d.At <= last || d.Nth < 1 || d.N < 2 || d.Value < 1 || d.Value >= d.N {
			problems = append(problems, fmt.Errorf("choice %d (%s %q) is out of order or out of "+
				"range", d.At, d.Stream, d.Label))
		}
		last = d.At
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("read replay: %w", err)
	}
	return nil
}
