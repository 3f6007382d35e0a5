package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"ordeal/reports"
)

// SoakConfig says how long and how hard to soak.
type SoakConfig struct {
	Programs Programs
	// Duration bounds the time in which workers are killed, Kills how often; zero is no bound.
	Duration time.Duration
	Kills    int
	Seed     uint64
	// Logs is an existing folder for the logs of all processes.
	Logs string
	// Log is told about the surroundings and, every ten seconds, how far the soak is.
	Log io.Writer
}

const (
	// soakWorkers is more than a case has: while one starts again, others go on.
	soakWorkers = 3
	// soakEvery separates orders that come whatever happens.
	soakEvery = 200 * time.Millisecond
	// soakRetry separates orders of the kind that the trap waits for.
	soakRetry = 2 * time.Second
	// tellEvery separates the words on progress.
	tellEvery = 10 * time.Second
)

// Place is a boundary of a kind of step.
type Place struct {
	Step     string
	Boundary Boundary
}

// Soak kills workers at boundaries that the seed chooses, those least hit first, while orders of
// all kinds come, and then judges everything at once. Hits counts the kills by place.
func Soak(ctx context.Context, c SoakConfig) (o Outcome, hits map[Place]int, err error) {
	t, err := openTheatre(ctx, c.Programs, c.Logs, c.Log)
	if err != nil {
		return Outcome{}, nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	soak := Case{ID: "soak", Action: Kill, Lease: shortLease, Renew: shortRenew}
	p := newPlay(t, soak, c.Seed, soakWorkers)
	s := &soaking{play: p, config: c, hits: map[Place]int{}, until: endOf(c.Duration)}
	began := time.Now()
	err = s.perform(ctx)
	p.outcome.Elapsed = time.Since(began)
	return p.outcome, s.hits, err
}

// endOf is the moment at which a duration is over; far away if there is none.
func endOf(d time.Duration) time.Time {
	if d == 0 {
		d = 365 * 24 * time.Hour
	}
	return time.Now().Add(d)
}

// soaking is a soak under way.
type soaking struct {
	play    *play
	config  SoakConfig
	hits    map[Place]int
	until   time.Time
	created int
	told    time.Time
}

func (s *soaking) perform(ctx context.Context) (err error) {
	p := s.play
	if err := p.open(ctx); err != nil {
		return err
	}
	defer func() {
		p.load.stop()
		err = errors.Join(err, p.stage.Close())
	}()
	stop := make(chan struct{})
	p.load.stream("steady", soakEvery, rand.New(rand.NewPCG(s.config.Seed, 1)), stop)
	err = s.kills(ctx)
	close(stop)
	if err != nil {
		return err
	}
	if err := p.heal(ctx); err != nil {
		return err
	}
	if err := p.load.wait(); err != nil {
		p.fail(reports.Broken, "a customer got no final answer: %v", err)
	}
	return p.judge(ctx)
}

// kills kills until the bounds are reached.
func (s *soaking) kills(ctx context.Context) error {
	for time.Now().Before(s.until) && (s.config.Kills == 0 || s.play.outcome.Kills < s.config.Kills) {
		s.tell()
		place := s.next()
		done, err := s.kill(ctx, place)
		if err != nil {
			return err
		}
		if done {
			s.hits[place]++
			s.play.outcome.Hit = true
		}
		if err := s.play.stage.Revive(ctx); err != nil {
			return err
		}
	}
	return nil
}

// next chooses among the places that were hit least.
func (s *soaking) next() Place {
	all := places()
	s.play.rng.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
	return slices.MinFunc(all, func(a, b Place) int { return cmp.Compare(s.hits[a], s.hits[b]) })
}

// places are all boundaries of all kinds of steps.
func places() (all []Place) {
	for _, b := range killBoundaries {
		for _, step := range steps {
			all = append(all, Place{step, b})
		}
	}
	return all
}

// kill kills whoever reaches a place first. It creates orders that lead there until one does, or
// the time of the soak is over.
func (s *soaking) kill(ctx context.Context, place Place) (done bool, err error) {
	p := s.play
	t := newTrap(place.Step, place.Boundary, "", func(h hit) bool { return kill(ctx, p, h) })
	p.director.arm(t)
	defer p.director.arm(nil)
	for time.Now().Before(s.until) {
		s.created++
		p.load.order(fmt.Sprintf("soaked-%d", s.created), stories[place.Step], p.rng)
		select {
		case <-t.sprung:
			return true, nil
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(soakRetry):
		}
	}
	return false, nil
}

// tell says how far the soak is.
func (s *soaking) tell() {
	if time.Since(s.told) < tellEvery || s.config.Log == nil {
		return
	}
	s.told = time.Now()
	fmt.Fprintf(s.config.Log, "%d kills, each place hit at least %d times\n",
		s.play.outcome.Kills, s.least())
}

// least is how often the place was hit that was hit least.
func (s *soaking) least() int {
	least := slices.MinFunc(places(), func(a, b Place) int {
		return cmp.Compare(s.hits[a], s.hits[b])
	})
	return s.hits[least]
}
