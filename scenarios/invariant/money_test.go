package invariant

import (
	"strings"
	"testing"
	"time"

	"ordeal/scenarios/evidence"
)

// refundedStory: the order is shipped, and an operator gives a part of the money back.
func refundedStory() *evidence.Run {
	s := newStory()
	s.reserve()
	s.payWell()
	s.ship()
	s.refund(1, 400)
	return s.done()
}

// refund is a refund from the operator's request to its end.
func (s *story) refund(no int, amount int64) {
	s.operator(evidence.RouteRefund, "refund-1", 202)
	step := s.step(stepRefund)
	s.take("w1")
	s.call(evidence.OpRefund, evidence.ReplyAnswered, said(succeeded))
	s.seq++
	s.run.Payment = append(s.run.Payment, evidence.Entry{
		Seq: s.seq, At: s.now, Origin: "call", Operation: evidence.OpRefund,
		Key: s.run.Steps[step-1].Key, TargetKey: orderID + "-pay-1", Order: orderID,
		Amount: amount, Currency: "RUB", Reference: "re_1", Effect: true,
	})
	s.run.Refunds = append(s.run.Refunds, evidence.Refund{
		Order: orderID, No: no, State: refundDone, Version: 3, Amount: amount, Currency: "RUB",
		Reference: "re_1",
	})
	s.record(succeeded, succeeded, true)
}

// operator is a request of the operator, with its audit row.
func (s *story) operator(route, key string, status int) {
	s.exchange(route, orderID, key, status)
	e := &s.run.Client[len(s.run.Client)-1]
	e.Client, e.Role = "op", "operator"
	s.run.Audit = append(s.run.Audit, evidence.Audit{
		Order: orderID, Key: "cmd." + route + "." + key, At: s.now, ActorType: "operator",
		ActorID: "op", Action: route + "_requested",
	})
}

// Each way to break INV-12 and INV-17 is seen, in words that name it.
func TestBrokenMoneyAndAudit(t *testing.T) {
	for _, tc := range []struct {
		name  string
		check Invariant
		spoil func(*evidence.Run)
		want  string
	}{
		{"refunded without the ledger", moneyAdds, func(r *evidence.Run) {
			r.Payment = r.Payment[:len(r.Payment)-1]
		}, "counts as refunded"},
		{"another amount", moneyAdds, func(r *evidence.Run) {
			r.Payment[len(r.Payment)-1].Amount = 401
		}, "refund 1 of 400"},
		{"another reference", moneyAdds, func(r *evidence.Run) {
			r.Payment[len(r.Payment)-1].Reference = "re_2"
		}, `("re_2")`},
		{"failed but given", moneyAdds, func(r *evidence.Run) {
			r.Refunds[0].State = refundFailed
		}, "counts as failed"},
		{"twice under a key", moneyAdds, func(r *evidence.Run) {
			r.Payment = append(r.Payment, r.Payment[len(r.Payment)-1])
		}, "had refunded before"},
		{"unknown to us", moneyAdds, func(r *evidence.Run) { r.Refunds = nil },
			"has 1 refunds, the order 0"},
		{"more than charged", moneyAdds, func(r *evidence.Run) {
			r.Payment[len(r.Payment)-1].Amount, r.Refunds[0].Amount = total+1, total+1
		}, "gave back"},
		{"more accepted than charged", moneyAdds, func(r *evidence.Run) {
			r.Refunds = append(r.Refunds, evidence.Refund{
				Order: orderID, No: 2, State: "requested", Amount: total,
			})
		}, "refunds of 1900 were accepted"},
		{"no audit row", operatorAudit, func(r *evidence.Run) {
			r.Audit = r.Audit[:len(r.Audit)-1]
		}, "the audit trail has 0 rows"},
		{"two audit rows", operatorAudit, func(r *evidence.Run) {
			r.Audit = append(r.Audit, r.Audit[len(r.Audit)-1])
		}, "the audit trail has 2 rows"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			run := refundedStory()
			tc.spoil(run)
			found := tc.check.Check(run)
			if len(found.Violations) == 0 {
				t.Fatal("not seen")
			}
			if got := found.Violations[0].Message; !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q in it", got, tc.want)
			}
		})
	}
}

// A request without an answer may have been decided or not; a replay adds no row.
func TestAuditAllowsForUnknownAndReplays(t *testing.T) {
	for _, spoil := range []func(*evidence.Run){
		func(r *evidence.Run) {
			e := r.Client[len(r.Client)-1]
			e.Unknown, e.Status, e.Seq = true, 0, e.Seq+1
			r.Client = append(r.Client, e)
		},
		func(r *evidence.Run) {
			e := r.Client[len(r.Client)-1]
			e.Status, e.Code, e.Seq = 409, evidence.CodeInProgress, e.Seq+1
			r.Client = append(r.Client, e)
		},
		func(r *evidence.Run) {
			e := r.Client[len(r.Client)-1]
			e.Replayed, e.Seq, e.SentAt = true, e.Seq+1, e.SentAt.Add(time.Second)
			r.Client = append(r.Client, e)
		},
	} {
		run := refundedStory()
		spoil(run)
		if v := operatorAudit.Check(run).Violations; len(v) > 0 {
			t.Error(v[0].Message)
		}
	}
}
