package evidence

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Saw notes the complete answer to an exchange, which its client had read by the time at.
func (e *Exchange) Saw(status int, header http.Header, body []byte, at time.Time) {
	e.Unknown = false
	e.AnsweredAt = at
	e.Status = status
	e.Replayed = header.Get("Idempotent-Replayed") == "true"
	e.AnswerDigest = Digest(body)
	var shown struct {
		Code         string `json:"code"`
		ID           string `json:"id"`
		State        string `json:"state"`
		Version      int    `json:"version"`
		Cancellation *struct {
			Status string `json:"status"`
		} `json:"cancellation"`
	}
	if json.Unmarshal(body, &shown) != nil {
		return
	}
	e.Code = shown.Code
	e.Shown = Shown{Order: shown.ID, State: shown.State, Version: shown.Version}
	if shown.Cancellation != nil {
		e.Shown.Cancellation = shown.Cancellation.Status
	}
}

// Digest returns a text that is equal for equal parts and, but for a collision, only for them.
func Digest(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
		h.Write([]byte{0})
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:12])
}
