package integration_test

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"ordeal/service/order"
	"ordeal/sim/imitation"
)

// as is the environment of the shop with the database role of a kind of process.
func (s *shop) as(role string) []string {
	separator := "?"
	if strings.Contains(s.database, "?") {
		separator = "&"
	}
	return append(s.env, "ORDERD_DATABASE_URL="+s.database+separator+"role="+role)
}

// TestLeastPrivilege: the API as its role and a worker as its own live through charges that
// succeed, fail and stay unknown, refused parcels, cancellations and reads, and the server never
// refuses them anything.
func TestLeastPrivilege(t *testing.T) {
	s := open(t)
	s.signal(syscall.SIGTERM)
	s.wantDrained()
	s.env = s.as("ordeal_api")
	s.start("--no-execute", "--log-level=debug")
	api, url := s.command, s.url
	journalOfAPI := s.log
	s.env = s.as("ordeal_worker")
	s.start("--no-api", "--log-level=debug")
	s.url = url

	s.script(imitation.Behaviour{Kind: imitation.TimeoutWithEffect},
		imitation.Behaviour{Kind: imitation.Refuse, Code: "card_declined"},
		imitation.Behaviour{Kind: imitation.NotProcessed})
	var ids []order.ID
	for n := range 6 {
		ids = append(ids, s.create(fmt.Sprint(n)))
	}
	status, body := s.call("POST", "/api/v1/orders/"+ids[5].String()+"/cancel", "c", "")
	if status >= http.StatusInternalServerError {
		t.Errorf("cancel: %d %s", status, body)
	}
	await(t, "rest", func() bool {
		return s.query("select count(*)::text from workflow_steps where ended_at is null") == "0"
	})
	for _, id := range ids {
		t.Log(s.state(id))
	}
	if status, metrics := s.get(s.admin + "/metrics"); status != http.StatusOK ||
		!strings.Contains(metrics, "ordeal_closed_orders") ||
		!strings.Contains(metrics, "ordeal_outbox_lag_seconds") ||
		strings.Contains(metrics, "ordeal_census_failures_total{statement=\"CountOpen\"} 1") {
		t.Errorf("metrics as the worker: %d", status)
	}
	s.signal(syscall.SIGTERM)
	s.wantDrained()
	must(t, api.Process.Signal(syscall.SIGTERM))
	s.wantDrained()
	for _, log := range []*journal{s.log, journalOfAPI} {
		if text := log.String(); strings.Contains(text, "42501") ||
			strings.Contains(text, "permission denied") || strings.Contains(text, `"ERROR"`) {
			t.Errorf("refused:\n%s", text)
		}
	}
}
