package invariant

import (
	"slices"
	"strings"

	"ordeal/scenarios/evidence"
)

var operatorAudit = Invariant{
	ID:    "INV-17",
	Title: "Operator commands are audited",
	Text: "Each authenticated, well-formed request to an operator route has exactly one audit row, " +
		"also where it was refused; a replay adds none.",
	Needs: []string{"client history with roles", "audit"},
	Check: perOrder(judgeOperatorAudit),
}

// operatorRoutes are the routes whose every request is audited.
var operatorRoutes = []string{
	evidence.RouteReconcile, evidence.RouteVoid, evidence.RouteShip, evidence.RouteClose,
	evidence.RouteRefund, evidence.RouteRetry,
}

// auditedStatuses are those of a request that was authenticated and well formed. A refund above
// what is left is decided like a conflict.
var auditedStatuses = []int{200, 202, 403, 404, 409, 412, 422}

// judgeOperatorAudit compares, per caller and route, how many requests there were with how many
// rows. A request without an answer may have been decided or not, so it widens the range.
func judgeOperatorAudit(t *tally, r *evidence.Run, v evidence.View) {
	type who struct{ caller, route string }
	decided, unsure := map[who]int{}, map[who]int{}
	var all []who
	for _, e := range v.Client {
		if !slices.Contains(operatorRoutes, e.Route) || e.Replayed ||
			e.Route == evidence.RouteRetry && e.Role == "customer" {
			continue
		}
		w := who{e.Client, e.Route}
		if decided[w]+unsure[w] == 0 {
			all = append(all, w)
		}
		switch {
		case e.Undecided():
			unsure[w]++
		case slices.Contains(auditedStatuses, e.Status):
			decided[w]++
		}
	}
	for _, w := range all {
		t.met()
		rows := 0
		for _, a := range v.Audit {
			if a.ActorID == w.caller && strings.TrimSuffix(a.Action, "_requested") == w.route {
				rows++
			}
		}
		if rows < decided[w] || rows > decided[w]+unsure[w] {
			t.violated(v.ID, r.Horizon, "%s sent %d decided requests to %s (%d more without an "+
				"answer), and the audit trail has %d rows", w.caller, decided[w], w.route,
				unsure[w], rows)
		}
	}
}
