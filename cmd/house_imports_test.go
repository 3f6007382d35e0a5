package cmd_test

import (
	"go/build/constraint"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// door is a row of the import table: what the packages of a folder may import of ours.
type door struct {
	folder string
	may    []string
}

// doors is the import table. A folder that is not in it has no place in the house.
var doors = []door{
	{"service/order", nil},
	{"service/store", []string{"service/order"}},
	{"service/executor", []string{"service/order"}},
	{"service/provider", []string{"service/order"}},
	{"service/outbox", []string{"service/order"}},
	{"service/api", []string{"service/order",
		"service/store"}}, // row types
	{"service/telemetry", []string{"service/order"}},
	{"service", []string{"service/order", "service/store", "service/executor",
		"service/provider", "service/outbox", "service/api", "service/telemetry"}},
	{"migrations", nil},
	{"scenarios", []string{"scenarios/evidence", "scenarios/invariant", "scenarios/model"}},
	{"scenarios/evidence", nil},
	{"scenarios/evidence/rows", []string{"scenarios/evidence"}},
	{"scenarios/invariant", []string{"scenarios/evidence"}},
	{"scenarios/model", []string{"scenarios/evidence"}},
	{"scenarios/corpus", nil},
	{"sim/engine", nil},
	{"sim/imitation", nil},
	{"sim/pgserver", nil},
	{"sim", []string{"sim/engine", "sim/imitation", "sim/pgserver", "scenarios",
		"scenarios/evidence", "scenarios/evidence/rows", "scenarios/invariant",
		"scenarios/model", "scenarios/corpus",
		"service", "migrations", "reports"}},
	{"chaos", []string{"scenarios", "scenarios/evidence", "scenarios/invariant",
		"scenarios/model", "sim/imitation", "sim/pgserver", "reports",
		"chaos/collect", "chaos/process", "chaos/provider", "chaos/stage", "chaos/wire"}},
	{"chaos/wire", nil},
	{"chaos/provider", []string{"scenarios/evidence"}},
	{"chaos/process", nil},
	{"chaos/collect", []string{"scenarios/evidence", "scenarios/evidence/rows",
		"sim/imitation"}},
	{"chaos/stage", []string{"scenarios/evidence", "sim/imitation", "sim/pgserver",
		"chaos/collect", "chaos/process", "chaos/provider", "chaos/wire"}},
	{"reports", nil},
	// Commands import what they start.
	{"cmd/orderd", []string{"service", "service/provider", "service/store",
		"service/telemetry", "migrations"}},
	{"cmd/imitations", []string{"sim/imitation"}},
	{"cmd/local", append([]string{"sim/pgserver", "sim/imitation", "migrations"}, service...)},
	{"cmd/simulate", []string{"sim", "sim/engine", "scenarios", "reports"}},
	{"cmd/chaos", []string{"chaos", "scenarios", "reports"}},
	{"cmd/bench", append([]string{"sim/pgserver", "sim/imitation", "migrations", "reports"},
		service...)},
}

// service lists the packages of the service.
var service = []string{"service", "service/order", "service/store", "service/executor",
	"service/provider", "service/outbox", "service/api", "service/telemetry"}

// testbed lists the folders of the testbed.
var testbed = []string{"sim", "scenarios", "chaos", "reports"}

var importRule = rule{
	name:  "imports",
	check: checkImports,
	broken: []sample{
		{"service/order/a.go": "package order\nimport _ \"ordeal/service/store\""},
		{"service/store/a.go": "package store\nimport _ \"ordeal/service/api\""},
		{"service/executor/a.go": "package executor\nimport _ \"ordeal/service/store\""},
		{"service/api/a.go": "package api\nimport _ \"ordeal/sim/pgserver\""},
		{"service/api/sub/a.go": "package sub"},
		{"stray/a.go": "package stray"},
		{"sim/engine/a.go": "package engine\nimport _ \"ordeal/service/order\""},
		{"scenarios/model/a.go": "package model\nimport _ \"ordeal/service/order\""},
		{"scenarios/a_test.go": "package scenarios\nimport _ \"ordeal/service/order\""},
		{"scenarios/integration/a_test.go": "package integration_test\n" +
			"import _ \"ordeal/service/order\""},
		{"sim/engine/a_test.go": "package engine\nimport _ \"ordeal/sim\""},
		{"chaos/a.go": "package chaos\nimport _ \"ordeal/service\""},
		{"cmd/orderd/a.go": "package main\nimport _ \"ordeal/sim/imitation\""},
		{"service/order/a_test.go": "package order\nimport _ \"ordeal/service/store\""},
	},
	sound: []sample{
		{"service/store/a.go": "package store\nimport _ \"ordeal/service/order\""},
		{"service/api/a.go": "package api\nimport _ \"ordeal/service/store\""},
		{"service/store/a_test.go": "package store_test\nimport (\n" +
			"\t_ \"ordeal/service/store\"\n\t_ \"ordeal/sim/pgserver\"\n" +
			"\t_ \"ordeal/migrations\"\n\t_ \"ordeal/sim/imitation\"\n)"},
		{"service/executor/integration/a_test.go": "package integration_test\n" +
			"import _ \"ordeal/service/store\""},
		{"sim/engine/integration/a_test.go": "package integration_test\n" +
			"import (\n\t_ \"ordeal/sim/engine\"\n\t_ \"ordeal/sim/pgserver\"\n)"},
		{"service/store/a.go": "package store\nimport _ \"net/http\""},
	},
}

// checkImports holds every Go file against the import table.
func checkImports(h house) (problems []string) {
	for _, f := range h.code() {
		row, listed := doorOf(f.folder())
		if !f.test() && row.folder != f.folder() {
			problems = append(problems, f.atLine(1, "%s is not in the import table", f.folder()))
			continue
		}
		for _, spec := range f.code.Imports {
			target, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/")
			allowed := listed && slices.Contains(row.may, target) ||
				f.test() && testMay(f.folder(), row.folder, target)
			if ours && !allowed {
				problems = append(problems, f.at(spec.Pos(), "imports %s", target))
			}
		}
	}
	return problems
}

// doorOf returns the row of a folder, or of the nearest folder above it that has one.
func doorOf(folder string) (door, bool) {
	for ; folder != "."; folder = path.Dir(folder) {
		for _, d := range doors {
			if d.folder == folder {
				return d, true
			}
		}
	}
	return door{}, false
}

// testMay tells what tests may import beside what the row of their package allows: the package
// itself, a database and its schema; around the service also the testbed, which brings providers,
// and where packages are tested together (integration), the other packages of the service.
// Scenarios stay apart from both halves, also in tests.
func testMay(folder, above, target string) bool {
	switch {
	case target == above, target == "sim/pgserver", target == "migrations":
		return true
	case in(folder, testbed):
		return false
	case path.Base(folder) == "integration" && slices.Contains(service, target):
		return true
	default:
		return in(target, testbed)
	}
}

// in tells whether a folder is one of some folders or below them.
func in(folder string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool {
		return folder == f || strings.HasPrefix(folder, f+"/")
	})
}

