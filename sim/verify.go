package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// A run is verified by playing it again, in another process with another GOMAXPROCS and other
// plans of the server, and without the memory of what the database has answered (see
// Course.Unaided). Equal hashes of the event logs say that it repeats exactly. Where they differ,
// or there is no hash because the process died, more plays tell how often the first one's failure
// comes back and where the logs part.
//
//	first play ──► second ──► equal hashes: exact
//	                 └──────► else: more plays ──► n of m, and the first event that differs

// check is what playing a run again came to.
type check struct {
	// difference is where two plays parted, nil where none did.
	difference *Difference
	// repeats says how well the run repeats: "exact", or "n of m".
	repeats string
}

// exact is what repeats says where the second play was equal event for event.
const exact = "exact"

// searches is how many more plays look for the place where two of them part.
const searches = 9

// verify plays a run again and compares it with the first.
func (w *worker) verify(ctx context.Context, run suspect) (check, error) {
	j := run.job
	j.Compare = false
	again, err := w.play(ctx, j.unaided())
	if err != nil {
		return check{}, err
	}
	if again.EventHash == run.first.EventHash && again.EventHash != "" {
		return check{repeats: exact}, nil
	}
	return w.search(ctx, j, run.first, again)
}

// search plays a run that did not repeat again and again, unless the logs of the first two plays
// are there to be compared.
func (w *worker) search(ctx context.Context, j job, first, second Verdict) (check, error) {
	same := 0
	if alike(first, second) {
		same++
	}
	c := check{}
	if first.Trace != nil && second.Trace != nil {
		c.difference = part(first.Trace, second.Trace)
	}
	j.Trace = true
	var reference Verdict
	for n := range searches {
		v, err := w.play(ctx, map[bool]job{true: j, false: j.unaided()}[n%2 == 0])
		if err != nil {
			return check{}, err
		}
		if alike(first, v) {
			same++
		}
		if n == 0 {
			reference = v
		} else if c.difference == nil && v.EventHash != reference.EventHash {
			c.difference = part(reference.Trace, v.Trace)
		}
	}
	c.repeats = fmt.Sprintf("%d of %d", same, searches+1)
	if c.difference == nil && first.EventHash != second.EventHash && first.EventHash != "" {
		c.difference = &Difference{Index: -1}
	}
	return c, nil
}

// unaided is the same job without memory.
func (j job) unaided() job {
	var course Course
	if j.Course != nil {
		course = *j.Course
	}
	course.Unaided = true
	j.Course = &course
	return j
}

// alike tells whether two plays of a run failed in the same way.
func alike(a, b Verdict) bool {
	return (a.Broken == "") == (b.Broken == "") && slices.Equal(a.violated(), b.violated())
}

// violated lists the ids of the invariants that did not hold.
func (v Verdict) violated() (ids []string) {
	for _, j := range v.Invariants {
		if len(j.Violations) > 0 {
			ids = append(ids, j.ID)
		}
	}
	return ids
}

// Difference is where two plays of one run part.
type Difference struct {
	// Index is the place of the first events that differ, -1 where it is not known.
	Index int
	// Shared are the last events before that; First and Again what followed in either play,
	// empty where its log had ended.
	Shared, First, Again []string
	// Between names the two plays where they have names.
	Between [2]string
}

// How much of the logs a difference shows.
const (
	sharedShown = 12
	partedShown = 4
)

// part finds the first difference of two logs.
func part(a, b []string) *Difference {
	for i := range max(len(a), len(b)) {
		if i < len(a) && i < len(b) && a[i] == b[i] {
			continue
		}
		after := func(log []string) []string {
			return log[min(i, len(log)):min(i+partedShown, len(log))]
		}
		return &Difference{
			Index:  i,
			Shared: a[max(0, i-sharedShown):i],
			First:  after(a),
			Again:  after(b),
		}
	}
	return &Difference{Index: -1}
}

// String tells the difference in one line.
func (d *Difference) String() string {
	if d.Index < 0 {
		return "the event logs of two plays differ, and more plays did not show where"
	}
	side := func(log []string) string {
		if len(log) == 0 {
			return "the end"
		}
		return log[0]
	}
	return fmt.Sprintf("two plays part at event %d: %s | %s", d.Index, side(d.First), side(d.Again))
}

// Excerpt shows both logs around the first difference, line by line.
func (d *Difference) Excerpt() string {
	var b strings.Builder
	write := func(mark string, lines []string) {
		for _, line := range lines {
			b.WriteString(mark + line + "\n")
		}
	}
	first, again := "first", "again"
	if d.Between != [2]string{} {
		first, again = d.Between[0], d.Between[1]
	}
	mark := func(name string) string {
		return fmt.Sprintf("%-*s  ", max(len("both"), len(first), len(again)), name)
	}
	write(mark("both"), d.Shared)
	write(mark(first), d.First)
	write(mark(again), d.Again)
	return b.String()
}
