package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"ordeal/service/order"
)

// maxAnswer is how much of an answer is read, in bytes.
const maxAnswer = 64 << 10

// dialTimeout is shorter than a call's, so that a provider out of reach shows as a failed dial,
// which proves that nothing was sent, and not as a timeout, which proves nothing.
const dialTimeout = 2 * time.Second

// idleTimeout is shorter than what servers commonly grant an idle connection. A request that
// meets a connection just being closed by its server is not repeated, so it should be rare.
const idleTimeout = 20 * time.Second

// Doer sends one HTTP request, following no redirect and repeating nothing. The client of
// NewClient is one.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// NewTransport returns a transport for calls to one provider from an executor that works on up
// to order.MaxInWork steps at once.
func NewTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		DialContext:         dialer.DialContext,
		Protocols:           protocols,
		DisableCompression:  true,
		MaxIdleConns:        2 * order.MaxInWork,
		MaxIdleConnsPerHost: 2 * order.MaxInWork,
		IdleConnTimeout:     idleTimeout,
		TLSHandshakeTimeout: dialTimeout,
	}
}

// NewClient returns an HTTP client that follows no redirects.
func NewClient(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

// Config says how to reach one provider.
type Config struct {
	// BaseURL is scheme, host and optional path prefix of the provider.
	BaseURL string
	// Client sends the requests.
	Client Doer
	// Timeout bounds a call beside the caller's context; zero means order.CallTimeout.
	Timeout time.Duration
}

// client is what the adapters share.
type client struct {
	base    string
	doer    Doer
	timeout time.Duration
}

func newClient(name string, c Config) (client, error) {
	parsed, err := url.Parse(c.BaseURL)
	if err != nil {
		return client{}, fmt.Errorf("%s provider: base URL: %w", name, err)
	}
	web := parsed.Scheme == "http" || parsed.Scheme == "https"
	if !web || parsed.Host == "" || parsed.RawQuery != "" || parsed.Fragment != "" {
		return client{}, fmt.Errorf("%s provider: base URL %q: want http(s)://host[/path]",
			name, parsed.Redacted())
	}
	if c.Client == nil {
		return client{}, fmt.Errorf("%s provider: no HTTP client", name)
	}
	if c.Timeout == 0 {
		c.Timeout = order.CallTimeout
	}
	base := strings.TrimRight(c.BaseURL, "/")
	return client{base: base, doer: c.Client, timeout: c.Timeout}, nil
}

// exchange is what one request brought: a complete answer, or the way in which it failed.
type exchange struct {
	failure order.Answer // empty when there is an answer
	status  int
	header  http.Header
	body    []byte // cut after maxAnswer + 1 bytes
}

// send carries out one request and judges what came back.
func (c client) send(ctx context.Context, call Call, what expectation, path string) Reply {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	request, err := c.request(ctx, call, what, path)
	if err != nil || ctx.Err() != nil {
		return what.reply(call, judgement{order.AnswerDialFailed, CodeNotConnected, statement{}})
	}
	return what.reply(call, what.judge(call, c.exchange(ctx, request)))
}

// request builds the one request of an attempt.
func (c client) request(
	ctx context.Context, call Call, what expectation, path string,
) (*http.Request, error) {
	method, body := http.MethodPost, call.Body
	if what.query {
		method, body = http.MethodGet, nil
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, unrepeatable(body))
	if err != nil {
		return nil, fmt.Errorf("build %s request: %w", call.Kind, err)
	}
	request.ContentLength = int64(len(body))
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "ordeal")
	request.Header.Set("Ordeal-Order-Id", call.OrderID.String())
	request.Header.Set("Ordeal-Step", strconv.Itoa(call.Step))
	request.Header.Set("Ordeal-Attempt", strconv.Itoa(call.Attempt))
	if call.TraceParent != "" {
		request.Header.Set("Traceparent", call.TraceParent)
	}
	if !what.query {
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", call.Key)
	}
	return request, nil
}

// unrepeatable hides the type of the reader: net/http cannot set GetBody for it and therefore
// never repeats the request on another connection.
func unrepeatable(body []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(body)) }

// exchange sends the request and reads the answer, both at most once.
func (c client) exchange(ctx context.Context, request *http.Request) exchange {
	response, err := c.doer.Do(request)
	if err != nil {
		return exchange{failure: failureOf(ctx, err)}
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return exchange{failure: failureAfterDial(ctx, err)}
	}
	return exchange{status: response.StatusCode, header: response.Header, body: body}
}

// failureOf tells a failed dial, after which nothing was sent, from what is less certain.
func failureOf(ctx context.Context, err error) order.Answer {
	var network *net.OpError
	if errors.As(err, &network) && network.Op == "dial" {
		return order.AnswerDialFailed
	}
	return failureAfterDial(ctx, err)
}

// failureAfterDial tells silence from a broken connection.
func failureAfterDial(ctx context.Context, err error) order.Answer {
	var network net.Error
	if ctx.Err() != nil || (errors.As(err, &network) && network.Timeout()) {
		return order.AnswerTimeout
	}
	return order.AnswerReset
}
