package api

import "slices"

// reasonCode is why an operator decides as he does. The list is closed: reports count by it.
type reasonCode struct {
	code, meaning string
}

// reasonCodes is the table of reasons. Every command takes each of them.
var reasonCodes = []reasonCode{
	{"provider_recovered", "an external system that failed works again"},
	{"provider_confirmed", "the external system's own records were asked by a person"},
	{"configuration_fixed", "what was wrong on our side was put right"},
	{"waited_too_long", "the order has been where it is for too long"},
	{"customer_request", "the customer asked for it"},
	{"address_corrected", "the shipment can go to another or a corrected address"},
	{"goods_unavailable", "there are no such goods to be sent"},
	{"goods_lost", "the goods were lost on their way"},
	{"goods_damaged", "the goods arrived damaged, or were found damaged"},
	{"goods_returned", "the goods came back"},
	{"duplicate_order", "the customer ordered the same twice"},
	{"suspected_fraud", "somebody else may have ordered or paid"},
	{"payment_dispute", "the bank or the customer disputes the charge"},
	{"goodwill", "nothing is owed, but given"},
	{"other", "none of these; the note tells more"},
}

// knownReason tells whether a code is in the table.
func knownReason(code string) bool {
	return slices.ContainsFunc(reasonCodes, func(r reasonCode) bool { return r.code == code })
}
