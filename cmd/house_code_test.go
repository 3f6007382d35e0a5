package cmd_test

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var interfaceRule = rule{
	name:  "interfaces have a consumer",
	check: checkInterfaces,
	broken: []sample{
		{"service/a.go": "package service\ntype Store interface{ Get() }"},
		{"service/a.go": "package service\ntype store interface{ Get() }\n" +
			"type config struct{ store int }\nvar c = config{store: 1}.store"},
		{"service/a.go": "package service\ntype Store interface{ Get() Store }"},
		{"service/a.go": "package service\ntype Store interface{ Get() }\ntype db struct{}\n" +
			"func (db) Get() {}\nvar _ Store = db{}"},
		{"service/a.go": "package service\ntype Store interface{ Get() }",
			"service/a_test.go": "package service\nvar s Store",
			"service/api/a.go":  "package api\nimport \"ordeal/service\"\nvar s service.Store"},
	},
	sound: []sample{
		{"service/a.go": "package service\ntype Store interface{ Get() }",
			"service/b.go": "package service\ntype Config struct{ Store Store }"},
		{"service/a.go": "package service\nimport \"context\"\ntype store interface{ Get() }\n" +
			"func use(c context.Context, s store) { s.Get() }"},
		{"sim/a.go": "package sim\ntype Store interface{ Get() }"},
	},
}

// checkInterfaces: an interface is declared by the package that calls it, so one that the rest of
// its package does not use is a mirror of its implementation. An assertion that something
// implements it is no use.
func checkInterfaces(h house) (problems []string) {
	names, folders := h.under("service").code().production().folders()
	for _, name := range names {
		used := usesIn(folders[name])
		for _, f := range folders[name] {
			for _, spec := range typeSpecs(f.code) {
				_, is := spec.Type.(*ast.InterfaceType)
				if is && !used(spec) {
					problems = append(problems, f.at(spec.Pos(), "nothing in %s uses %s", name,
						spec.Name.Name))
				}
			}
		}
	}
	return problems
}

// typeSpecs returns the types that a file declares.
func typeSpecs(code *ast.File) (specs []*ast.TypeSpec) {
	for _, d := range code.Decls {
		if g, ok := d.(*ast.GenDecl); ok {
			for _, s := range g.Specs {
				if t, ok := s.(*ast.TypeSpec); ok {
					specs = append(specs, t)
				}
			}
		}
	}
	return specs
}

// usesIn checks the types of a package as far as it goes without its imports, and returns a
// function that tells whether a type is used outside its declaration and blank assertions.
func usesIn(files house) func(*ast.TypeSpec) bool {
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	var codes []*ast.File
	for _, f := range files {
		codes = append(codes, f.code)
	}
	config := types.Config{Importer: nothing{}, Error: func(error) {}}
	// The errors are about imports that are not there.
	_, _ = config.Check(files[0].folder(), files[0].fset, codes, info)
	return func(spec *ast.TypeSpec) bool {
		apart := map[*ast.Ident]bool{}
		skip(spec, apart)
		for _, code := range codes {
			blankAssertions(code, apart)
		}
		for ident, object := range info.Uses {
			if object == info.Defs[spec.Name] && !apart[ident] {
				return true
			}
		}
		return false
	}
}

// nothing imports nothing.
type nothing struct{}

func (nothing) Import(string) (*types.Package, error) { return nil, errors.New("not there") }

// skip adds the identifiers below a node to a set.
func skip(node ast.Node, set map[*ast.Ident]bool) {
	ast.Inspect(node, func(n ast.Node) bool {
		if ident, ok := n.(*ast.Ident); ok {
			set[ident] = true
		}
		return true
	})
}

// blankAssertions adds the identifiers of `var _ T = …` to a set.
func blankAssertions(code *ast.File, set map[*ast.Ident]bool) {
	ast.Inspect(code, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Names) == 1 && v.Names[0].Name == "_" {
			skip(v, set)
		}
		return true
	})
}

// stateSource declares two states for the houses below.
const stateSource = "package order\ntype State string\n" +
	"const (\n\tPaid State = \"paid\"\n\tPaymentFailed State = \"payment_failed\"\n)\n"

