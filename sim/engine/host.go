package engine

import (
	"os"
	"testing"
)

// Main gives a plain program the *testing.T that bubbles need: it calls run on it and ends the
// program with the code that run returns. Flags are the program's own; read them from os.Args
// before calling Main, since it cuts os.Args down to the program's name.
func Main(run func(t *testing.T) int) {
	os.Args = os.Args[:1]
	test := testing.InternalTest{Name: "main", F: func(t *testing.T) { os.Exit(run(t)) }}
	testing.Main(func(string, string) (bool, error) { return true, nil },
		[]testing.InternalTest{test}, nil, nil)
}
