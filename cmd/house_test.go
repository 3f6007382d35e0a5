// Package cmd_test holds the rules of the house: what may import what, what the service must not
// know, where time and randomness come from, and what code and files look like. They are tests
// over the source of the whole module, so that they cannot rot.
//
// A rule is a function from a house (the files of the repository) to what is wrong in it. Beside
// the real house, each rule is shown small ones that break it and that keep it: a rule that finds
// nothing in a broken house is broken itself.
package cmd_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// module is the name of the module, which every import of our own begins with.
const module = "ordeal"

// root is the repository, seen from this folder.
const root = ".."

// rule is a rule of the house.
type rule struct {
	name  string
	check func(house) []string // what is wrong, as "path:line: problem"
	// broken are houses that the rule must find fault with, and sound ones that it must not.
	broken, sound []sample
}

// rules are all rules; each is defined beside its function.
var rules = []rule{
	importRule, testbedRule, buildTagRule,
	interfaceRule, stateRule, timeRule, randomnessRule, goroutineRule, floatRule,
	packageCommentRule, documentationRule,
	functionLengthRule, fileLengthRule, lineLengthRule,
	nameRule, topLevelRule, leftoverRule, skipRule, machineRule,
}

func TestHouse(t *testing.T) {
	h := realHouse(t)
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, problem := range r.check(h) {
				t.Error(problem)
			}
		})
	}
}

func TestRulesFindWhatIsBroken(t *testing.T) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			if len(r.broken) == 0 || len(r.sound) == 0 {
				t.Fatal("a rule needs a broken and a sound house")
			}
			for i, s := range r.broken {
				if problems := r.check(s.house(t)); len(problems) != 1 {
					t.Errorf("broken house %d: want one problem, got %q", i, problems)
				}
			}
			for i, s := range r.sound {
				if problems := r.check(s.house(t)); len(problems) > 0 {
					t.Errorf("sound house %d: %q", i, problems)
				}
			}
		})
	}
}

// house is the files of a repository in the order of their paths.
type house []file

// file is a file of a house.
type file struct {
	path string // with slashes, from the top
	text string
	code *ast.File // of Go files outside testdata, else nil
	fset *token.FileSet
}

// sample is a small house: texts by path.
type sample map[string]string

func (s sample) house(t *testing.T) house {
	t.Helper()
	var h house
	fset := token.NewFileSet()
	for p, text := range s {
		f := file{path: p, text: text, fset: fset}
		if strings.HasSuffix(p, ".go") && !strings.Contains(p, "testdata/") {
			var err error
			if f.code, err = parser.ParseFile(f.fset, p, text, parser.ParseComments); err != nil {
				t.Fatal(err)
			}
		}
		h = append(h, f)
	}
	sort.Slice(h, func(i, j int) bool { return h[i].path < h[j].path })
	return h
}

// realHouse reads the text files of the repository: those that are tracked, and those that would
// be if somebody added them now.
func realHouse(t *testing.T) house {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("list the files of the repository: %v", err)
	}
	s := sample{}
	for _, p := range strings.Split(strings.TrimRight(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, p))
		if os.IsNotExist(err) {
			continue // tracked, and deleted since
		}
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.ContainsRune(text, 0) {
			s[p] = string(text)
		}
	}
	h := s.house(t)
	if len(h.under("service").code()) == 0 || len(h.under("migrations")) == 0 {
		t.Fatalf("only %d files found", len(h))
	}
	return h
}

// where returns the files that a condition holds for.
func (h house) where(keep func(file) bool) house {
	var kept house
	for _, f := range h {
		if keep(f) {
			kept = append(kept, f)
		}
	}
	return kept
}

// under returns the files below folders.
func (h house) under(folders ...string) house {
	return h.where(func(f file) bool {
		for _, folder := range folders {
			if strings.HasPrefix(f.path, folder+"/") {
				return true
			}
		}
		return false
	})
}

// outside returns the files that are not directly in a folder.
func (h house) outside(folder string) house {
	return h.where(func(f file) bool { return f.folder() != folder })
}

// code returns the Go files.
func (h house) code() house { return h.where(func(f file) bool { return f.code != nil }) }

// production returns the files that are no tests.
func (h house) production() house { return h.where(func(f file) bool { return !f.test() }) }

// folders groups the files by folder.
func (h house) folders() (names []string, files map[string]house) {
	files = map[string]house{}
	for _, f := range h {
		if files[f.folder()] == nil {
			names = append(names, f.folder())
		}
		files[f.folder()] = append(files[f.folder()], f)
	}
	return names, files
}

func (f file) folder() string { return path.Dir(f.path) }

// test tells whether a file is part of a test: by name, or as its data.
func (f file) test() bool {
	return strings.HasSuffix(f.path, "_test.go") || strings.Contains(f.path, "testdata/")
}

// lines returns the lines of the file.
func (f file) lines() []string {
	return strings.Split(strings.TrimSuffix(f.text, "\n"), "\n")
}

// at reports a problem at a place of the code.
func (f file) at(pos token.Pos, format string, args ...any) string {
	return f.atLine(f.fset.Position(pos).Line, format, args...)
}

// atLine reports a problem at a line.
func (f file) atLine(line int, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s", f.path, line, fmt.Sprintf(format, args...))
}

// selectors visits every use of a name of another package, as its import path and name.
func (f file) selectors(visit func(n *ast.SelectorExpr, imported, name string)) {
	imports := f.imports()
	ast.Inspect(f.code, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Obj == nil && imports[x.Name] != "" {
				visit(s, imports[x.Name], s.Sel.Name)
			}
		}
		return true
	})
}

// imports returns the paths of the imports by the names that the file uses for them.
func (f file) imports() map[string]string {
	paths := map[string]string{}
	for _, spec := range f.code.Imports {
		p := strings.Trim(spec.Path.Value, `"`)
		name := path.Base(p)
		if len(name) > 1 && name[0] == 'v' && strings.Trim(name[1:], "0123456789") == "" {
			name = path.Base(path.Dir(p))
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		paths[name] = p
	}
	return paths
}
