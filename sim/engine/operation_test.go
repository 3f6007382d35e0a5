package engine

import "testing"

// Everything that an operation sends tells it apart, and nothing else does.
func TestContentOfOperations(t *testing.T) {
	base := func() *op {
		return &op{Operation: Operation{Kind: Statement, Process: "p#1", Party: Database,
			Name: "Take"}, canon: []byte("args"), prior: 7}
	}
	for name, change := range map[string]func(o *op){
		"kind":    func(o *op) { o.Kind = Call },
		"process": func(o *op) { o.Process = "p#2" },
		"party":   func(o *op) { o.Party = "shop" },
		"name":    func(o *op) { o.Name = "Pay" },
		"args":    func(o *op) { o.canon = []byte("brgs") },
		"history": func(o *op) { o.prior = 8 },
	} {
		a, b := base(), base()
		change(b)
		if compareOps(a, b) == 0 || compareOps(a, b) != -compareOps(b, a) {
			t.Errorf("%s: compares %d and %d", name, compareOps(a, b), compareOps(b, a))
		}
	}
	same := base()
	same.seam, same.Holds, same.holdUntil = &statementSeam{c: &conn{}}, 3, 5
	if compareOps(base(), same) != 0 {
		t.Error("the connection tells operations apart")
	}
	groups := groupOps([]*op{base(), same, {}})
	if len(groups) != 2 || len(groups[0]) != 2 {
		t.Errorf("grouped as %v", groups)
	}
	if groups := groupOps(nil); len(groups) != 0 {
		t.Errorf("nothing grouped as %v", groups)
	}
}
