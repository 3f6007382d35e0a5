// Package integration_test runs the proxies against a real PostgreSQL, plays cases with real
// processes, and kills the tool itself. It fails without a PostgreSQL.
package integration_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"ordeal/chaos/stage"
	"ordeal/chaos/wire"
	"ordeal/sim/pgserver"
)

var (
	server   *pgserver.Server
	binaries stage.Binaries
)

func TestMain(m *testing.M) {
	code := run(m)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func run(m *testing.M) int {
	var err error
	if binaries, err = stage.Build(context.Background(), "", ""); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = binaries.Remove() }()
	// On TCP, so that a password has to pass the proxy.
	server, err = pgserver.Start(context.Background(), pgserver.Options{TCP: true, Log: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = server.Close() }()
	return m.Run()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// patience bounds everything that a test waits for, on a busy machine too.
const patience = 60 * time.Second

// await polls until something is so.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// line is a proxy in front of a database with one table, and what passed it.
type line struct {
	*testing.T
	proxy  *wire.Proxy
	direct *pgx.Conn

	mu      sync.Mutex
	moments []wire.Moment
	decide  func(wire.Moment) wire.Fate
}

func newLine(t *testing.T) *line {
	t.Helper()
	name := pgserver.UniqueName("wire")
	must(t, server.CreateDatabase(t.Context(), name))
	t.Cleanup(func() { must(t, server.DropDatabase(context.Background(), name)) })
	l := &line{T: t}
	var err error
	l.direct, err = pgx.Connect(t.Context(), server.DatabaseURL(name))
	must(t, err)
	t.Cleanup(func() { must(t, l.direct.Close(context.Background())) })
	_, err = l.direct.Exec(t.Context(), "create table notes (id int primary key, text text)")
	must(t, err)
	config := l.direct.Config()
	l.proxy, err = wire.Listen(wire.Config{
		Network: "tcp",
		Address: net.JoinHostPort(config.Host, fmt.Sprint(config.Port)),
		Hook:    l.hook,
	})
	must(t, err)
	t.Cleanup(func() { must(t, l.proxy.Close()) })
	return l
}

func (l *line) hook(m wire.Moment) wire.Fate {
	l.mu.Lock()
	l.moments = append(l.moments, m)
	decide := l.decide
	l.mu.Unlock()
	if decide == nil {
		return wire.Pass
	}
	return decide(m)
}

// on lets the hook decide about one point of one statement.
func (l *line) on(statement string, p wire.Point, fate func() wire.Fate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.decide = func(m wire.Moment) wire.Fate {
		if m.Statement == statement && m.Point == p {
			return fate()
		}
		return wire.Pass
	}
}

// seen lists "Statement#ordinal@point" of what passed.
func (l *line) seen() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, m := range l.moments {
		text := fmt.Sprintf("%s#%d@%d", m.Statement, m.Ordinal, m.Point)
		if m.Failed {
			text += "!"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// connect connects through the proxy.
func (l *line) connect() *pgx.Conn {
	l.Helper()
	config := l.direct.Config().Copy()
	config.Host, config.Port = "127.0.0.1", uint16(l.proxy.Port())
	config.TLSConfig, config.Fallbacks = nil, nil
	conn, err := pgx.ConnectConfig(l.Context(), config)
	must(l.T, err)
	l.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// texts are the notes that are committed.
func (l *line) texts() string {
	l.Helper()
	rows, err := l.direct.Query(l.Context(), "select text from notes order by id")
	must(l.T, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(l.T, err)
	return strings.Join(all, " ")
}
