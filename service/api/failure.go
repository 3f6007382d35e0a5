package api

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
)

// serverError is an error that the database itself reported, with its SQLSTATE.
type serverError interface {
	error
	SQLState() string
}

// passing are the classes of SQLSTATE that say nothing about the request: no connection, a
// server that is read-only, does not let us in or lacks the database, conflicts with others, no
// resources, objects in use, an operator at work, a broken disk.
var passing = []string{"08", "25", "28", "3D", "40", "53", "55", "57", "58"}

// unavailable tells an error of a database out of reach from one of ours. What the database
// reports is told apart by class; what does not come from it is a broken connection, a timeout or
// a cut request, unless we failed to decode a row.
func unavailable(err error) bool {
	if reported, ok := errors.AsType[serverError](err); ok {
		for _, class := range passing {
			if strings.HasPrefix(reported.SQLState(), class) {
				return true
			}
		}
		return false
	}
	_, panicked := errors.AsType[*panicError](err)
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, mismatch := errors.AsType[*json.UnmarshalTypeError](err)
	return !panicked && !syntax && !mismatch
}

// outOfTime tells whether a statement found no end: our time was up, or the server gave up
// waiting for a lock or for the statement.
func outOfTime(err error) bool {
	if reported, ok := errors.AsType[serverError](err); ok {
		return reported.SQLState() == "55P03" || reported.SQLState() == "57014"
	}
	return errors.Is(err, context.DeadlineExceeded)
}
