package telemetry

import "strings"

// reasons are the reason codes that are shown: those of this service, and the usual ones of the
// external systems, whose list is not ours.
var reasons = set(
	"cancelled_by_customer", "reservation_expired", "lease_expired",
	"not_connected", "timeout", "connection_lost", "malformed_answer", "order_mismatch",
	"amount_mismatch", "currency_mismatch", "unnamed", "not_processed", "pending", "voided",
	"not_found",
	"card_declined", "declined", "insufficient_funds", "fraud_suspected", "already_charged",
	"charge_refused", "unknown_charge", "exceeds_charge",
	"out_of_stock", "unknown_sku", "already_committed", "not_held",
	"no_carrier", "address_refused", "already_shipped",
	"key_closed", "key_reused",
)

func set(words ...string) map[string]bool {
	all := make(map[string]bool, len(words))
	for _, word := range words {
		all[word] = true
	}
	return all
}

// Reason is a reason code as metrics and spans show it: itself where it is in the list, the class
// of an HTTP status, "none" where there is none, and "other" for whatever a provider invented.
func Reason(code string) string {
	status, http := strings.CutPrefix(code, "http_")
	switch {
	case code == "":
		return "none"
	case reasons[code]:
		return code
	case http && len(status) == 3 && status[0] >= '1' && status[0] <= '9':
		return "http_" + status[:1] + "xx"
	default:
		return "other"
	}
}
