package integration_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"ordeal/chaos/wire"
)

const addNote = `-- name: AddNote
insert into notes (id, text) values ($1, $2)`

const countNotes = `-- name: CountNotes
select count(*) from notes`

func TestNamedStatementsAreCounted(t *testing.T) {
	l := newLine(t)
	conn := l.connect()
	for id := range 2 {
		_, err := conn.Exec(t.Context(), addNote, id, "x")
		must(t, err)
	}
	var n int
	must(t, conn.QueryRow(t.Context(), "select 1").Scan(&n))
	if got := l.proxy.Counts(); got["AddNote"] != 2 || len(got) != 1 {
		t.Errorf("got counts %v", got)
	}
	await(t, "the last point", func() bool {
		return l.seen() == "AddNote#1@1 AddNote#1@2 AddNote#1@3 AddNote#2@1 AddNote#2@2 AddNote#2@3"
	})
}

func TestSimpleQueriesAndRows(t *testing.T) {
	l := newLine(t)
	conn := l.connect()
	_, err := conn.PgConn().Exec(t.Context(),
		"-- name: Simple\nselect * from generate_series(1, 3)").ReadAll()
	must(t, err)
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.moments[1]; m.Statement != "Simple" || m.Point != wire.BeforeAnswer || m.Rows != 3 {
		t.Errorf("got %+v", m)
	}
}

func TestParametersAreSeen(t *testing.T) {
	l := newLine(t)
	_, err := l.connect().Exec(t.Context(), addNote, 7, "seven")
	must(t, err)
	l.mu.Lock()
	defer l.mu.Unlock()
	var id int32
	var text string
	p := l.moments[0].Parameters
	must(t, p[0].Scan(pgtype.Int4OID, &id))
	must(t, p[1].Scan(pgtype.TextOID, &text))
	if id != 7 || text != "seven" {
		t.Errorf("got %d %q", id, text)
	}
}

// Before it is forwarded nothing has happened; the client learns of a broken connection.
func TestCutBeforeForward(t *testing.T) {
	l := newLine(t)
	conn := l.connect()
	l.on("AddNote", wire.BeforeForward, func() wire.Fate { return wire.Cut })
	if _, err := conn.Exec(t.Context(), addNote, 1, "lost"); err == nil {
		t.Error("the client was answered")
	}
	if got := l.texts(); got != "" {
		t.Errorf("got notes %q", got)
	}
}

// Before the answer the statement is committed, whatever the client believes.
func TestCutBeforeAnswer(t *testing.T) {
	l := newLine(t)
	conn := l.connect()
	committed := make(chan string, 1)
	l.on("AddNote", wire.BeforeAnswer, func() wire.Fate {
		committed <- l.texts()
		return wire.Cut
	})
	if _, err := conn.Exec(t.Context(), addNote, 1, "kept"); err == nil {
		t.Error("the client was answered")
	}
	if got := <-committed; got != "kept" {
		t.Errorf("at the point the notes were %q", got)
	}
}

func TestAfterAnswer(t *testing.T) {
	l := newLine(t)
	conn := l.connect()
	l.on("AddNote", wire.AfterAnswer, func() wire.Fate { return wire.Cut })
	_, err := conn.Exec(t.Context(), addNote, 1, "known")
	must(t, err)
	await(t, "the cut", func() bool {
		_, err := conn.Exec(t.Context(), countNotes)
		return err != nil
	})
}

func TestBatchesArePipelined(t *testing.T) {
	l := newLine(t)
	conn := l.connect()
	for range 2 { // the second time everything is prepared
		var b pgx.Batch
		b.Queue("delete from notes")
		b.Queue(addNote, 1, "one")
		b.Queue(addNote, 2, "two")
		b.Queue(countNotes).QueryRow(func(row pgx.Row) error {
			var n int
			if err := row.Scan(&n); err != nil || n != 2 {
				t.Errorf("got %d, %v", n, err)
			}
			return nil
		})
		must(t, conn.SendBatch(t.Context(), &b).Close())
	}
	if got := l.proxy.Counts(); got["AddNote"] != 4 || got["CountNotes"] != 2 {
		t.Errorf("got counts %v", got)
	}
	// A batch is one transaction: cut before its answer, all of it is committed.
	l.on("CountNotes", wire.BeforeAnswer, func() wire.Fate { return wire.Cut })
	var b pgx.Batch
	b.Queue(addNote, 3, "three")
	b.Queue(countNotes)
	if err := conn.SendBatch(t.Context(), &b).Close(); err == nil {
		t.Error("the client was answered")
	}
	if got := l.texts(); got != "one two three" {
		t.Errorf("got notes %q", got)
	}
}

func TestErrorsPassAndAreSeen(t *testing.T) {
	l := newLine(t)
	conn := l.connect()
	_, err := conn.Exec(t.Context(), addNote, 1, "one")
	must(t, err)
	_, err = conn.Exec(t.Context(), addNote, 1, "again")
	if code := sqlState(err); code != "23505" {
		t.Errorf("got %v", err)
	}
	_, err = conn.Exec(t.Context(), addNote, 2, "two")
	must(t, err)
	await(t, "the last point", func() bool {
		return l.seen() == "AddNote#1@1 AddNote#1@2 AddNote#1@3 AddNote#2@1 AddNote#2@2! "+
			"AddNote#2@3! AddNote#3@1 AddNote#3@2 AddNote#3@3"
	})
}

