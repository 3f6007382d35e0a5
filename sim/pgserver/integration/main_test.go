// Package integration_test starts real servers, looks at them from outside, and kills the
// processes that use them in every way a process can die.
//
// The test binary doubles as such a process: with ORDEAL_PGSERVER_PLAY set it starts a
// server, tells its connection string and waits for how to die.
package integration_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"ordeal/sim/pgserver"
)

func TestMain(m *testing.M) {
	if os.Getenv("ORDEAL_PGSERVER_PLAY") != "" {
		play()
		return
	}
	goleak.VerifyTestMain(m)
}

// play is the life of a process that uses a server.
func play() {
	s, err := pgserver.Start(context.Background(), pgserver.Options{Log: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.URL())
	orders := bufio.NewScanner(os.Stdin)
	for orders.Scan() {
		switch orders.Text() {
		case "close":
			if err := s.Close(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		case "exit":
			os.Exit(0)
		case "panic":
			panic("as ordered")
		}
	}
}
