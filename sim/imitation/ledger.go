package imitation

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"
	"time"
)

// Outcome is a provider's word on an operation.
type Outcome string

// The outcomes. Succeeded, Refused and Voided are final for a key.
const (
	Succeeded  Outcome = "succeeded"
	Refused    Outcome = "refused"
	Voided     Outcome = "voided"
	Undecided  Outcome = "pending"
	Untouched  Outcome = "not_processed"
	NotFound   Outcome = "not_found"
	Indefinite Outcome = "none" // in ledgers only: the provider decided nothing
)

// Origin tells what made a ledger entry.
type Origin string

// The origins of entries.
const (
	FromCall       Origin = "call"       // a request, at the moment it was processed
	FromSettlement Origin = "settlement" // a pending key became definite
	FromLapse      Origin = "lapse"      // the warehouse's own safety TTL ran out
)

// State is what a provider holds under a key.
type State string

// The states of keys; not every provider knows each of them.
const (
	Absent    State = "absent"    // never processed
	Waiting   State = "pending"   // accepted, not decided
	Charged   State = "charged"   // payment: money taken
	Returned  State = "refunded"  // payment: money given back
	Declined  State = "refused"   // refused for ever
	Closed    State = "closed"    // voided, released or cancelled before it took effect
	Held      State = "held"      // warehouse: stock reserved
	Released  State = "released"  // warehouse: stock was held and given back on request
	Lapsed    State = "lapsed"    // warehouse: stock was held and freed by the safety TTL
	Committed State = "committed" // warehouse: stock has left
	Shipped   State = "shipped"   // shipping: parcel on its way
)

// Entry is one line of a ledger. Entries are only ever appended; what a client was told can
// differ from an entry (see Behaviour), what the provider did cannot.
type Entry struct {
	// Seq numbers the entries of one provider from 1.
	Seq int `json:"seq"`
	// At is the provider's clock.
	At time.Time `json:"at"`
	// Origin tells a request from a change that the provider made by itself.
	Origin    Origin    `json:"origin"`
	Operation Operation `json:"operation"`
	// Key is the operation's own key, empty for status queries. TargetKey is the key that
	// the operation names.
	Key       string `json:"key,omitempty"`
	TargetKey string `json:"target_key,omitempty"`
	OrderID   string `json:"order_id,omitempty"`
	Step      int    `json:"step,omitempty"`
	Attempt   int    `json:"attempt,omitempty"`
	// Delivery is 2 for the second copy of a request that the provider's side duplicated.
	Delivery int `json:"delivery,omitempty"`
	// BodySHA256 is the hex digest of the raw request body.
	BodySHA256 string `json:"body_sha256,omitempty"`
	// Amount is in minor units (kopecks for RUB).
	Amount    int64   `json:"amount,omitempty"`
	Currency  string  `json:"currency,omitempty"`
	Reference string  `json:"reference,omitempty"`
	Outcome   Outcome `json:"outcome"`
	Code      string  `json:"code,omitempty"`
	// Before and After are the states of the key that the operation is about; empty where the
	// business did not get to look at it: a remembered answer, a reused key, a call turned away.
	Before State `json:"before,omitempty"`
	After  State `json:"after,omitempty"`
	// Effect is true where this very entry moved money, stock or a parcel, or closed a key.
	Effect bool `json:"effect"`
	// Duplicate is true where the key's definite answer was already remembered.
	Duplicate bool `json:"duplicate"`
	// Behaviour is the plan of the call; empty for entries without a call.
	Behaviour Kind `json:"behaviour,omitempty"`
}

// answer is what a provider says, before any distortion on the way.
type answer struct {
	Outcome   Outcome `json:"outcome,omitempty"`
	Code      string  `json:"code,omitempty"`
	Reference string  `json:"reference,omitempty"`
	OrderID   string  `json:"order_id,omitempty"`
	Amount    int64   `json:"amount,omitempty"`
	Currency  string  `json:"currency,omitempty"`
	State     State   `json:"state,omitempty"`
}

// definite reports whether the answer may be remembered for its key.
func (a answer) definite() bool { return a.Outcome == Succeeded || a.Outcome == Refused }

// deed is an answer together with what the provider did for it.
type deed struct {
	answer
	effect    bool
	duplicate bool
	before    State
	after     State
}

// unmoved is a deed that leaves a key in its state.
func unmoved(a answer, s State) deed { return deed{answer: a, before: s, after: s} }

// moved is a deed with effect.
func moved(a answer, from, to State) deed {
	return deed{answer: a, effect: true, before: from, after: to}
}

// refusal is the answer that refuses with a code.
func refusal(code string) answer { return answer{Outcome: Refused, Code: code} }

// fault is an answer without an outcome: the request itself is wrong.
func fault(code string) answer { return answer{Code: code} }

// reference derives a provider's own number from a key, so that nothing is drawn.
func reference(prefix, key string) string {
	sum := sha256.Sum256([]byte(prefix + "|" + key))
	return prefix + "_" + hex.EncodeToString(sum[:10])
}

// book is the memory of one provider: its ledger, and the definite answer and fingerprint of
// each key. Its lock is held for one operation at a time and never during I/O.
type book struct {
	mu      sync.Mutex
	now     time.Time // moment of the operation under way
	entries []Entry
	prints  map[string]string
	answers map[string]answer
}

func newBook() *book {
	return &book{prints: map[string]string{}, answers: map[string]answer{}}
}

// record appends an entry for a request.
func (b *book) record(req request, origin Origin, plan Kind, d deed) {
	outcome := d.Outcome
	if outcome == "" {
		outcome = Indefinite
	}
	b.append(Entry{
		Origin:     origin,
		Operation:  req.op,
		Key:        req.key,
		TargetKey:  req.target,
		OrderID:    req.order,
		Step:       req.step,
		Attempt:    req.attempt,
		Delivery:   req.delivery,
		BodySHA256: req.bodyHash,
		Amount:     req.amount,
		Currency:   req.currency,
		Reference:  d.Reference,
		Outcome:    outcome,
		Code:       d.Code,
		Before:     d.before,
		After:      d.after,
		Effect:     d.effect,
		Duplicate:  d.duplicate,
		Behaviour:  plan,
	})
}

// append numbers and dates an entry.
func (b *book) append(e Entry) {
	e.Seq = len(b.entries) + 1
	if e.At.IsZero() {
		e.At = b.now
	}
	b.entries = append(b.entries, e)
}

// settle remembers and records that a pending key became definite outside its own request.
func (b *book) settle(req request, d deed) {
	b.remember(req, d.answer)
	req.delivery = 0
	b.record(req, FromSettlement, "", d)
}

// remember keeps the definite answer of a key.
func (b *book) remember(req request, a answer) {
	b.prints[req.key] = req.print
	if a.definite() {
		b.answers[req.key] = a
	}
}

// copyEntries returns the ledger as it stands.
func (b *book) copyEntries() []Entry { return slices.Clone(b.entries) }
