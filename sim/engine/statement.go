package engine

import (
	"crypto/sha256"
	"strings"
	"sync"
)

// statement is a text that a service prepared, known to the backend for all runs.
type statement struct {
	key      string // SQL, NUL, declared parameter types: the tail of a Parse message
	sql      string
	name     string
	sum      [16]byte // of key: its content, short
	verb     string   // the first word, lower case
	session  bool     // changes the session, so its connection cannot be shared afterwards
	describe []byte   // ParameterDescription and RowDescription or NoData, nil until known
}

// statements is the backend's memory of all statements, safe for goroutines that race.
type statements struct {
	mu    sync.Mutex
	byKey map[string]*statement
}

// get returns the statement of a Parse message's tail.
func (s *statements) get(key []byte) *statement {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.byKey[string(key)]; st != nil {
		return st
	}
	sql, _, _ := strings.Cut(string(key), "\x00")
	sum := sha256.Sum256(key)
	verb, _, _ := strings.Cut(statementText(sql), " ")
	st := &statement{key: string(key), sql: sql, name: statementName(sql),
		verb: strings.ToLower(strings.TrimRight(verb, ";")), session: changesSession(sql)}
	copy(st.sum[:], sum[:])
	s.byKey[st.key] = st
	return st
}

// description returns the recorded answer to Describe.
func (s *statements) description(st *statement) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return st.describe
}

func (s *statements) describe(st *statement, answer []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st.describe = answer
}

// nameLength bounds the names made of SQL text.
const nameLength = 60

// statementName returns the X of a leading "-- name: X" comment, else the start of the SQL.
func statementName(sql string) string {
	sql = strings.TrimSpace(sql)
	if rest, ok := strings.CutPrefix(sql, "-- name:"); ok {
		line, _, _ := strings.Cut(rest, "\n")
		if fields := strings.Fields(line); len(fields) > 0 {
			return fields[0]
		}
	}
	text := strings.Join(strings.Fields(sql), " ")
	return text[:min(len(text), nameLength)]
}

// isEmptyQuery reports whether sql holds nothing but comments: a driver's ping.
func isEmptyQuery(sql string) bool {
	for line := range strings.Lines(sql) {
		line = strings.TrimSpace(line)
		if line != "" && line != ";" && !strings.HasPrefix(line, "--") {
			return false
		}
	}
	return true
}

// changesSession guesses whether a statement leaves something behind in its session. Such a
// session stays with its virtual connection and is thrown away with it.
func changesSession(sql string) bool {
	s := strings.ToLower(statementText(sql))
	first, rest, _ := strings.Cut(s, " ")
	switch first {
	case "listen", "prepare", "declare", "load":
		return true
	case "set":
		return !strings.HasPrefix(rest, "local ") && !strings.HasPrefix(rest, "transaction ") &&
			!strings.HasPrefix(rest, "constraints ")
	case "create":
		return strings.HasPrefix(rest, "temp")
	}
	return strings.Contains(s, "set_config(") || strings.Contains(s, "advisory_lock")
}

// statementText returns sql without leading comment lines, with single spaces.
func statementText(sql string) string {
	sql = strings.TrimSpace(sql)
	for strings.HasPrefix(sql, "--") {
		_, rest, _ := strings.Cut(sql, "\n")
		sql = strings.TrimSpace(rest)
	}
	return strings.Join(strings.Fields(sql), " ")
}
