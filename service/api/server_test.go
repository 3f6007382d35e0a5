package api_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long the servers of these tests wait for a request.
const patience = 300 * time.Millisecond

// served is a bench behind a real HTTP server on loopback.
func served(t *testing.T) (b *bench, server *httptest.Server) {
	b = newBench(t)
	server = httptest.NewUnstartedServer(b.handler)
	server.Config.ReadTimeout = patience
	server.Config.ReadHeaderTimeout = patience
	server.Start()
	t.Cleanup(server.Close)
	return b, server
}

// zeros is an endless body that counts what was taken of it.
type zeros struct {
	taken atomic.Int64
	limit int64
}

func (z *zeros) Read(p []byte) (int, error) {
	if z.taken.Load() >= z.limit {
		return 0, io.EOF
	}
	for n := range p {
		p[n] = ' '
	}
	z.taken.Add(int64(len(p)))
	return len(p), nil
}

// TestGibibyte: a body of 1 GiB, announced or not, is refused or cut long before its end, and
// costs no more memory than the largest body that is allowed.
func TestGibibyte(t *testing.T) {
	_, server := served(t)
	for _, announced := range []bool{true, false} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 10 {
			sent, status := stream(t, server, announced)
			if status != 0 && status != http.StatusRequestEntityTooLarge {
				t.Errorf("announced %v: %d", announced, status)
			}
			if sent > 64<<20 {
				t.Errorf("announced %v: took %d bytes", announced, sent)
			}
		}
		runtime.ReadMemStats(&after)
		used := after.TotalAlloc - before.TotalAlloc
		t.Logf("announced %v: %d KiB allocated for ten streams", announced, used>>10)
		if used > 10*8<<20 {
			t.Errorf("announced %v: %d bytes allocated", announced, used)
		}
	}
}

// stream sends 1 GiB and returns how much of it was taken; status is 0 for a cut.
func stream(t *testing.T, server *httptest.Server, announced bool) (sent int64, status int) {
	t.Helper()
	body := &zeros{limit: 1 << 30}
	r, err := http.NewRequestWithContext(t.Context(), "POST", server.URL+"/api/v1/orders", body)
	if err != nil {
		t.Fatal(err)
	}
	if announced {
		r.ContentLength = body.limit
	}
	r.Header.Set("Authorization", "Bearer "+ann)
	r.Header.Set("Idempotency-Key", "k")
	r.Header.Set("Content-Type", "application/json")
	response, err := server.Client().Do(r)
	if err == nil {
		status = response.StatusCode
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	}
	server.Client().CloseIdleConnections()
	return body.taken.Load(), status
}

// TestSlowSenders: who sends too slowly is answered or cut when the server's patience ends, and
// is nobody's failure but its own.
func TestSlowSenders(t *testing.T) {
	b, server := served(t)
	head := "POST /api/v1/orders HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer " + ann +
		"\r\nIdempotency-Key: k\r\nContent-Type: application/json\r\n"
	for name, text := range map[string]string{
		"header":          head,
		"announced body":  head + "Content-Length: 1000\r\n\r\n" + body[:10],
		"chunked body":    head + "Transfer-Encoding: chunked\r\n\r\na\r\n" + body[:10] + "\r\n",
		"unfinished size": head + "Transfer-Encoding: chunked\r\n\r\nfff",
	} {
		start := time.Now()
		answer := dribble(t, server.Listener.Addr().String(), text)
		if answer != "" && !strings.HasPrefix(answer, "HTTP/1.1 4") {
			t.Errorf("%s: %q", name, answer)
		}
		if took := time.Since(start); took > 20*patience {
			t.Errorf("%s: cut after %s", name, took)
		}
	}
	if len(b.fake.created) > 0 || strings.Contains(b.log.String(), "ERROR") {
		t.Errorf("%d orders, log %s", len(b.fake.created), b.log.String())
	}
}

// dribble sends a text and then a byte now and then, until the server has had enough; it returns
// the first line of the answer, empty for a cut.
func dribble(t *testing.T, address, text string) (answer string) {
	t.Helper()
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	// A connection that is cut shows on the reading side, here and below.
	_, _ = io.WriteString(connection, text)
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-done:
				return
			case <-time.After(patience / 10):
				_, _ = io.WriteString(connection, "x")
			}
		}
	}()
	answer, err = bufio.NewReader(connection).ReadString('\n')
	close(done)
	<-stopped
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%v", err)
	}
	return answer
}

// TestBrokenRequests: what is hardly HTTP is refused by the server, and what is odd by the API.
func TestBrokenRequests(t *testing.T) {
	_, server := served(t)
	for _, text := range []string{
		"\x00\x00\x00\r\n\r\n",
		"GET /api/v1/orders/\x00 HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET /api/v1/orders HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer \x00\r\n\r\n",
		"POST /api/v1/orders HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n",
		"POST /api/v1/orders HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
		"POST /api/v1/orders HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n",
		"GET /" + strings.Repeat("a", 2<<20) + " HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET http://other/api/v1/orders HTTP/1.1\r\nHost: h\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n",
		"CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n",
	} {
		answer := dribble(t, server.Listener.Addr().String(), text)
		var status int
		_, err := fmt.Sscanf(answer, "HTTP/1.1 %d", &status)
		optionsOK := strings.HasPrefix(text, "OPTIONS *") && status == 200
		if answer != "" && !optionsOK && (err != nil || status < 400 || status == 500) {
			t.Errorf("%.60q: %q", text, answer)
		}
	}
}
