package cmd_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// The bounds of the house, in lines and columns.
const (
	maxFunction     = 70
	maxTestFunction = 100
	maxFile         = 500
	maxColumns      = 100
)

var packageCommentRule = rule{
	name:  "packages have a comment",
	check: checkPackageComments,
	broken: []sample{
		{"sim/a.go": "package sim"},
		{"sim/a.go": "package sim", "sim/a_test.go": "// Package sim has one here.\npackage sim"},
		{"sim/integration/a_test.go": "package integration_test"},
	},
	sound: []sample{
		{"sim/a.go": "package sim", "sim/doc.go": "// Package sim is documented.\npackage sim",
			"sim/a_test.go": "package sim_test"},
		{"sim/integration/a_test.go": "// Package integration_test is too.\n" +
			"package integration_test"},
	},
}

// checkPackageComments: a package says what it is for in one of its files; a folder of tests
// alone is a package too.
func checkPackageComments(h house) (problems []string) {
	names, folders := h.code().folders()
	for _, name := range names {
		files := folders[name].production()
		if len(files) == 0 {
			files = folders[name]
		}
		if len(files.where(func(f file) bool { return f.code.Doc.Text() != "" })) == 0 {
			problems = append(problems, files[0].atLine(1, "no file of %s has a package comment",
				name))
		}
	}
	return problems
}

var documentationRule = rule{
	name:  "exported names are documented",
	check: checkDocumentation,
	broken: []sample{
		{"sim/a.go": "package sim\nfunc A() {}"},
		{"sim/a.go": "package sim\ntype A int"},
		{"sim/a.go": "package sim\nvar A = 1"},
		{"sim/a.go": "package sim\ntype (\n\ta int\n\tA int\n)"},
		{"sim/a.go": "package sim\n\n// A is a type.\ntype A int\nfunc (*A) Do() {}"},
		{"sim/a.go": "package sim\n\n// A is generic.\ntype A[T any] int\nfunc (A[T]) Do() {}"},
	},
	sound: []sample{
		{"sim/a.go": "package sim\n\n// A does.\nfunc A() {}\nfunc b() {}"},
		{"sim/a.go": "package sim\n\n// Kinds of things.\nconst (\n\tA = 1\n\tB = 2\n)"},
		{"sim/a.go": "package sim\nconst (\n\tA = 1 // the first\n)\ntype b int\nfunc (b) Do() {}"},
		{"sim/a.go": "package sim\n\n// A fails.\ntype A int\nfunc (A) Error() string { return \"\" }"},
		{"sim/a_test.go": "package sim\nfunc TestA() {}"},
	},
}

// agreed are methods whose meaning an interface of the standard library fixes.
var agreed = []string{"Error", "Unwrap", "Is", "As", "String", "MarshalJSON", "UnmarshalJSON",
	"MarshalText", "UnmarshalText", "ServeHTTP", "RoundTrip", "Len", "Less", "Swap"}

// checkDocumentation looks at what a package exports: functions, types and their methods,
// constants and variables, the last ones also as a group. Fields are left to the reader.
func checkDocumentation(h house) (problems []string) {
	for _, f := range h.code().production() {
		missing := func(name *ast.Ident, docs ...*ast.CommentGroup) {
			documented := slices.ContainsFunc(docs, func(c *ast.CommentGroup) bool {
				return c.Text() != ""
			})
			if name.IsExported() && !documented {
				problems = append(problems, f.at(name.Pos(), "%s is not documented", name.Name))
			}
		}
		for _, d := range f.code.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil || receiverExported(d) && !slices.Contains(agreed, d.Name.Name) {
					missing(d.Name, d.Doc)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						missing(s.Name, d.Doc, s.Doc, s.Comment)
					case *ast.ValueSpec:
						missing(s.Names[0], d.Doc, s.Doc, s.Comment)
					}
				}
			}
		}
	}
	return problems
}

// receiverExported tells whether a method belongs to an exported type.
func receiverExported(d *ast.FuncDecl) bool {
	exported := false
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok {
			exported = name.IsExported()
			return false
		}
		_, parameters := n.(*ast.IndexExpr)
		if parameters {
			exported = n.(*ast.IndexExpr).X.(*ast.Ident).IsExported()
		}
		return !parameters
	})
	return exported
}