var stateRule = rule{
	name:  "states are compared in the domain",
	check: checkStates,
	broken: []sample{
		{},
		stateSample("func f(s order.State) bool { return s == order.Paid }"),
		stateSample("func f(s order.State) bool { return (order.PaymentFailed) != s }"),
		stateSample("func f(s string) bool { return s == \"payment_failed\" }"),
		stateSample("func f(s string) bool { return s != string(order.Paid) }"),
		stateSample("func f(s order.State) { switch s { case order.Paid: } }"),
		stateSample("func f(s string) { switch s { case \"x\", `paid`: } }"),
		{"service/order/state.go": stateSource, "service/api/a.go": "package api\n" +
			"import o \"ordeal/service/order\"\nvar a = o.State(\"\") == o.Paid"},
	},
	sound: []sample{
		stateSample("var s = []order.State{order.Paid}"),
		stateSample("var s = \"paid\"\nconst q = `where state = 'paid'`"),
		stateSample("func f(k order.StepKind) bool { return k == order.StepPay }"),
		{"service/order/state.go": stateSource + "var a = State(\"\") == Paid"},
		{"service/order/state.go": stateSource,
			"sim/a.go": "package sim\nvar a = \"x\" == \"paid\""},
	},
}

// stateSample is a house with the two states and some code of another package.
func stateSample(code string) sample {
	return sample{
		"service/order/state.go": stateSource,
		"service/api/a.go":       "package api\nimport \"ordeal/service/order\"\n" + code,
	}
}

// checkStates: what a state means is decided by the tables of the domain, so nobody else in the
// service compares with one.
func checkStates(h house) (problems []string) {
	states := h.states()
	if len(states) == 0 {
		return []string{"the domain declares no states"}
	}
	for _, f := range h.under("service").code().production().outside("service/order") {
		ast.Inspect(f.code, func(n ast.Node) bool {
			for _, operand := range compared(n) {
				if state := f.stateIn(operand, states); state != "" {
					problems = append(problems, f.at(operand.Pos(), "compares with %s", state))
				}
			}
			return true
		})
	}
	return problems
}

// states returns the values of the states that the domain declares, by constant.
func (h house) states() map[string]string {
	states := map[string]string{}
	for _, f := range h.where(func(f file) bool { return f.folder() == "service/order" }).code() {
		ast.Inspect(f.code, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Values) != 1 {
				return true
			}
			typ, named := v.Type.(*ast.Ident)
			if text := literal(v.Values[0]); named && typ.Name == "State" && text != "" {
				states[v.Names[0].Name] = text
			}
			return true
		})
	}
	return states
}

// compared returns the operands of a comparison or the values of a case.
func compared(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if n.Op == token.EQL || n.Op == token.NEQ {
			return []ast.Expr{n.X, n.Y}
		}
	case *ast.CaseClause:
		return n.List
	}
	return nil
}

// stateIn returns the state that an operand is, as a constant of the domain or as text, also
// inside a conversion; else it is empty.
func (f file) stateIn(operand ast.Expr, states map[string]string) string {
	switch e := operand.(type) {
	case *ast.ParenExpr:
		return f.stateIn(e.X, states)
	case *ast.CallExpr:
		if len(e.Args) == 1 {
			return f.stateIn(e.Args[0], states)
		}
	case *ast.SelectorExpr:
		x, ok := e.X.(*ast.Ident)
		if ok && f.imports()[x.Name] == module+"/service/order" {
			return states[e.Sel.Name]
		}
	case *ast.BasicLit:
		for _, state := range states {
			if literal(e) == state {
				return state
			}
		}
	}
	return ""
}

// literal returns the value of a string literal, or nothing.
func literal(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	text, _ := strconv.Unquote(lit.Value)
	return text
}

