package provider

import (
	"encoding/json"
	"maps"
	"mime"
	"net/http"

	"ordeal/scenarios/evidence"
)

// answer is a provider's complete answer.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// write passes the answer on, down to the network.
func (a answer) write(w http.ResponseWriter) error {
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	if _, err := w.Write(a.body); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

// note writes the answer into the call that it belongs to.
func (a answer) note(c *evidence.Call) {
	c.Reply = evidence.ReplyAnswered
	c.AnsweredAt = now()
	c.Status = a.status
	mediaType, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	var said struct {
		Outcome   string `json:"outcome"`
		Code      string `json:"code"`
		Reference string `json:"reference"`
		Order     string `json:"order_id"`
		Amount    int64  `json:"amount"`
		Currency  string `json:"currency"`
	}
	if mediaType == "application/json" && json.Unmarshal(a.body, &said) == nil {
		c.Answer = evidence.Answer(said)
	}
}
