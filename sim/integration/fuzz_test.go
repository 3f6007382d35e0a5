package integration_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"ordeal/reports"
	"ordeal/scenarios"
	"ordeal/sim"
	"ordeal/sim/engine"
	"ordeal/sim/pgserver"
)

// FuzzRun lets coverage of the service and the simulator guide what happens in a run. The input
// is a choice sequence: the first byte names the scenario, each further one is a choice of the
// run (workload, order of events, times, faults) until they are used up; then everything is
// plain. A failure logs the replay file of its run.
//
//	go test ./sim/integration -run '^$' -fuzz FuzzRun -parallel 2 -fuzztime 10m \
//		-fuzzminimizetime 1x
//
// (Making an interesting input smaller costs dozens of runs and gains nothing; what fails is made
// smaller by simulate shrink, from the replay file.)
//
// As a plain test it plays its seed corpus: plain runs, and bytes drawn at random.
func FuzzRun(f *testing.F) {
	name := pgserver.UniqueName("fuzz")
	if err := server.CloneDatabase(f.Context(), name, template); err != nil {
		f.Fatal(err)
	}
	l, err := sim.OpenLab(f.Context(), server.DatabaseURL(name), server.CanSignal())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			f.Error(err)
		}
	})
	all := scenarios.All()
	for n := range all {
		f.Add([]byte{byte(n)})
		f.Add(drawn(byte(n), 600))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		s := all[int(data[0])%len(all)]
		c := sim.Course{Source: engine.Bytes(data[1:]), Choices: true}
		v, err := l.PlayCourse(context.Background(), t, s, 1, c, false)
		if err != nil {
			t.Fatal(err)
		}
		if id, message := v.Finding(); id != "" {
			var replay bytes.Buffer
			_ = sim.NewReplay(reports.Build{}, c, v).Encode(&replay)
			t.Errorf("%s: %s: %s\n%s", s.Name, id, message, replay.String())
		}
	})
}

// drawn returns input for a scenario, most choices plain, the others anything.
func drawn(scenario byte, length int) []byte {
	r := rand.New(rand.NewPCG(uint64(scenario), 1))
	data := make([]byte, length)
	for i := range data {
		if r.IntN(3) == 0 {
			data[i] = byte(r.IntN(256))
		}
	}
	data[0] = scenario
	return data
}
