package sim

import (
	"time"

	"ordeal/scenarios"
	"ordeal/scenarios/evidence"
	"ordeal/sim/engine"
)

// Faults of the world around an operation. A policy may not change the world: each is done by an
// event of this instant, and the operation at which it came up is held until then.

// held is the fate of an operation whose surroundings are about to change.
var held = engine.Fate{Kind: engine.Hold, After: time.Microsecond}

// pause holds the sender's process from now on, with the operation on its way.
func (f *faults) pause(op *engine.Operation, draw *engine.Draw) engine.Fate {
	name, _ := splitIncarnation(op.Process)
	length := draw.Duration("pause", engine.Range(f.scenario.Pauses.Length))
	process := f.world.Process(name)
	f.world.At(f.world.Now(), "pause "+name, func() {
		if process.Running() {
			process.Pause(length)
		}
	})
	return held
}

// cut holds what passes between the sender and the receiver, or between the sender and all that
// it talks to.
func (f *faults) cut(op *engine.Operation, draw *engine.Draw) engine.Fate {
	sender, _ := splitIncarnation(op.Process)
	parties := []string{op.Party}
	if op.Kind != engine.Request && draw.Choose("cut off from everybody", 3) == 2 {
		parties = []string{
			engine.Database, evidence.PartyWarehouse, evidence.PartyPayment, evidence.PartyShipping,
		}
	}
	length := draw.Duration("cut", engine.Range(f.scenario.Cuts.Length))
	f.world.At(f.world.Now(), "cut "+sender, func() {
		for _, party := range parties {
			f.world.Cut(sender, party, f.world.Now()+length)
		}
	})
	return held
}

// restart takes the database away for a while.
func (f *faults) restart(draw *engine.Draw) engine.Fate {
	length := draw.Duration("restart of the database", engine.Range(f.scenario.Restarts.Length))
	f.world.At(f.world.Now(), "restart database", func() { f.world.RestartDatabase(length) })
	return held
}

// Bounds of clocks. Skew shows in what a clock tells, drift in how long its timers take. A jump
// goes forward: durations are measured by a process's own clock, which is monotonic, so that only
// a machine that slept can make one seem longer, and nothing makes one seem shorter. The
// database's clock does not jump: it is what everybody else is measured by.
var (
	clockSkew  = engine.Range{Max: 10 * time.Minute}
	clockDrift = engine.Range{Max: 200 * time.Microsecond} // a second
	clockJump  = engine.Range{Min: time.Second, Max: 40 * time.Second}
)

// skew is how far a clock is off, and what it gains in a second.
type skew struct {
	off   time.Duration
	drift int64
}

// setClocks sets clocks off that are to be.
func (f *faults) setClocks() {
	for _, x := range f.scenario.Faults {
		switch x.Kind {
		case scenarios.ClockDatabase:
			if s, ok := f.drawSkew(x, engine.Database); ok {
				f.world.SetDatabaseClock(s.off, s.drift)
			}
		case scenarios.ClockProcess:
			for _, name := range processNames(f.scenario) {
				if s, ok := f.drawSkew(x, name); ok {
					f.skews[name] = s
					f.world.Process(name).SetClock(s.off, s.drift)
				}
			}
		}
	}
}

// drawSkew draws whether, and how far, a clock is off.
func (f *faults) drawSkew(x scenarios.Fault, whose string) (skew, bool) {
	kind, ok := f.draw("clock of "+whose, []chance{{x, f.off[x]}})
	if !ok {
		return skew{}, false
	}
	draw, label := f.world.Faults(), string(kind)+" "+whose
	s := skew{draw.Duration(label+" off by", clockSkew),
		draw.Duration(label+" gains", clockDrift).Microseconds()}
	if draw.Choose(label+" is behind", 2) == 1 {
		s.off = -s.off
	}
	if draw.Choose(label+" is slow", 2) == 1 {
		s.drift = -s.drift
	}
	return s, true
}

// jump lets the clock of the sender's process jump forward.
func (f *faults) jump(op *engine.Operation, draw *engine.Draw) engine.Fate {
	name, _ := splitIncarnation(op.Process)
	length := draw.Duration("jump", clockJump)
	f.world.At(f.world.Now(), "clock jumps "+name, func() {
		s := f.skews[name]
		s.off += length
		f.skews[name] = s
		f.world.Process(name).SetClock(s.off, s.drift)
	})
	return held
}
