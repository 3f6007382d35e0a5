package reports

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Merge adds results up. It is associative and commutative: shards may be merged in any order and
// grouping. Where builds or flags differ, the merged result names all values, sorted and separated
// by a comma and a space; a value that holds both counts as several.
func Merge(results ...Result) Result {
	merged := Result{SchemaVersion: SchemaVersion, Config: map[string]string{}}
	for _, r := range results {
		merged.Build = Build{
			Version: both(merged.Build.Version, r.Build.Version),
			Commit:  both(merged.Build.Commit, r.Build.Commit),
			Go:      both(merged.Build.Go, r.Build.Go),
		}
		for _, flag := range slices.Sorted(maps.Keys(r.Config)) {
			merged.Config[flag] = both(merged.Config[flag], r.Config[flag])
		}
		merged.Scenarios = append(merged.Scenarios, r.Scenarios...)
		merged.Invariants = append(merged.Invariants, r.Invariants...)
		merged.Faults = append(merged.Faults, r.Faults...)
		merged.Failures = append(merged.Failures, r.Failures...)
	}
	merged.Scenarios = fold(merged.Scenarios, compareScenarios, addScenarios)
	merged.Invariants = fold(merged.Invariants, compareInvariants, addInvariants)
	merged.Faults = fold(merged.Faults, compareFaults, addFaults)
	merged.Failures = fold(merged.Failures, compareFailures, sameFailure)
	merged.derive()
	return merged
}

// fold sorts rows and makes one of those that compare equal. The result is never nil, so that
// JSON shows an empty list.
func fold[T any](rows []T, compare func(a, b T) int, add func(a, b T) T) []T {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, compare)
	folded := make([]T, 0, len(rows))
	for _, row := range rows {
		if n := len(folded); n > 0 && compare(folded[n-1], row) == 0 {
			folded[n-1] = add(folded[n-1], row)
			continue
		}
		folded = append(folded, row)
	}
	return folded
}

func compareScenarios(a, b Scenario) int { return cmp.Compare(a.Name, b.Name) }

func addScenarios(a, b Scenario) Scenario {
	a.Seeds = a.plus(b.Seeds)
	a.Statements += b.Statements
	a.Virtual += b.Virtual
	a.Elapsed += b.Elapsed
	return a
}

func compareInvariants(a, b Invariant) int { return cmp.Compare(a.ID, b.ID) }

func addInvariants(a, b Invariant) Invariant {
	a.Title = max(a.Title, b.Title)
	a.Checked += b.Checked
	a.Violated += b.Violated
	return a
}

func compareFaults(a, b Fault) int { return cmp.Compare(a.Kind, b.Kind) }

func addFaults(a, b Fault) Fault {
	a.Offered += b.Offered
	a.Fired += b.Fired
	a.Compared += b.Compared
	a.Mattered += b.Mattered
	return a
}

func compareFailures(a, b Failure) int {
	return cmp.Or(
		cmp.Compare(a.Scenario, b.Scenario),
		cmp.Compare(a.Seed, b.Seed),
		cmp.Compare(a.Invariant, b.Invariant),
		cmp.Compare(a.Message, b.Message),
		cmp.Compare(a.Command, b.Command),
		cmp.Compare(a.Repeats, b.Repeats),
		cmp.Compare(a.Detail, b.Detail),
	)
}

// sameFailure keeps one of two failures that are equal in everything.
func sameFailure(a, _ Failure) Failure { return a }

// separator stands between the values of something that differs between merged results.
const separator = ", "

// both is the sorted set of the values on both sides.
func both(a, b string) string {
	if a == b && !strings.Contains(a, separator) {
		return a
	}
	values := slices.Concat(strings.Split(a, separator), strings.Split(b, separator))
	slices.Sort(values)
	values = slices.DeleteFunc(slices.Compact(values), func(v string) bool { return v == "" })
	return strings.Join(values, separator)
}
