package sim

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"ordeal/scenarios"
)

// job is one run that a worker is asked for.
type job struct {
	Scenario string `json:"scenario"`
	Seed     uint64 `json:"seed"`
	Trace    bool   `json:"trace,omitempty"`
	// Course says how the choices of the run are made; nil means drawn from the seed.
	Course *Course `json:"course,omitempty"`
	// Compare asks for a comparison with the faultless twin; see compare.
	Compare bool `json:"compare,omitempty"`
	// Load is how many goroutines spin beside the run.
	Load int `json:"load,omitempty"`
	// Replay names the replay file of the run.
	Replay string `json:"replay,omitempty"`
}

// answer is a worker's answer to a job.
type answer struct {
	Verdict Verdict `json:"verdict"`
	// Failed says that the surroundings failed, such as the database.
	Failed string `json:"failed,omitempty"`
}

// Work answers jobs, a line of JSON each, until in ends. It plays them one after the other on
// the database of the URL.
func Work(
	ctx context.Context, t *testing.T, url string, canSignal bool, in io.Reader, out io.Writer,
) error {
	lab, err := OpenLab(ctx, url, canSignal)
	if err != nil {
		return err
	}
	defer func() { _ = lab.Close(ctx) }()
	jobs, answers := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	for {
		var j job
		if err := jobs.Decode(&j); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read job: %w", err)
		}
		if err := answers.Encode(lab.answer(ctx, t, j)); err != nil {
			return fmt.Errorf("answer seed %d of %s: %w", j.Seed, j.Scenario, err)
		}
	}
}

// answer plays one job.
func (l *Lab) answer(ctx context.Context, t *testing.T, j job) answer {
	s, err := scenarios.Lookup(j.Scenario)
	if err != nil {
		return answer{Failed: err.Error()}
	}
	var course Course
	if j.Course != nil {
		course = *j.Course
	}
	defer burden(j.Load)()
	v, err := l.PlayCourse(ctx, t, s, j.Seed, course, j.Trace)
	if err == nil && j.Compare {
		err = l.compare(ctx, t, s, course, &v)
	}
	if err != nil {
		return answer{Failed: err.Error()}
	}
	v.Replay = j.Replay
	return answer{Verdict: v}
}