var timeRule = rule{
	name:  "time is injected",
	check: checkTime,
	broken: []sample{
		{"service/a.go": "package service\nimport \"time\"\nvar a = time.Now()"},
		{"service/a.go": "package service\nimport \"time\"\nvar now = time.Now"},
		{"service/a.go": "package service\nimport t \"time\"\nfunc f() { t.Sleep(1) }"},
		{"service/store/a.go": "package store\nimport \"time\"\nvar a = time.NewTicker(1)"},
		{"service/store/a.go": "package store\nimport \"time\"\nvar a = time.Since(time.Time{})"},
		{"service/a.go": "package service\nimport \"github.com/jonboulle/clockwork\"\n" +
			"var c = clockwork.NewRealClock()"},
		{"service/production.go": "package service\nimport \"time\"\nvar a = time.Now()"},
	},
	sound: []sample{
		{"service/a.go": "package service\nimport \"time\"\nvar a = time.Second"},
		{"service/a.go": "package service\ntype c struct{}\nfunc (c) Now() {}\n" +
			"func f(time c) { time.Now() }"},
		{"service/a_test.go": "package service\nimport \"time\"\nvar a = time.Now()"},
		{"service/production.go": "package service\n" +
			"import \"github.com/jonboulle/clockwork\"\nvar c = clockwork.NewRealClock()"},
		{"cmd/orderd/a.go": "package main\nimport \"time\"\nvar a = time.Now()"},
	},
}

// wiring are the places where a process that runs for real gets what others have injected, with
// the reason. They may not read a clock either: they hand one over.
var wiring = map[string]string{
	"service/production.go": "the dependencies of production: clock, randomness, request ids",
	"service/seed.go":       "draws bearer tokens, which must not be guessed",
}

// clocks are the names that read the machine's clock or wait by it.
var clocks = map[string][]string{
	"time": {"Now", "After", "Sleep", "NewTimer", "NewTicker", "Tick", "AfterFunc", "Since",
		"Until"},
	"github.com/jonboulle/clockwork": {"NewRealClock"},
}

func checkTime(h house) (problems []string) {
	for _, f := range h.under("service").code().production() {
		f.selectors(func(n *ast.SelectorExpr, imported, name string) {
			wired := wiring[f.path] != "" && imported != "time"
			if slices.Contains(clocks[imported], name) && !wired {
				problems = append(problems, f.at(n.Pos(), "%s.%s", imported, name))
			}
		})
	}
	return problems
}

var randomnessRule = rule{
	name:  "randomness is injected",
	check: checkRandomness,
	broken: []sample{
		{"service/a.go": "package service\nimport \"math/rand/v2\"\nvar a = rand.IntN(3)"},
		{"service/a.go": "package service\nimport \"math/rand\"\nvar a = rand.Float64"},
		{"service/a.go": "package service\nimport r \"math/rand/v2\"\nfunc f() { r.Shuffle(0, nil) }"},
		{"service/a.go": "package service\nimport _ \"crypto/rand\""},
		{"service/a.go": "package service\nimport \"github.com/google/uuid\"\n" +
			"var a = uuid.NewString()"},
		{"service/production.go": "package service\nimport \"math/rand/v2\"\nvar a = rand.IntN(3)"},
	},
	sound: []sample{
		{"service/a.go": "package service\nimport \"math/rand/v2\"\n" +
			"func f(r *rand.Rand) int { return r.IntN(3) }\nvar a = rand.New(rand.NewPCG(1, 2))"},
		{"service/a.go": "package service\nimport \"github.com/google/uuid\"\nvar a uuid.UUID"},
		{"service/production.go": "package service\nimport \"crypto/rand\"\nvar a = rand.Text()"},
		{"cmd/orderd/a.go": "package main\nimport \"crypto/rand\"\nvar a = rand.Text()"},
	},
}

// seeded are the names of math/rand that draw from no source of their own.
var seeded = []string{"New", "NewPCG", "NewChaCha8", "NewSource", "NewZipf", "Rand", "Source",
	"Source64", "PCG", "ChaCha8", "Zipf"}

// drawn are the names of uuid that draw an id.
var drawn = []string{"New", "NewString", "NewRandom", "NewUUID", "NewV6", "NewV7", "Must"}