func sqlState(err error) string {
	if p, ok := errors.AsType[*pgconn.PgError](err); ok {
		return p.Code
	}
	return ""
}

func TestCancelRequestsPass(t *testing.T) {
	l := newLine(t)
	conn := l.connect()
	failed := make(chan error, 1)
	go func() {
		_, err := conn.Exec(context.Background(), "select pg_sleep(60)")
		failed <- err
	}()
	await(t, "the statement", func() bool {
		var n int
		must(t, l.direct.QueryRow(t.Context(), `select count(*) from pg_stat_activity
			where query = 'select pg_sleep(60)' and state = 'active'`).Scan(&n))
		return n == 1
	})
	must(t, conn.PgConn().CancelRequest(t.Context()))
	if err := <-failed; sqlState(err) != "57014" {
		t.Errorf("got %v, want a cancelled statement", err)
	}
}

// A silent link keeps the client waiting; what waited arrives late, when it is up again.
func TestSilentLink(t *testing.T) {
	l := newLine(t)
	conn := l.connect()
	l.proxy.SetLink(wire.Silent)
	done := make(chan error, 1)
	go func() {
		_, err := conn.Exec(context.Background(), addNote, 1, "late")
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("answered on a silent link: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	if got := l.texts(); got != "" {
		t.Errorf("got notes %q", got)
	}
	l.proxy.SetLink(wire.Up)
	must(t, <-done)
	if got := l.texts(); got != "late" {
		t.Errorf("got notes %q", got)
	}
}

func TestOneConnectionFallsSilent(t *testing.T) {
	l := newLine(t)
	silent, other := l.connect(), l.connect()
	l.on("AddNote", wire.BeforeAnswer, func() wire.Fate { return wire.Silence })
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := silent.Exec(ctx, addNote, 1, "unheard"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	var n int
	must(t, other.QueryRow(t.Context(), countNotes).Scan(&n))
	if n != 1 {
		t.Errorf("got %d notes", n)
	}
}

func TestDownLink(t *testing.T) {
	l := newLine(t)
	conn := l.connect()
	l.proxy.SetLink(wire.Down)
	if _, err := conn.Exec(t.Context(), countNotes); err == nil {
		t.Error("answered on a link that is down")
	}
	if _, err := pgx.ConnectConfig(t.Context(), conn.Config()); err == nil {
		t.Error("connected on a link that is down")
	}
	l.proxy.SetLink(wire.Up)
	var n int
	must(t, l.connect().QueryRow(t.Context(), countNotes).Scan(&n))
}

func TestSlowLink(t *testing.T) {
	l := newLine(t)
	conn := l.connect()
	var n int
	must(t, conn.QueryRow(t.Context(), countNotes).Scan(&n)) // prepares it
	l.proxy.SetDelay(100 * time.Millisecond)
	if took := timed(t, conn); took < 200*time.Millisecond {
		t.Errorf("with a delay of 100 ms each way it took %s", took)
	}
	l.proxy.SetDelay(0)
	l.proxy.SetRate(100)
	if took := timed(t, conn); took < 200*time.Millisecond {
		t.Errorf("at 100 bytes a second it took %s", took)
	}
}

func timed(t *testing.T, conn *pgx.Conn) time.Duration {
	t.Helper()
	began := time.Now()
	var n int
	must(t, conn.QueryRow(t.Context(), countNotes).Scan(&n))
	return time.Since(began)
}

// While a hook holds one connection, others go on.
func TestHookHoldsOnlyItsConnection(t *testing.T) {
	l := newLine(t)
	held, other := l.connect(), l.connect()
	goOn := make(chan struct{})
	l.on("AddNote", wire.BeforeForward, func() wire.Fate {
		<-goOn
		return wire.Pass
	})
	done := make(chan error, 1)
	go func() {
		_, err := held.Exec(context.Background(), addNote, 1, "held")
		done <- err
	}()
	var n int
	must(t, other.QueryRow(t.Context(), countNotes).Scan(&n))
	close(goOn)
	must(t, <-done)
}

// Before the hook has decided about an answer, no part of it reaches the client.
func TestAnswersAreHeldWhole(t *testing.T) {
	l := newLine(t)
	conn := l.connect()
	goOn, first, over := make(chan struct{}), make(chan bool, 1), make(chan struct{})
	l.on("CountNotes", wire.BeforeAnswer, func() wire.Fate {
		<-goOn
		return wire.Pass
	})
	go func() {
		rows, err := conn.Query(context.Background(), countNotes)
		first <- err == nil && rows.Next()
		rows.Close()
		close(over)
	}()
	select {
	case <-first:
		close(goOn)
		t.Fatal("a row came before the hook had decided")
	case <-time.After(300 * time.Millisecond):
	}
	close(goOn)
	if !<-first {
		t.Error("no row came afterwards")
	}
	<-over
}
