package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// parse reads a command line as main does; ports are free ones unless given.
func parse(args ...string) (flags, error) {
	var f flags
	parser, err := kong.New(&f, kong.Name("imitations"))
	if err != nil {
		return f, err
	}
	free := []string{"--warehouse=127.0.0.1:0", "--payment=127.0.0.1:0", "--shipping=127.0.0.1:0"}
	_, err = parser.Parse(append(free, args...))
	return f, err
}

// running is a started command.
type running struct {
	urls   map[string]string
	stop   context.CancelFunc
	result chan error
}

// start runs the command until its addresses are known.
func start(t *testing.T, args ...string) *running {
	t.Helper()
	f, err := parse(args...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	r := &running{urls: map[string]string{}, stop: cancel, result: make(chan error, 1)}
	go func() { r.result <- run(ctx, f, write, slog.New(slog.DiscardHandler)) }()
	lines := bufio.NewScanner(read)
	for len(r.urls) < 3 && lines.Scan() {
		var line struct{ Provider, URL string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("line %q: %v", lines.Text(), err)
		}
		r.urls[line.Provider] = line.URL
	}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return r
}

// post sends a request of order o1 and returns status and body.
func post(url, key, body string) (int, string, error) {
	r, err := http.NewRequest("POST", url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	for name, value := range map[string]string{"Content-Type": "application/json",
		"Idempotency-Key": key, "Ordeal-Order-Id": "o1", "Ordeal-Step": "1",
		"Ordeal-Attempt": "1"} {
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	return response.StatusCode, string(raw), err
}

// TestServes goes once through the three servers and stops them.
func TestServes(t *testing.T) {
	r := start(t, "--stock=a=2,b=1", "--default-stock=0")
	items := `{"order_id":"o1","items":[{"sku":"a","quantity":2}]}`
	other := `{"order_id":"o1","items":[{"sku":"z","quantity":1}]}`
	charge := `{"order_id":"o1","amount":100,"currency":"RUB"}`
	for _, row := range []struct {
		provider, path, key, body string
		status                    int
	}{
		{"warehouse", "/v1/reservations", "k1", items, 201},
		{"warehouse", "/v1/reservations", "k2", other, 409},
		{"payment", "/v1/charges", "k1", charge, 201},
		{"shipping", "/v1/shipments", "k1", items, 201},
	} {
		status, body, err := post(r.urls[row.provider]+row.path, row.key, row.body)
		if err != nil || status != row.status {
			t.Errorf("%s %s: %d %s %v", row.provider, row.path, status, body, err)
		}
	}
	r.stop()
	if err := <-r.result; err != nil {
		t.Errorf("the end: %v", err)
	}
}

// TestStopsWhileCallsHang: a call that would be held for an hour does not hold up the end.
func TestStopsWhileCallsHang(t *testing.T) {
	r := start(t, "--plan=seeded", "--weights=timeout_with_effect=1", "--hang=1h")
	cut := make(chan error, 1)
	go func() {
		_, _, err := post(r.urls["payment"]+"/v1/charges", "k1",
			`{"order_id":"o1","amount":100,"currency":"RUB"}`)
		cut <- err
	}()
	awaitCharge(t, r.urls["payment"])
	r.stop()
	if err := <-r.result; err != nil {
		t.Errorf("the end: %v", err)
	}
	if err := <-cut; !errors.Is(err, io.EOF) {
		t.Errorf("the client sees %v", err)
	}
}

// awaitCharge waits until the ledger, read over HTTP, has an effect.
func awaitCharge(t *testing.T, url string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		response, err := http.Get(url + "/v1/ledger")
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(raw, []byte(`"effect":true`)) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no charge in 5 s: %s", raw)
		}
	}
}

// TestPortInUse: the command fails as a whole and leaves no listener behind.
func TestPortInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	f, err := parse("--shipping=" + taken.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	err = run(t.Context(), f, io.Discard, slog.New(slog.DiscardHandler))
	if !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("got %v", err)
	}
}

func TestCommandLine(t *testing.T) {
	for _, bad := range []string{"--plan=odd", "--weights=succeed=1", "--stock=a=-1",
		"--default-stock=-1", "--stock=a", "--seed=-1"} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
	for _, bad := range []string{"odd=1", "succeed=-1", "succeed=0"} {
		if _, err := parse("--plan=seeded", "--weights="+bad); err == nil {
			t.Errorf("weights %s are accepted", bad)
		}
	}
	f, err := parse("--plan=seeded", "--seed=7", "--weights=succeed=3,transient=1")
	if err != nil || f.Weights["succeed"] != 3 || f.Weights["transient"] != 1 {
		t.Errorf("weights %v, %v", f.Weights, err)
	}
	if mildWeights()["refuse"] != 1 {
		t.Errorf("mild weights: %v", mildWeights())
	}
}

// TestLogs: a call is logged with its identities, and one that was cut is logged too.
func TestLogs(t *testing.T) {
	var buffer bytes.Buffer
	log := logger(flags{Verbose: true}, &buffer)
	cut := logged(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	}), log)
	func() {
		defer func() { _ = recover() }()
		r, _ := http.NewRequest("POST", "/v1/charges", nil)
		r.Header.Set("Ordeal-Order-Id", "o1")
		cut.ServeHTTP(nil, r)
	}()
	if got := buffer.String(); !strings.Contains(got, `"status":0,"order":"o1"`) {
		t.Errorf("log: %s", got)
	}
}