var functionLengthRule = rule{
	name:  "functions are short",
	check: checkFunctionLength,
	broken: []sample{
		{"sim/a.go": "package sim\nfunc a() {\n" + strings.Repeat("\n", maxFunction-1) + "}"},
		{"sim/a_test.go": "package sim\nfunc a() {\n" + strings.Repeat("\n", maxTestFunction-1) +
			"}"},
	},
	sound: []sample{
		{"sim/a.go": "package sim\nfunc a() {\n" + strings.Repeat("\n", maxFunction-2) + "}"},
		{"sim/a_test.go": "package sim\nfunc a() {\n" + strings.Repeat("\n", maxTestFunction-2) +
			"}"},
	},
}

func checkFunctionLength(h house) (problems []string) {
	for _, f := range h.code() {
		limit := maxFunction
		if f.test() {
			limit = maxTestFunction
		}
		for _, d := range f.code.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				n := f.fset.Position(fn.End()).Line - f.fset.Position(fn.Pos()).Line + 1
				if n > limit {
					problems = append(problems, f.at(fn.Pos(), "%s has %d lines", fn.Name.Name, n))
				}
			}
		}
	}
	return problems
}

var fileLengthRule = rule{
	name:   "files are short",
	check:  checkFileLength,
	broken: []sample{{"sim/a_test.go": "package sim" + strings.Repeat("\n", maxFile) + "var a int"}},
	sound:  []sample{{"sim/a.go": "package sim" + strings.Repeat("\n", maxFile-1) + "var a int\n"}},
}

// checkFileLength counts tests too: a story that needs more is two stories.
func checkFileLength(h house) (problems []string) {
	for _, f := range h.code() {
		if n := len(f.lines()); n > maxFile {
			problems = append(problems, f.atLine(1, "%d lines", n))
		}
	}
	return problems
}

var lineLengthRule = rule{
	name:  "lines are short",
	check: checkLineLength,
	broken: []sample{
		{"sim/a.go": "package sim // " + strings.Repeat("x", maxColumns)},
		{"migrations/1.sql": strings.Repeat("x", maxColumns+1)},
		{"sim/a.go": "package sim\nvar a = `" + strings.Repeat("x", maxColumns) + "`"},
		{"sim/a.go": "package sim\ntype a struct {\n\tb int `help:\"" +
			strings.Repeat("x", maxColumns) + "\"`\n}"},
	},
	sound: []sample{
		{"sim/a.go": "package sim // " + strings.Repeat("é", maxColumns-15)},
		{"sim/a.go": "package sim\nvar a = `\n" + strings.Repeat("x", 2*maxColumns) + "\n`"},
		{"cmd/a/a.go": "package main\ntype a struct {\n\tb int `help:\"" +
			strings.Repeat("x", maxColumns) + "\"`\n}"},
		{"README.md": strings.Repeat("x", 2*maxColumns)},
	},
}

// checkLineLength counts characters. Left out are the inner lines of raw strings, which are data,
// and struct tags that describe command lines.
func checkLineLength(h house) (problems []string) {
	for _, f := range h {
		if f.code == nil && path.Ext(f.path) != ".sql" {
			continue
		}
		data := f.dataLines()
		for i, line := range f.lines() {
			if n := utf8.RuneCountInString(line); n > maxColumns && !data[i+1] {
				problems = append(problems, f.atLine(i+1, "%d columns", n))
			}
		}
	}
	return problems
}

// dataLines returns the lines that are no code: inside raw strings, or tags of commands.
func (f file) dataLines() map[int]bool {
	lines := map[int]bool{}
	if f.code == nil {
		return lines
	}
	ast.Inspect(f.code, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			first, last := f.fset.Position(n.Pos()).Line, f.fset.Position(n.End()).Line
			for line := first + 1; n.Kind == token.STRING && line <= last; line++ {
				lines[line] = true
			}
		case *ast.Field:
			if n.Tag != nil && strings.HasPrefix(f.path, "cmd/") {
				lines[f.fset.Position(n.Tag.Pos()).Line] = true
			}
		}
		return true
	})
	return lines
}

var nameRule = rule{
	name:  "names say what is inside",
	check: checkNames,
	broken: []sample{
		{"sim/util/a.go": "package util"},
		{"sim/helpers.go": "package sim"},
		{"sim/common_test.go": "package sim"},
		{"sim/a_helper_test.go": "package sim"},
		{"scenarios/misc.txt": ""},
	},
	sound: []sample{{"sim/database.go": "package sim", "sim/utility/a.go": "package utility"}},
}

// nothingSaid are the words that name no content.
var nothingSaid = regexp.MustCompile(`^(utils?|commons?|helpers?|misc|base)$`)

