package stage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"sync"
)

// journal keeps what a process writes, in a file, and finds words in it.
type journal struct {
	mu      sync.Mutex
	file    *os.File
	rest    []byte // an unfinished line
	wanted  func(line map[string]any) bool
	noticed chan map[string]any
}

// newJournal appends to a file. The first line that is wanted is noticed.
func newJournal(path string, wanted func(map[string]any) bool) (*journal, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return &journal{file: file, wanted: wanted, noticed: make(chan map[string]any, 8)}, nil
}

// Write implements io.Writer. It never blocks for long and never fails: a full disk must not
// stop the process that writes.
func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, _ = j.file.Write(p)
	if j.wanted == nil {
		return len(p), nil
	}
	j.rest = append(j.rest, p...)
	for {
		line, rest, whole := bytes.Cut(j.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		j.rest = rest
		j.look(line)
	}
}

func (j *journal) look(line []byte) {
	var fields map[string]any
	if json.Unmarshal(line, &fields) != nil || !j.wanted(fields) {
		return
	}
	select {
	case j.noticed <- fields:
	default:
	}
}

func (j *journal) close() error { return j.file.Close() }
