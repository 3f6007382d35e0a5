package main

import (
	"fmt"
	"os"
	"text/tabwriter"

	"ordeal/chaos"
)

// listCmd prints the catalogue.
type listCmd struct{}

// Run prints a line per case; a star marks the short selection.
func (*listCmd) Run() error {
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	for _, c := range chaos.All() {
		star := " "
		if c.Smoke {
			star = "*"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", star, c.ID, c.Title)
	}
	return w.Flush()
}
