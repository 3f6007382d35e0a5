package order_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"ordeal/service/order"
)

func TestRetryDelays(t *testing.T) {
	rows := readTable(t, "retries.txt")
	if len(rows) == 0 {
		t.Fatal("no rows")
	}
	for _, r := range rows {
		kinds := []order.StepKind{order.StepKind(r.fields[0])}
		if r.fields[0] == "every" {
			kinds = order.StepKinds
		}
		for _, kind := range kinds {
			checkRetry(t, r, kind)
		}
	}
}

func checkRetry(t *testing.T, r row, kind order.StepKind) {
	t.Helper()
	if !slices.Contains(order.StepKinds, kind) {
		r.errorf(t, "no kind %q", kind)
	}
	series, errS := strconv.Atoi(r.fields[1])
	attempt, errA := strconv.Atoi(r.fields[2])
	if errS != nil || errA != nil {
		r.errorf(t, "not a number")
		return
	}
	var want time.Duration
	if r.fields[3] != "none" {
		var err error
		if want, err = time.ParseDuration(r.fields[3]); err != nil {
			r.errorf(t, "%v", err)
		}
	}
	got, ok := order.RetryDelay(kind, series, attempt)
	if got != want || ok != (r.fields[3] != "none") {
		r.errorf(t, "%s: got %s, allowed %v", kind, got, ok)
	}
}

// TestLimits: the numbers that the process promises (STEP-4, STEP-5, STEP-7, section 1.1).
func TestLimits(t *testing.T) {
	if order.MaxAttempts != 5 || order.MaxInWork != 20 {
		t.Errorf("%d attempts, %d in work", order.MaxAttempts, order.MaxInWork)
	}
	for _, limit := range []struct {
		name      string
		got, want time.Duration
	}{
		{"lease", order.LeaseDuration, 30 * time.Second},
		{"renewal", order.RenewEvery, 10 * time.Second},
		{"call timeout", order.CallTimeout, 3 * time.Second},
		{"reservation", order.ReservationTime, 15 * time.Minute},
		{"margin of pay", order.PayMargin, 3 * time.Second},
		{"queries after the first series", order.ReconcileEvery, time.Minute},
	} {
		if limit.got != limit.want {
			t.Errorf("%s: %s, want %s", limit.name, limit.got, limit.want)
		}
	}
}
