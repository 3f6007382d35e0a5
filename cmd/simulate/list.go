package main

import (
	"fmt"
	"os"
	"text/tabwriter"

	"ordeal/scenarios"
)

// listCmd prints the catalogue.
type listCmd struct {
	Long bool `help:"Print goal and method too."`
}

// Run prints a line per scenario.
func (c *listCmd) Run() error {
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	for _, s := range scenarios.All() {
		fmt.Fprintf(w, "%s\t%s\n", s.Name, s.Title)
		if c.Long {
			fmt.Fprintf(w, "\tGoal: %s\n\tMethod: %s\n\n", s.Goal, s.Method)
		}
	}
	return w.Flush()
}
