package sim

import (
	"fmt"
	"io/fs"
	"slices"

	"ordeal/scenarios"
	"ordeal/scenarios/corpus"
)

// CorpusFolder is where the replays of the corpus lie in the repository.
const CorpusFolder = "scenarios/corpus"

// Corpus returns the replays that every sweep plays first, by name.
func Corpus() ([]Replay, error) {
	names, err := fs.Glob(corpus.Files, "*.json")
	if err != nil {
		return nil, fmt.Errorf("corpus: %w", err)
	}
	slices.Sort(names)
	var all []Replay
	for _, name := range names {
		r, err := readCorpusFile(name)
		if err != nil {
			return nil, fmt.Errorf("corpus: %s: %w", name, err)
		}
		all = append(all, r)
	}
	return all, nil
}

func readCorpusFile(name string) (Replay, error) {
	file, err := corpus.Files.Open(name)
	if err != nil {
		return Replay{}, err
	}
	defer func() { _ = file.Close() }()
	r, err := ReadReplay(file)
	r.Name = name
	return r, err
}

// corpusJobs lists the runs that repeat the replays of some scenarios. What no longer fits a run
// is left out of it: the service has changed since, at least by what was wrong with it.
func corpusJobs(all []Replay, of []scenarios.Scenario) []job {
	var jobs []job
	for _, r := range all {
		if slices.ContainsFunc(of, func(s scenarios.Scenario) bool {
			return s.Name == r.Scenario
		}) {
			course := r.Course(Loosely)
			jobs = append(jobs, job{Scenario: r.Scenario, Seed: r.Seed, Replay: CorpusFolder + "/" + r.Name,
				Course: &course})
		}
	}
	return jobs
}
