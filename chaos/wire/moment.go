package wire

import (
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// Point is an instant in the life of a statement.
type Point int

// The points.
const (
	// BeforeForward: the client has sent the statement, the server has not got it.
	BeforeForward Point = iota + 1
	// BeforeAnswer: the server has committed, the client has not learnt so.
	BeforeAnswer
	// AfterAnswer: the client's network has the answer.
	AfterAnswer
)

// Moment is a statement at a point.
type Moment struct {
	// Statement is its name.
	Statement string
	// Ordinal counts the statements of that name on this proxy from 1.
	Ordinal int
	Point   Point
	// Parameters are those that were bound; a simple query has none.
	Parameters []Parameter
	// Rows is how many rows the server returned or changed; zero before the answer.
	Rows int
	// Failed says that the server answered with an error.
	Failed bool
}

// Parameter is the value of a parameter as it was sent.
type Parameter struct {
	// Format is 0 for text and 1 for binary.
	Format int16
	// Value is nil for null.
	Value []byte
}

// Scan reads the parameter as a value of the PostgreSQL type of the given oid.
func (p Parameter) Scan(oid uint32, into any) error {
	return pgtype.NewMap().Scan(oid, p.Format, p.Value, into)
}

// Fate is what becomes of the connection.
type Fate int

// The fates.
const (
	// Pass lets the statement, or its answer, go on.
	Pass Fate = iota
	// Cut ends the connection on both sides: what has not passed never will.
	Cut
	// Silence keeps the connection open and lets nothing pass any more.
	Silence
)

// Hook decides about a statement at a point. It may take its time: only the connection that
// carries the statement waits.
type Hook func(Moment) Fate

// namePrefix begins the comment that names a statement.
const namePrefix = "-- name: "

// nameOf is the name of a statement; empty if it has none.
func nameOf(sql string) string {
	rest, named := strings.CutPrefix(strings.TrimSpace(sql), namePrefix)
	if !named {
		return ""
	}
	name, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(name)
}
