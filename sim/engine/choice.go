package engine

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// The streams whose draws are choices of a run: recorded, and replayable from a [Source].
const (
	// StreamSchedule decides which operation is next and how much time passes.
	StreamSchedule = "schedule"
	// StreamFaults decides what goes wrong, and for how long.
	StreamFaults = "faults"
	// StreamWorkload decides what clients want, where the harness draws that from
	// [World.Workload].
	StreamWorkload = "workload"
)

// Choice is one decision of a run: value Value out of [0, N), asked for under Label by Stream.
// Zero is always the plainest value: the first operation in content order, no fault, no delay.
// The label of a choice about an operation ends in "@", its sender and its name.
type Choice struct {
	Stream string `json:"stream"`
	Label  string `json:"label"`
	N      int    `json:"n"`
	Value  int    `json:"value"`
	// Note says in words what came of it, where somebody said so. It decides nothing.
	Note string `json:"note,omitempty"`
}

// Source decides the choices of a run. The engine asks for them one after the other, from one
// goroutine. Replaying, shrinking and enumerating runs are other sources of the same sequence.
type Source interface {
	// Choose returns a value in [0, n), n ≥ 1. An error ends the run with that error.
	Choose(stream, label string, n int) (int, error)
}

// Seeded returns the source that draws every stream from its own generator derived from seed, so
// that one more draw in a stream leaves the others as they were.
func Seeded(seed uint64) Source {
	return &seeded{seed: seed, streams: map[string]*rand.Rand{}}
}

type seeded struct {
	seed    uint64
	streams map[string]*rand.Rand
}

func (s *seeded) Choose(stream, _ string, n int) (int, error) {
	r := s.streams[stream]
	if r == nil {
		r = newRand(s.seed, stream)
		s.streams[stream] = r
	}
	return r.IntN(n), nil
}

// newRand returns the generator of a named stream. Equal names give equal generators.
func newRand(seed uint64, stream string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(stream))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// Replay returns the source that repeats choices exactly. A question that differs from the
// recorded one, or one more question than recorded, is a [ReplayError].
func Replay(choices []Choice) Source { return &replay{choices: choices} }

type replay struct {
	choices []Choice
	next    int
}

func (r *replay) Choose(stream, label string, n int) (int, error) {
	asked := Choice{Stream: stream, Label: label, N: n}
	if r.next >= len(r.choices) {
		return 0, &ReplayError{Index: r.next, Asked: asked}
	}
	c := r.choices[r.next]
	if c.Stream != stream || c.Label != label || c.N != n || c.Value < 0 || c.Value >= n {
		return 0, &ReplayError{Index: r.next, Asked: asked, Recorded: &c}
	}
	r.next++
	return c.Value, nil
}

// ReplayError says that a recorded sequence no longer fits the run that it is replayed into.
type ReplayError struct {
	// Index counts choices from zero.
	Index int
	// Asked is the question of the run; its Value means nothing.
	Asked Choice
	// Recorded is what the sequence holds there, nil where it had already ended.
	Recorded *Choice
}

func (e *ReplayError) Error() string {
	asked := fmt.Sprintf("%s/%s of %d", e.Asked.Stream, e.Asked.Label, e.Asked.N)
	if e.Recorded == nil {
		return fmt.Sprintf("replay: choice %d: the recording has ended, the run asks for %s",
			e.Index, asked)
	}
	return fmt.Sprintf("replay: choice %d: recorded %s/%s %d of %d, the run asks for %s", e.Index,
		e.Recorded.Stream, e.Recorded.Label, e.Recorded.Value, e.Recorded.N, asked)
}

// Draw asks the run's source on behalf of one stream. It belongs to the driver: policies, hooks
// and scheduled events may use it, goroutines of a service may not.
type Draw struct {
	w      *World
	stream string
}

// Choose returns a value in [0, n). n below 2 asks nobody and returns 0.
func (d *Draw) Choose(label string, n int) int {
	if n < 2 {
		return 0
	}
	return d.w.choose(d.stream, label, n)
}

// Offer counts that kind could have happened here, and says whether it should: once in oneIn on
// average. oneIn below 1 never offers.
func (d *Draw) Offer(kind FaultKind, oneIn int) bool {
	if oneIn < 1 {
		return false
	}
	d.w.faults.offer(kind)
	return d.Choose(string(kind), oneIn) == oneIn-1
}

// Duration returns a duration in [r.Min, r.Max], in steps of a 1024th of the distance.
func (d *Draw) Duration(label string, r Range) time.Duration {
	const steps = 1024
	if r.Max <= r.Min {
		return r.Min
	}
	v := d.Choose(label, steps+1)
	length := r.Min + (r.Max-r.Min)*time.Duration(v)/steps
	if v > 0 {
		d.Note(length.Round(time.Microsecond).String())
	}
	return length
}

// Note says in words what came of the last choice of the run, for whoever reads its replay.
func (d *Draw) Note(text string) { d.w.noteChoice(text) }

// Range is a closed interval of durations.
type Range struct{ Min, Max time.Duration }

// choose asks the source, records the answer, and ends the run where the source has none.
func (w *World) choose(stream, label string, n int) int {
	if w.closing || w.err != nil {
		return 0
	}
	if w.subject != nil {
		label += "@" + w.subject.Process + " " + w.subject.Name
	}
	v, err := w.source.Choose(stream, label, n)
	return w.chosen(Choice{Stream: stream, Label: label, N: n, Value: v}, err)
}

// chosen records a choice, or ends the run.
func (w *World) chosen(c Choice, err error) int {
	if err != nil {
		w.Fail(err)
		return 0
	}
	w.choices = append(w.choices, c)
	return c.Value
}

// noteChoice notes what came of the last choice.
func (w *World) noteChoice(text string) {
	if n := len(w.choices); n > 0 && !w.closing {
		w.choices[n-1].Note = text
	}
}
