package chaos

import (
	"fmt"
	"io"
	"text/tabwriter"

	"ordeal/reports"
)

// HitsTable writes how often each place was hit: a line per kind of step.
func HitsTable(w io.Writer, hits map[Place]int) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "kills\t")
	for _, b := range killBoundaries {
		fmt.Fprintf(t, "%s\t", b)
	}
	fmt.Fprintln(t)
	for _, step := range steps {
		fmt.Fprintf(t, "%s\t", step)
		for _, b := range killBoundaries {
			fmt.Fprintf(t, "%d\t", hits[Place{step, b}])
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// Places adds the hits to a result, as faults.
func Places(r reports.Result, hits map[Place]int) reports.Result {
	for _, place := range places() {
		n := int64(hits[place])
		r.Faults = append(r.Faults, reports.Fault{
			Kind: at(Kill, place.Boundary, place.Step), Offered: n, Fired: n,
		})
	}
	r.Settle()
	return r
}
