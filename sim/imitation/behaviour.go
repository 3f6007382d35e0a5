package imitation

import (
	"fmt"
	"slices"
	"time"
)

// Kind is the way in which a provider treats one call.
type Kind string

// The kinds, in the order in which Seeded weighs them.
const (
	// Succeed lets the provider's state decide: the ordinary answer.
	Succeed Kind = "succeed"
	// Refuse is a business refusal with Behaviour.Code, remembered for the key. Void, commit,
	// cancel_ship and status queries are decided by state alone: there it only settles a
	// pending target against the asker (see the package comment).
	Refuse Kind = "refuse"
	// Transient answers 503 without a definite body; nothing happens.
	Transient Kind = "transient"
	// NotProcessed answers 503 with the definite outcome not_processed; nothing happens.
	NotProcessed Kind = "not_processed"
	// Permanent answers 400 without a definite body; nothing happens.
	Permanent Kind = "permanent"
	// Pending answers 202 pending. A later status query or repeat whose plan is not Pending
	// makes it definite.
	Pending Kind = "pending"
	// Duplicate delivers the request twice and answers the first copy.
	Duplicate Kind = "duplicate"
	// Malformed does the work and cuts the answer's JSON in the middle.
	Malformed Kind = "malformed"
	// WrongType does the work and labels the answer text/html.
	WrongType Kind = "wrong_type"
	// Huge does the work and answers with more than a mebibyte of JSON.
	Huge Kind = "huge"
	// Redirect answers 307 to the same address; nothing happens. A client that follows it
	// shows up in the ledger as a second request of one attempt.
	Redirect Kind = "redirect"
	// ContradictAmount does the work and reports another amount, where the answer has one.
	ContradictAmount Kind = "contradict_amount"
	// ContradictOrder does the work and reports another order id, where the answer has one.
	ContradictOrder Kind = "contradict_order"

	// TimeoutWithoutEffect does nothing and never answers.
	TimeoutWithoutEffect Kind = "timeout_without_effect"
	// TimeoutWithEffect does the work and never answers.
	TimeoutWithEffect Kind = "timeout_with_effect"
	// LostAnswer does the work and closes the connection instead of answering.
	LostAnswer Kind = "lost_answer"
	// ResetWithoutEffect does nothing and resets the connection.
	ResetWithoutEffect Kind = "reset_without_effect"
	// LateArrival does the work after Behaviour.After, when the client has given up.
	LateArrival Kind = "late_arrival"
)

// kinds is the closed list in declaration order.
var kinds = []Kind{
	Succeed, Refuse, Transient, NotProcessed, Permanent, Pending, Duplicate, Malformed,
	WrongType, Huge, Redirect, ContradictAmount, ContradictOrder, TimeoutWithoutEffect,
	TimeoutWithEffect, LostAnswer, ResetWithoutEffect, LateArrival,
}

// Kinds returns every kind, in a fixed order.
func Kinds() []Kind { return slices.Clone(kinds) }

// Timing reports whether the kind plays with time or connections. Such kinds need a real
// HTTP server around the handler; a simulation, whose network does these things itself,
// plans only the others.
func (k Kind) Timing() bool {
	switch k {
	case TimeoutWithoutEffect, TimeoutWithEffect, LostAnswer, ResetWithoutEffect, LateArrival:
		return true
	}
	return false
}

// Duration is a time.Duration whose JSON form is text such as "5s".
type Duration time.Duration

// MarshalText writes the duration as Go prints it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration reads.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("duration %q: %w", text, err)
	}
	*d = Duration(parsed)
	return nil
}

// Behaviour is a planner's answer: how one call is treated.
type Behaviour struct {
	Kind Kind `json:"kind"`
	// Code is the refusal code of Refuse, and of a Pending that settles as refused; empty
	// means the operation's usual one.
	Code string `json:"code,omitempty"`
	// After is the delay of LateArrival; zero means five seconds.
	After Duration `json:"after,omitempty"`
	// SettleRefused makes a Pending end in a refusal instead of a success, unless a later
	// call's plan says otherwise.
	SettleRefused bool `json:"settle_refused,omitempty"`
}

// Validate reports a kind outside the closed list, a code that no provider would send, or
// a negative delay.
func (b Behaviour) Validate() error {
	if !slices.Contains(kinds, b.Kind) {
		return fmt.Errorf("behaviour kind %q is not one of %v", b.Kind, kinds)
	}
	if b.After < 0 {
		return fmt.Errorf("behaviour %s: negative delay %s", b.Kind, time.Duration(b.After))
	}
	if !plainCode(b.Code) {
		return fmt.Errorf("behaviour %s: code %q is not up to 64 of a-z, 0-9 and _",
			b.Kind, b.Code)
	}
	return nil
}

// plainCode reports whether a code is short and made of a-z, 0-9 and _; empty is fine.
func plainCode(code string) bool {
	for _, c := range code {
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return len(code) <= 64
}

// refusal is the code with which a plan refuses an operation.
func (b Behaviour) refusal(op Operation) string {
	if b.Code != "" {
		return b.Code
	}
	return op.refusalCode()
}
