package engine

import "fmt"

// Deviation is a choice other than zero, with its place in the run. A run is its deviations: all
// other choices are zero, the plainest value.
type Deviation struct {
	// At counts all choices of the run from zero.
	At     int    `json:"at"`
	Stream string `json:"stream"`
	Label  string `json:"label"`
	// Nth counts the choices of this stream and label from one.
	Nth int `json:"nth"`
	// N is the number of values, Value the one chosen.
	N     int `json:"of"`
	Value int `json:"value"`
	// Note says in words what came of it, where somebody said so. It decides nothing.
	Note string `json:"means,omitempty"`
}

// question is what a choice was asked for.
type question struct{ stream, label string }

// Deviations returns the choices that are not zero.
func Deviations(choices []Choice) []Deviation {
	var all []Deviation
	counts := map[question]int{}
	for at, c := range choices {
		q := question{c.Stream, c.Label}
		counts[q]++
		if c.Value != 0 {
			all = append(all, Deviation{At: at, Stream: c.Stream, Label: c.Label,
				Nth: counts[q], N: c.N, Value: c.Value, Note: c.Note})
		}
	}
	return all
}

// Recall returns the source that repeats a run by its deviations. It is exact only for the run
// that they were taken from: a deviation that is asked for at another place, or with another
// number of values, or not in its order, is a [RecallError]. Those that the run never asked for
// are [Recalled.Missed].
func Recall(deviations []Deviation) *Recalled {
	r := Adapt(deviations)
	r.strict = true
	return r
}

// Adapt returns the source that takes from deviations what fits the run: one is applied where
// its stream and label are asked for the Nth time, if its value is possible there. Everything
// else is zero. So a run whose beginning has changed, by a change of the service or by leaving
// deviations out, keeps as much of the rest as still makes sense.
func Adapt(deviations []Deviation) *Recalled {
	r := &Recalled{places: map[place]Deviation{}, counts: map[question]int{}}
	for _, d := range deviations {
		r.places[place{question{d.Stream, d.Label}, d.Nth}] = d
		r.order = append(r.order, d)
	}
	return r
}

// Recalled is a source made of deviations.
type Recalled struct {
	strict bool
	order  []Deviation
	places map[place]Deviation
	counts map[question]int
	at     int
}

type place struct {
	question
	nth int
}

// Choose implements Source.
func (r *Recalled) Choose(stream, label string, n int) (int, error) {
	q := question{stream, label}
	r.counts[q]++
	at := r.at
	r.at++
	p := place{q, r.counts[q]}
	d, found := r.places[p]
	if r.strict {
		if err := r.compare(at, d, found, Choice{Stream: stream, Label: label, N: n}); err != nil {
			return 0, err
		}
	}
	if !found || d.Value < 0 || d.Value >= n {
		return 0, nil
	}
	delete(r.places, p)
	return d.Value, nil
}

// compare checks that a strict recording fits a question.
func (r *Recalled) compare(at int, d Deviation, found bool, asked Choice) error {
	if len(r.order) > 0 && r.order[0].At == at {
		want := r.order[0]
		r.order = r.order[1:]
		if !found || d != want || d.N != asked.N || d.Value < 0 || d.Value >= d.N {
			return &RecallError{At: at, Asked: asked, Recorded: want}
		}
		return nil
	}
	if found {
		return &RecallError{At: at, Asked: asked, Recorded: d}
	}
	return nil
}

// Missed returns the deviations that were not applied, in their order.
func (r *Recalled) Missed() []Deviation {
	var missed []Deviation
	for _, d := range r.order {
		if _, left := r.places[place{question{d.Stream, d.Label}, d.Nth}]; left {
			missed = append(missed, d)
		}
	}
	return missed
}

// RecallError says that a recorded deviation no longer fits the run that it is replayed into.
type RecallError struct {
	// At counts choices from zero.
	At int
	// Asked is the question of the run; its Value means nothing.
	Asked Choice
	// Recorded is the deviation concerned.
	Recorded Deviation
}

func (e *RecallError) Error() string {
	d := e.Recorded
	recorded := fmt.Sprintf("%s %q, for the %s time, %d of %d", d.Stream, d.Label,
		ordinal(d.Nth), d.Value, d.N)
	if d.At == e.At {
		return fmt.Sprintf("choice %d no longer fits: recorded is %s; the run asks for %s %q of %d",
			e.At, recorded, e.Asked.Stream, e.Asked.Label, e.Asked.N)
	}
	return fmt.Sprintf("choice %d no longer fits: the run asks for %s, which was recorded as "+
		"choice %d", e.At, recorded, d.At)
}

func ordinal(n int) string {
	switch {
	case n%10 == 1 && n%100 != 11:
		return fmt.Sprint(n, "st")
	case n%10 == 2 && n%100 != 12:
		return fmt.Sprint(n, "nd")
	case n%10 == 3 && n%100 != 13:
		return fmt.Sprint(n, "rd")
	}
	return fmt.Sprint(n, "th")
}