func checkRandomness(h house) (problems []string) {
	for _, f := range h.under("service").code().production() {
		for _, spec := range f.code.Imports {
			if spec.Path.Value == `"crypto/rand"` && wiring[f.path] == "" {
				problems = append(problems, f.at(spec.Pos(), "crypto/rand"))
			}
		}
		f.selectors(func(n *ast.SelectorExpr, imported, name string) {
			global := strings.HasPrefix(imported, "math/rand") && !slices.Contains(seeded, name)
			id := imported == "github.com/google/uuid" && slices.Contains(drawn, name)
			if global || id && wiring[f.path] == "" {
				problems = append(problems, f.at(n.Pos(), "%s.%s", imported, name))
			}
		})
	}
	return problems
}

var goroutineRule = rule{
	name:  "goroutines start in named places",
	check: checkGoroutines,
	broken: []sample{
		{"service/a.go": "package service\nfunc f() { go f() }"},
		{"service/executor/record.go": "package executor\nfunc f() { go func() {}() }"},
	},
	sound: []sample{
		{"service/executor/take.go": "package executor\nfunc f() { go f() }"},
		{"service/a.go": "package service\nimport \"sync\"\n" +
			"func f(w *sync.WaitGroup) { w.Go(func() {}) }"},
		{"cmd/orderd/a.go": "package main\nfunc f() { go f() }"},
	},
}

// starts are the files that may start goroutines of their own, with the reason.
var starts = map[string]string{
	"service/executor/take.go": "a worker per step in work, counted by the executor",
}

func checkGoroutines(h house) (problems []string) {
	for _, f := range h.under("service").code().production() {
		ast.Inspect(f.code, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok && starts[f.path] == "" {
				problems = append(problems, f.at(g.Pos(), "bare go statement"))
			}
			return true
		})
	}
	return problems
}

var floatRule = rule{
	name:  "no floating point on the money path",
	check: checkFloats,
	broken: []sample{
		{"service/order/a.go": "package order\nvar a float64"},
		{"service/store/a.go": "package store\nfunc f(a []float32) {}"},
		{"service/api/a.go": "package api\nvar a = 1.5"},
		{"service/provider/a.go": "package provider\nimport \"strconv\"\n" +
			"var a, _ = strconv.ParseFloat(\"1\", 64)"},
		{"service/store/a.go": "package store\nconst a = `select 1::double precision`"},
		{"migrations/1.sql": "create table a (total real not null);"},
		{"migrations/1.sql": "create table a (total float8);"},
	},
	sound: []sample{
		{"service/order/a.go": "package order\n\n// A float64 is not used.\nvar a int64"},
		{"service/executor/a.go": "package executor\nvar jitter float64"},
		{"service/order/a_test.go": "package order\nvar a float64"},
		{"migrations/1.sql": "-- the real total\ncreate table a (total bigint);"},
	},
}

// floatNames are names of floating point types and of what makes them.
var floatNames = regexp.MustCompile(`^(float(32|64)|complex(64|128)|(Parse|Format|New)?Float\w*)$`)

// floatSQL finds the floating point types of SQL.
var floatSQL = regexp.MustCompile(`(?i)\bdouble precision\b|\breal\b|\bfloat[48]?\b`)

// checkFloats: money is an integer of kopecks everywhere (ORD-1).
func checkFloats(h house) (problems []string) {
	money := h.under("service/order", "service/store", "service/api", "service/provider")
	for _, f := range money.code().production() {
		ast.Inspect(f.code, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				if floatNames.MatchString(n.Name) {
					problems = append(problems, f.at(n.Pos(), "%s", n.Name))
				}
			case *ast.BasicLit:
				if n.Kind == token.FLOAT || floatSQL.MatchString(literal(n)) {
					problems = append(problems, f.at(n.Pos(), "%.40s", n.Value))
				}
			}
			return true
		})
	}
	for _, f := range h.under("migrations") {
		for i, line := range f.lines() {
			statement, _, _ := strings.Cut(line, "--")
			if strings.HasSuffix(f.path, ".sql") && floatSQL.MatchString(statement) {
				problems = append(problems, f.atLine(i+1, "%s", strings.TrimSpace(line)))
			}
		}
	}
	return problems
}
