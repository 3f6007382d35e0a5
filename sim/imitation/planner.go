package imitation

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"time"
)

// Call is what a planner knows about the call that it decides.
type Call struct {
	Operation Operation
	// Key is the operation's own idempotency key; empty for status queries.
	Key string
	// TargetKey is the key that the operation names, empty for charge, reserve and ship.
	TargetKey string
	OrderID   string
	// Step and Attempt come from the headers; zero where a status query has none.
	Step    int
	Attempt int
	// Ordinal counts, from 1, the calls with equal operation, keys, step and attempt: it
	// exceeds 1 only where one request was delivered again, or a query carries no attempt.
	Ordinal int
}

// Planner chooses the behaviour of each call. It is asked once per call, before the provider
// looks at its own state, from whatever goroutine serves the call.
type Planner interface {
	Plan(Call) Behaviour
}

// PlannerFunc is a function that plans.
type PlannerFunc func(Call) Behaviour

// Plan calls the function.
func (f PlannerFunc) Plan(c Call) Behaviour { return f(c) }

// Happy lets every call succeed that the provider's state allows.
type Happy struct{}

// Plan answers Succeed.
func (Happy) Plan(Call) Behaviour { return Behaviour{Kind: Succeed} }

// Weights tells how often each kind is drawn, relative to the sum of all. A kind that is
// absent is never drawn.
type Weights map[Kind]int

// validate reports unknown kinds, negative weights and an empty sum.
func (w Weights) validate() error {
	total := 0
	for kind, weight := range w {
		if err := (Behaviour{Kind: kind}).Validate(); err != nil {
			return err
		}
		if weight < 0 || weight > 1_000_000 {
			return fmt.Errorf("weight of %s: %d is not within 0 and 1000000", kind, weight)
		}
		total += weight
	}
	if total == 0 {
		return fmt.Errorf("weights: the sum is zero")
	}
	return nil
}

// Seeded draws behaviours by weight from a hash of the seed and the call's content. What a
// call gets depends on nothing that other calls do, and never on the order of arrival.
type Seeded struct {
	seed    uint64
	weights Weights
	total   uint64
}

// NewSeeded returns a planner for the seed, or an error for weights that cannot be drawn
// from: an unknown kind, a negative weight, a sum of zero.
func NewSeeded(seed uint64, weights Weights) (*Seeded, error) {
	if err := weights.validate(); err != nil {
		return nil, fmt.Errorf("seeded planner: %w", err)
	}
	s := &Seeded{seed: seed, weights: maps.Clone(weights)}
	for _, weight := range s.weights {
		s.total += uint64(weight)
	}
	return s, nil
}

// Plan draws the behaviour of the call.
func (s *Seeded) Plan(c Call) Behaviour {
	digest := s.digest(c)
	point := binary.BigEndian.Uint64(digest[0:8]) % s.total
	shape := binary.BigEndian.Uint64(digest[8:16])
	return shaped(s.kindAt(point), shape)
}

// digest hashes seed and content; texts are quoted, so that no two
// different calls share one input.
func (s *Seeded) digest(c Call) [sha256.Size]byte {
	input := fmt.Sprintf("%d|%q|%q|%q|%d|%d|%d",
		s.seed, c.Operation, c.Key, c.TargetKey, c.Step, c.Attempt, c.Ordinal)
	return sha256.Sum256([]byte(input))
}

// kindAt walks the closed list, never the map, to the kind that covers the point.
func (s *Seeded) kindAt(point uint64) Kind {
	for _, kind := range kinds {
		weight := uint64(s.weights[kind])
		if point < weight {
			return kind
		}
		point -= weight
	}
	panic("imitation: a drawn point lies outside all weights")
}

// shaped fills in what a drawn kind leaves open.
func shaped(kind Kind, shape uint64) Behaviour {
	b := Behaviour{Kind: kind}
	switch kind {
	case LateArrival:
		b.After = Duration(4*time.Second + time.Duration(shape%6_000)*time.Millisecond)
	case Pending:
		b.SettleRefused = shape%3 == 0
	}
	return b
}
