package main

import (
	"context"
	"fmt"

	"ordeal/reports"
)

// mergeCmd makes one result of those of shards.
type mergeCmd struct {
	Dirs []string `arg:"" name:"dir" type:"path" help:"Folders of results, or result files."`
	Out  string   `default:"reports/out" type:"path" placeholder:"DIR" help:"Folder of the merged result (default reports/out)."`
}

// Run merges, writes the result and prints its summary. A shard without a result is a shard that
// did not run: that is an error, not a smaller sweep.
func (c *mergeCmd) Run(ctx context.Context) error {
	var all []reports.Result
	for _, dir := range c.Dirs {
		r, err := reports.Read(dir)
		if err != nil {
			return environment(fmt.Errorf("merge: %w", err))
		}
		all = append(all, r)
	}
	return conclude(ctx, reports.Merge(all...), nil, c.Out)
}
