package provider

import (
	"net/http"
	"strconv"

	"ordeal/service/order"
)

// expectation is what an operation's success must look like.
type expectation struct {
	query bool // only asks: GET, without a key
	// named: the answer must bring a reference and our order; otherwise both are optional,
	// though a wrong order still contradicts.
	named bool
	// money: the answer must name our amount and currency.
	money bool
	// voidable: the answer may say that the key was voided.
	voidable bool
	// held: the answer must tell the state of a reservation.
	held bool
}

// judgement is an answer, its cause, and the statement that it rests on.
type judgement struct {
	answer order.Answer
	code   string
	said   statement
}

// reply completes a judgement with what it means for the step.
func (e expectation) reply(call Call, j judgement) Reply {
	kind := call.Kind
	if e.query {
		kind = order.StepReconcile
	}
	r := Reply{Answer: j.answer, Outcome: order.Classify(kind, j.answer), Code: j.code}
	if j.answer != order.AnswerSucceeded {
		return r
	}
	r.Reference = j.said.reference
	if e.held {
		r.State = j.said.state
	}
	return r
}

// judge turns an exchange into an answer.
func (e expectation) judge(call Call, x exchange) judgement {
	if x.failure != "" {
		return judgement{answer: x.failure, code: failureCodes[x.failure]}
	}
	said, err := read(x)
	if err != nil {
		return byStatus(x.status, "")
	}
	switch said.outcome {
	case "succeeded":
		return e.judgeSuccess(call, x.status, said)
	case "refused":
		return judgeRefusal(x.status, said)
	case "not_processed":
		return judgement{answer: order.AnswerNotProcessed, code: orElse(said.code, said.outcome)}
	case "pending":
		return judgement{answer: order.AnswerPending, code: orElse(said.code, said.outcome)}
	case "voided":
		if e.voidable && success(x.status) {
			return e.judgeVoided(call, said)
		}
	case "not_found":
		if e.query && (success(x.status) || x.status == http.StatusNotFound) {
			return judgement{answer: order.AnswerNotFound, code: said.outcome}
		}
	}
	return byStatus(x.status, said.code)
}

// failureCodes names the ways in which an exchange fails.
var failureCodes = map[order.Answer]string{
	order.AnswerDialFailed: CodeNotConnected,
	order.AnswerTimeout:    CodeTimeout,
	order.AnswerReset:      CodeConnectionLost,
}

// judgeSuccess believes a success only when all that it must name is there and ours.
func (e expectation) judgeSuccess(call Call, status int, said statement) judgement {
	if !success(status) {
		return byStatus(status, said.code)
	}
	if !e.complete(said) {
		return judgement{answer: order.AnswerMalformed, code: CodeMalformed}
	}
	if code := e.contradiction(call, said); code != "" {
		return judgement{answer: order.AnswerContradictory, code: code}
	}
	return judgement{answer: order.AnswerSucceeded, said: said}
}

// complete reports whether a success has the fields that its operation needs.
func (e expectation) complete(said statement) bool {
	if e.named && (said.reference == "" || said.orderID == "") {
		return false
	}
	if e.money && (said.amount == 0 || said.currency == "") {
		return false
	}
	switch said.state {
	case "held", "released", "committed":
		return true
	}
	return !e.held
}

// contradiction names the first field of a success that is not ours.
func (e expectation) contradiction(call Call, said statement) (code string) {
	switch {
	case said.orderID != "" && said.orderID != call.OrderID.String():
		return CodeOrderMismatch
	case e.money && said.amount != call.Amount:
		return CodeAmountMismatch
	case e.money && said.currency != call.Currency:
		return CodeCurrencyMismatch
	}
	return ""
}

// judgeVoided believes that a key was voided unless the answer is about another order.
func (e expectation) judgeVoided(call Call, said statement) judgement {
	if said.orderID != "" && said.orderID != call.OrderID.String() {
		return judgement{answer: order.AnswerContradictory, code: CodeOrderMismatch}
	}
	return judgement{answer: order.AnswerVoided, code: said.outcome}
}

// judgeRefusal believes a refusal unless its status says that the server itself failed or sends
// us elsewhere: to take those for a refusal could free stock that is being paid for.
func judgeRefusal(status int, said statement) judgement {
	if !success(status) && status/100 != 4 {
		return byStatus(status, said.code)
	}
	return judgement{answer: order.AnswerRefused, code: orElse(said.code, CodeUnnamed)}
}

// byStatus judges an answer without a definite body.
func byStatus(status int, code string) judgement {
	code = orElse(code, "http_"+strconv.Itoa(status))
	switch {
	case success(status):
		return judgement{answer: order.AnswerMalformed, code: CodeMalformed}
	case status == http.StatusConflict, status == http.StatusTooEarly,
		status == http.StatusTooManyRequests, status >= 500:
		return judgement{answer: order.AnswerBusy, code: code}
	}
	return judgement{answer: order.AnswerRejected, code: code}
}

func success(status int) bool { return status/100 == 2 }

func orElse(code, otherwise string) string {
	if code == "" {
		return otherwise
	}
	return code
}