// TestServiceIsBuiltWithoutTestbed: what orderd is linked from holds nothing of the testbed, and
// not the package testing, through whatever path.
func TestServiceIsBuiltWithoutTestbed(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "./cmd/orderd")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("list what orderd is built from: %v", err)
	}
	packages := strings.Fields(string(out))
	if !slices.Contains(packages, module+"/service/order") {
		t.Fatalf("orderd without the domain: %d packages", len(packages))
	}
	for _, p := range ofTestbed(packages) {
		t.Errorf("orderd is built with %s", p)
	}
	broken := []string{"fmt", "testing", "testing/synctest", module + "/sim/engine",
		module + "/reports", module + "/service", "simple"}
	if got := ofTestbed(broken); len(got) != 4 {
		t.Errorf("of %v only %v count as testbed", broken, got)
	}
}

// ofTestbed returns the packages that must not be part of the service.
func ofTestbed(packages []string) (found []string) {
	for _, p := range packages {
		target, ours := strings.CutPrefix(p, module+"/")
		if ours && in(target, testbed) || in(p, []string{"testing"}) {
			found = append(found, p)
		}
	}
	return found
}

// testbedWords are words that only the testbed uses, and ways to notice that a test is running.
var testbedWords = regexp.MustCompile(`(?i)simulat|imitation|chaos|fail[ _-]?point|testbed|` +
	`synctest|scenario|fault[ _-]inject|planted|\bif testing\b|testing\.Testing|"testing|` +
	`flag\.Lookup|"test\.`)

var testbedRule = rule{
	name:  "no testbed in the service",
	check: checkTestbed,
	broken: []sample{
		{"service/a.go": "package service\n\n// In a simulation this is fake.\nvar A int"},
		{"service/a.go": "package service\nimport _ \"testing\""},
		{"service/a.go": "package service\nconst failPoint = 1"},
		{"service/store/a.go": "package store\nimport \"testing\"\nvar a = testing.B{}"},
		{"migrations/1.sql": "-- used by chaos\nselect 1;"},
		{"service/api/x.yaml": "scenario: 1"},
	},
	sound: []sample{
		{"service/a.go": "package service\n\n// Failures of points are tested.\nvar A int"},
		{"service/a_test.go": "package service\nimport _ \"testing\" // a simulation"},
		{"sim/a.go": "package sim // chaos"},
	},
}

// checkTestbed looks for the testbed in the files of the service, comments included.
func checkTestbed(h house) (problems []string) {
	for _, f := range h.under("service", "migrations").production() {
		for i, line := range f.lines() {
			if word := testbedWords.FindString(line); word != "" {
				problems = append(problems, f.atLine(i+1, "%q is of the testbed", word))
			}
		}
	}
	return problems
}

var buildTagRule = rule{
	name:  "no build tags in the service",
	check: checkBuildTags,
	broken: []sample{
		{"service/a.go": "//go:build debug\n\npackage service"},
		{"service/a_test.go": "//go:build linux\n\npackage service"},
		{"migrations/a.go": "// +build debug\n\npackage migrations"},
		{"service/a_linux.go": "package service"},
	},
	sound: []sample{
		{"service/a.go": "// Package service has no go:build line.\npackage service"},
		{"sim/a.go": "//go:build linux\n\npackage sim"},
		{"service/linux.go": "package service"},
	},
}

// platform is the end of the name of a file that is built on some machines only.
var platform = regexp.MustCompile(`_(linux|darwin|windows|unix|amd64|arm64)(_test)?\.go$`)

// checkBuildTags: one service is built, whoever builds it.
func checkBuildTags(h house) (problems []string) {
	for _, f := range h.under("service", "migrations").code() {
		if platform.MatchString(f.path) {
			problems = append(problems, f.atLine(1, "built on some machines only"))
		}
		for i, line := range f.lines() {
			if constraint.IsGoBuild(line) || constraint.IsPlusBuild(line) {
				problems = append(problems, f.atLine(i+1, "build tag"))
			}
		}
	}
	return problems
}
