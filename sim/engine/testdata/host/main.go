// Command host is a plain program around the engine, for the engine's own tests.
package main

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"ordeal/sim/engine"
)

func main() {
	mode := os.Args[1]
	engine.Main(func(t *testing.T) int {
		switch mode {
		case "runs":
			for seed := range uint64(1000) {
				run(t, seed, func(_ context.Context, in *engine.Incarnation) error {
					in.Clock().Sleep(time.Hour)
					return nil
				})
			}
			fmt.Println("1000 runs")
		case "panic":
			run(t, 4711, func(context.Context, *engine.Incarnation) error {
				go func() { panic("boom") }()
				select {}
			})
		case "hang":
			run(t, 4711, func(context.Context, *engine.Incarnation) error {
				for {
				}
			})
		}
		return 7
	})
}

func run(t *testing.T, seed uint64, start func(context.Context, *engine.Incarnation) error) {
	config := engine.Config{Seed: seed, Watchdog: time.Second,
		Goal: func(w *engine.World) bool { return w.Idle() }}
	r := engine.Run(t, config, func(w *engine.World) { w.Process("p").Start(start) })
	if r.Err != nil {
		fmt.Println(r.Err)
	}
}
