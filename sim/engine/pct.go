package engine

import (
	"hash/fnv"
	"math/rand/v2"
)

// Picker is a source that wants to know who the candidates are when the next operation is
// chosen. Other choices are asked for as of any source, and what was picked is recorded as any
// choice, so that a replay needs no picker.
type Picker interface {
	Source
	// Pick chooses one of at least two candidates, named by sender and operation, in content
	// order; names may be equal. It returns its index.
	Pick(candidates []string) (int, error)
}

// PCT returns the source of probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi,
// Nagarakatte, "A randomized scheduler with probabilistic guarantees of finding bugs", ASPLOS
// 2010), for bugs that need depth ordering constraints between operations. Depth below 1 is 1.
//
// Threads are senders of one operation ("executor-1#1 RecordResults"): each has a random
// priority, and of all that are pending the highest goes first. At depth-1 points of the run,
// drawn beforehand, the one whose turn it would be falls behind all others for good. So an
// operation can lose again and again against what came later, which a random walk makes
// exponentially rare.
//
// The paper's bound needs the number of steps. It is not known here and differs between runs by
// two orders of magnitude: the points are drawn from the first 8, 64 or 512 contested picks,
// each scale as likely. Faults, times and how long a run waits are drawn as by [Seeded].
func PCT(seed uint64, depth int) Picker {
	r := newRand(seed, "pct")
	p := &pct{Source: Seeded(seed), seed: r.Uint64(), fallen: map[string]int{}}
	steps := []int{8, 64, 512}[r.IntN(3)]
	p.points = changePoints(r, max(depth, 1)-1, steps)
	return p
}

type pct struct {
	Source
	seed   uint64
	step   int          // of contested picks
	points map[int]bool // steps at which the winner falls
	fallen map[string]int
}

// changePoints draws n different steps.
func changePoints(r *rand.Rand, n, steps int) map[int]bool {
	points := map[int]bool{}
	for len(points) < min(n, steps) {
		points[r.IntN(steps)] = true
	}
	return points
}

// Pick implements Picker.
func (p *pct) Pick(candidates []string) (int, error) {
	best := p.highest(candidates)
	if p.points[p.step] {
		p.fallen[candidates[best]] = len(p.fallen) + 1
		best = p.highest(candidates)
	}
	p.step++
	return best, nil
}

// highest returns the candidate of the highest priority; of equals, the first.
func (p *pct) highest(candidates []string) int {
	best := 0
	for i := range candidates {
		if p.above(candidates[i], candidates[best]) {
			best = i
		}
	}
	return best
}

// above compares priorities. Those that have fallen are below all others, the last one lowest.
func (p *pct) above(a, b string) bool {
	if fa, fb := p.fallen[a], p.fallen[b]; fa != fb {
		return fa == 0 || fb != 0 && fa < fb
	}
	return p.priority(a) > p.priority(b)
}

// priority draws a thread's priority by a hash, so that it does not depend on who came first.
func (p *pct) priority(thread string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(thread))
	return rand.NewPCG(p.seed, h.Sum64()).Uint64()
}
