package api

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"ordeal/service/order"
)

// maxBody bounds a body, in bytes.
const maxBody = 1 << 20

// readBody returns the body of a request. One that is not empty must be JSON by its type.
func readBody(r *http.Request) ([]byte, error) {
	if r.ContentLength > maxBody {
		return nil, tooLarge()
	}
	body, err := io.ReadAll(r.Body)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge()
	}
	if err != nil {
		return nil, refuse(codeBodyIncomplete, "The body ended before its end.")
	}
	if len(body) > 0 && !jsonByType(r.Header) {
		return nil, refuse(codeUnsupportedType, "Send the body as application/json in UTF-8.")
	}
	return body, nil
}

func tooLarge() *refusal { return refuse(codeTooLarge, "The body may have 1 MiB.") }

// jsonByType tells whether the headers announce plain JSON in UTF-8.
func jsonByType(h http.Header) bool {
	types := h.Values("Content-Type")
	if len(types) != 1 || h.Get("Content-Encoding") != "" {
		return false
	}
	name, parameters, err := mime.ParseMediaType(types[0])
	if err != nil || name != typeJSON {
		return false
	}
	charset, given := parameters["charset"]
	return len(parameters) == 0 || len(parameters) == 1 && given &&
		strings.EqualFold(charset, "utf-8")
}

// createRequest is the body of a creation.
type createRequest struct {
	Items    []order.Item `json:"items"`
	Currency string       `json:"currency"`
}

// readCreation reads and decodes the body of a creation. It says nothing about the values.
func readCreation(r *http.Request) (createRequest, error) {
	body, err := readBody(r)
	if err != nil {
		return createRequest{}, err
	}
	return decodeCreation(body)
}

// decodeCreation decodes the body of a creation.
func decodeCreation(body []byte) (createRequest, error) {
	c := createRequest{Items: []order.Item{}, Currency: order.Currency}
	err := decode(body,
		field{"items", true, func(d *decoder) error {
			return d.array(func(d *decoder) error {
				item, err := decodeItem(d)
				c.Items = append(c.Items, item)
				return err
			})
		}},
		field{"currency", false, stringInto(&c.Currency)},
	)
	if err != nil {
		return createRequest{}, err
	}
	return c, nil
}

// decodeItem decodes one line of an order.
func decodeItem(d *decoder) (item order.Item, err error) {
	err = d.object(
		field{"sku", true, stringInto(&item.SKU)},
		field{"quantity", true, integerInto(&item.Quantity)},
		field{"unit_price", true, integerInto(&item.UnitPrice)},
	)
	return item, err
}

func stringInto(target *string) func(*decoder) error {
	return func(d *decoder) (err error) {
		*target, err = d.string()
		return err
	}
}

func integerInto(target *int64) func(*decoder) error {
	return func(d *decoder) (err error) {
		*target, err = d.integer()
		return err
	}
}

func booleanInto(target *bool) func(*decoder) error {
	return func(d *decoder) (err error) {
		*target, err = d.boolean()
		return err
	}
}

// readNothing reads the body of a command without parameters: nothing, or an empty object.
func readNothing(r *http.Request) error {
	body, err := readBody(r)
	if err != nil || len(body) == 0 {
		return err
	}
	return decode(body)
}
