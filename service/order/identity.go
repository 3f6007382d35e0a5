package order

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/google/uuid"
)

// ID identifies an order. It is a UUIDv8 (RFC 9562, section 5.8) derived from the customer and
// the idempotency key of the creation, so creating twice meets the same primary key. Its first
// 16 bits are a hash of the customer: a customer's orders lie near each other.
type ID = uuid.UUID

// uuidVersion8 and uuidVariant are the fixed bits of RFC 9562.
const (
	uuidVersion8 = 0x80
	uuidVariant  = 0x80
)

// NewID derives the id of the order that a customer creates with an idempotency key.
func NewID(customer, idempotencyKey string) ID {
	place := sha256.Sum256([]byte(customer))
	id := derive("order", customer, idempotencyKey)
	id[0], id[1] = place[0], place[1]
	return id
}

// TraceID derives the trace id of an order, for requests that bring none (16 bytes as hex).
func TraceID(id ID) string {
	sum := sha256.Sum256(append([]byte("trace:"), id[:]...))
	return fmt.Sprintf("%x", sum[:16])
}

// ProviderKey is the idempotency key that an operation of an order carries to its provider: a
// pure function of the order, the operation and its sequence (STEP-1). Pay has one sequence.
func ProviderKey(id ID, kind StepKind, sequence int) string {
	return fmt.Sprintf("%s-%s-%d", id, kind, sequence)
}

// derive hashes length-prefixed parts, so that no two lists of parts collide by concatenation.
func derive(parts ...string) uuid.UUID {
	h := sha256.New()
	for _, p := range parts {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(p)))
		h.Write(size[:])
		h.Write([]byte(p))
	}
	var id uuid.UUID
	copy(id[:], h.Sum(nil))
	id[6] = id[6]&0x0f | uuidVersion8
	id[8] = id[8]&0x3f | uuidVariant
	return id
}
