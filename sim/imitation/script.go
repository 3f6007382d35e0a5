package imitation

import (
	"fmt"
	"slices"
	"sync"
)

// Script is one list of behaviours for the next calls of an operation.
type Script struct {
	Operation Operation `json:"operation"`
	// OrderID limits the list to one order; empty means any order.
	OrderID    string      `json:"order_id,omitempty"`
	Behaviours []Behaviour `json:"behaviours"`
}

// Scripted plans from lists: first the list of the call's operation and order, then the list
// of the operation for any order, then a fallback planner. Lists are used up in order of
// arrival, one entry a call. It is safe for concurrent use.
type Scripted struct {
	mu       sync.Mutex
	scripts  []Script
	fallback Planner
}

// NewScripted returns a planner without lists.
func NewScripted(fallback Planner) *Scripted { return &Scripted{fallback: fallback} }

// Add appends behaviours to the list of the script's operation and order. A script of
// an unknown operation, with an unknown behaviour or with none is refused as a whole.
func (s *Scripted) Add(script Script) error {
	if !slices.Contains(operations, script.Operation) {
		return fmt.Errorf("script: operation %q is not one of %v", script.Operation, operations)
	}
	if len(script.Behaviours) == 0 {
		return fmt.Errorf("script of %s: no behaviours", script.Operation)
	}
	for _, b := range script.Behaviours {
		if err := b.Validate(); err != nil {
			return fmt.Errorf("script of %s: %w", script.Operation, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	added := slices.Clone(script.Behaviours)
	if at := s.find(script.Operation, script.OrderID); at >= 0 {
		s.scripts[at].Behaviours = append(s.scripts[at].Behaviours, added...)
		return nil
	}
	script.Behaviours = added
	s.scripts = append(s.scripts, script)
	return nil
}

// Clear drops every list; calls go to the fallback again.
func (s *Scripted) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts = nil
}

// Left returns a copy of what has not been used up.
func (s *Scripted) Left() []Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := make([]Script, 0, len(s.scripts))
	for _, script := range s.scripts {
		script.Behaviours = slices.Clone(script.Behaviours)
		left = append(left, script)
	}
	return left
}

// Plan takes the next behaviour of the most specific list.
func (s *Scripted) Plan(c Call) Behaviour {
	if b, ok := s.take(c.Operation, c.OrderID); ok {
		return b
	}
	if b, ok := s.take(c.Operation, ""); ok {
		return b
	}
	return s.fallback.Plan(c)
}

// take removes and returns the head of one list.
func (s *Scripted) take(op Operation, order string) (Behaviour, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.find(op, order)
	if at < 0 {
		return Behaviour{}, false
	}
	list := s.scripts[at].Behaviours
	s.scripts[at].Behaviours = list[1:]
	if len(list) == 1 {
		s.scripts = slices.Delete(s.scripts, at, at+1)
	}
	return list[0], true
}

// find returns the index of a list, or -1.
func (s *Scripted) find(op Operation, order string) int {
	return slices.IndexFunc(s.scripts, func(script Script) bool {
		return script.Operation == op && script.OrderID == order
	})
}
