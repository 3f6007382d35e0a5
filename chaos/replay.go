package chaos

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"

	"ordeal/scenarios"
	"ordeal/scenarios/evidence"
)

// fates are the words by which the event log of the simulation tells that a fault has met a call
// or statement.
var fates = map[scenarios.FaultKind][]string{
	scenarios.CrashBeforeCall:      {"crash_before"},
	scenarios.CrashAfterCall:       {"crash_after", "crash_answered"},
	scenarios.CrashBeforeStatement: {"crash_before"},
	scenarios.CrashAfterStatement:  {"crash_after"},
	scenarios.DBResetBefore:        {"conn_reset_before"},
	scenarios.DBLostAck:            {"lost_ack"},
	scenarios.CallReset:            {"conn_reset_before", "reset_after"},
	scenarios.CallDialFailed:       {"dial_fail"},
	scenarios.CallSlow:             {"delay"},
	scenarios.Pause:                {"hold"},
}

// Found looks through the event log of a run for the boundary, and returns the line that shows it.
func (s Simulated) Found(log io.Reader) (line string, found bool) {
	last := map[string]string{} // the operation of the last call, by process
	met := 0
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		e, ok := parseEvent(lines.Text())
		if !ok {
			continue
		}
		operation := last[e.process]
		if e.kind == "call" {
			method, path, _ := strings.Cut(e.name, " ")
			operation = evidence.OperationOf(e.party, method, path)
			last[e.process] = operation
		}
		if s.met(e, operation) {
			if met++; met == s.Ordinal {
				return lines.Text(), true
			}
		}
	}
	return "", false
}

// met reports whether an event is the fault at its place. Operation is that of the process's last
// call, the event's own included.
func (s Simulated) met(e event, operation string) bool {
	if !slices.Contains(fates[s.Fault], e.fate) || s.Operation != "" && s.Operation != operation {
		return false
	}
	if s.Statement == "" {
		return e.kind == "call"
	}
	return e.kind == "statement" && strings.Contains(e.name, s.Statement)
}

// event is one line of the event log, as far as it is read here.
type event struct{ kind, process, party, name, fate string }

// parseEvent reads "INDEX AT KIND PROCESS PARTY NAME FATE …"; words with spaces are quoted.
func parseEvent(line string) (event, bool) {
	var words []string
	for rest := line; rest != "" && len(words) < 7; {
		word, after, ok := nextWord(rest)
		if !ok {
			return event{}, false
		}
		words, rest = append(words, word), after
	}
	if len(words) < 7 {
		return event{}, false
	}
	return event{words[2], words[3], words[4], words[5], words[6]}, true
}

// nextWord splits the first word off a line.
func nextWord(line string) (word, rest string, ok bool) {
	if !strings.HasPrefix(line, `"`) {
		word, rest, _ = strings.Cut(line, " ")
		return word, rest, true
	}
	quoted, err := strconv.QuotedPrefix(line)
	if err != nil {
		return "", "", false
	}
	word, err = strconv.Unquote(quoted)
	return word, strings.TrimPrefix(line[len(quoted):], " "), err == nil
}