func checkNames(h house) (problems []string) {
	for _, f := range h {
		words := strings.FieldsFunc(f.path, func(r rune) bool {
			return r == '/' || r == '_' || r == '.' || r == '-'
		})
		if i := slices.IndexFunc(words, nothingSaid.MatchString); i >= 0 {
			problems = append(problems, f.atLine(1, "%q says nothing", words[i]))
		}
	}
	return problems
}

// rooms are the entries at the top of the house, beside dot files.
var rooms = []string{"service", "sim", "scenarios", "chaos", "cmd", "migrations", "reports",
	"go.mod", "go.sum", "README.md", "Makefile"}

var topLevelRule = rule{
	name:   "the top level is fixed",
	check:  checkTopLevel,
	broken: []sample{{"docs/a.md": ""}, {"main.go": "package main"}, {"sims/a.go": "package sims"}},
	sound:  []sample{{".gitignore": "", ".ci/run": "", "sim/docs/a.md": "", "go.mod": ""}},
}

func checkTopLevel(h house) (problems []string) {
	for _, f := range h {
		top, _, _ := strings.Cut(f.path, "/")
		if !slices.Contains(rooms, top) && !strings.HasPrefix(top, ".") {
			problems = append(problems, f.atLine(1, "%s has no place at the top", top))
		}
	}
	return problems
}

// The words below are written so that these files do not find themselves.
var leftovers = regexp.MustCompile(`\b(TO[D]O|FIX[M]E|XX[X])\b`)

var leftoverRule = rule{
	name:   "nothing is left for later",
	check:  checkLeftovers,
	broken: []sample{{"sim/a.go": "package sim // TO" + "DO: more"}, {"Makefile": "# FIX" + "ME"}},
	sound:  []sample{{"sim/a.go": "package sim // what to do"}},
}

func checkLeftovers(h house) []string { return h.grep(leftovers) }

// grep reports every line that a pattern matches.
func (h house) grep(pattern *regexp.Regexp) (problems []string) {
	for _, f := range h {
		for i, line := range f.lines() {
			if found := pattern.FindString(line); found != "" {
				problems = append(problems, f.atLine(i+1, "%s", found))
			}
		}
	}
	return problems
}

var skipRule = rule{
	name:  "no test is skipped",
	check: checkSkips,
	broken: []sample{
		skipSample("t *testing.T", `t.Skip("no database")`),
		skipSample("b *testing.B", "b.SkipNow()"),
		skipSample("tb testing.TB", `if testing.Short() { tb.Skipf("%d", 1) }`),
	},
	sound: []sample{
		skipSample("t *testing.T", `t.Fatal("no database: a test that is not run is not green")`),
		{"sim/a.go": "package sim\ntype d interface{ Skip() }\nfunc f(d d) { d.Skip() }"},
	},
}

func skipSample(parameter, body string) sample {
	return sample{"sim/a_test.go": fmt.Sprintf(
		"package sim\nimport \"testing\"\nfunc TestA(%s) { %s }", parameter, body)}
}

// checkSkips: green because skipped is not green.
func checkSkips(h house) (problems []string) {
	for _, f := range h.code() {
		if !slices.ContainsFunc(f.code.Imports, func(s *ast.ImportSpec) bool {
			return s.Path.Value == `"testing"`
		}) {
			continue
		}
		ast.Inspect(f.code, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, s.Sel.Name) {
				problems = append(problems, f.at(s.Pos(), "%s", s.Sel.Name))
			}
			return true
		})
	}
	return problems
}

// machines finds paths of somebody's machine. The temporary folder that every Unix has is none,
// as long as nothing below it is named.
var machines = regexp.MustCompile(`(^|[^\w.<)}/-])/((work|root)\b|(home|tmp|Users|mnt)/\w)`)

var machineRule = rule{
	name:  "no path of a machine",
	check: checkMachines,
	broken: []sample{
		{"sim/a.go": "package sim\nconst a = \"" + "/" + "tmp/x\""},
		{"README.md": "See " + "/" + "home/me/ordeal."},
		{"Makefile": "OUT=" + "/" + "work/out"},
	},
	sound: []sample{
		{"sim/a.go": "package sim\nconst a = \"/api/v1/home\""},
		{"sim/a.go": "package sim\nconst a = \"/tmp\""},
		{"README.md": "https://example.org/root and do/work"},
		{"sim/b.go": "package sim\nimport \"os\"\nvar a = os.TempDir()"},
	},
}

func checkMachines(h house) []string { return h.grep(machines) }
