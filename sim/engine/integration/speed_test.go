package integration_test

import (
	"runtime"
	"testing"
	"time"
)

// A worker process plays many seeds, so a run must leave nothing behind: neither memory nor
// goroutines nor server connections.
func TestMemoryIsFlat(t *testing.T) {
	play := func(seeds uint64) (statements int) {
		for seed := range seeds {
			r := trial{seed: seed, transfers: 8}.run(t)
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			statements += r.Counters.Statements
		}
		return statements
	}
	play(100)
	before, goroutines, conns := heap(), runtime.NumGoroutine(), backend.Connections()
	const runs = 500
	start := time.Now()
	statements := play(runs)
	took := time.Since(start)
	t.Logf("%.0f runs/s, %d statements a run, %s a statement", runs/took.Seconds(),
		statements/runs, took/time.Duration(statements))
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("the heap grew by %d bytes in %d runs", grown, runs)
	}
	if n := runtime.NumGoroutine() - goroutines; n > 0 {
		t.Errorf("%d goroutines are left", n)
	}
	if n := backend.Connections() - conns; n > 0 {
		t.Errorf("%d more server connections", n)
	}
}

// heap returns the bytes that are in use after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
