// Package integration_test starts the real command, does what it tells a person to do, stops it
// and looks for what it left behind. It needs a PostgreSQL and curl, and fails without them.
package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds everything that a test waits for, on a busy machine too.
const patience = 60 * time.Second

// local is a running command.
type local struct {
	*testing.T
	command *exec.Cmd
	place   string // where its temporary files are
	out     string // the file that its standard output goes to
	errs    bytes.Buffer
	ended   chan error
}

// build compiles the command.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "local")
	command := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "ordeal/cmd/local")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

// place is a short folder for temporary files that every account may use, since the database
// may run under another one.
func place(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ol")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	must(t, os.Chmod(dir, 0o777|os.ModeSticky))
	return dir
}

// start starts the command in a process group of its own, as a terminal would.
func start(t *testing.T, binary string, args ...string) *local {
	t.Helper()
	l := &local{T: t, place: place(t), ended: make(chan error, 1)}
	l.out = filepath.Join(t.TempDir(), "out")
	out, err := os.Create(l.out)
	must(t, err)
	l.command = exec.Command(binary, args...)
	l.command.Env = append(os.Environ(), "TMPDIR="+l.place)
	l.command.Stdout, l.command.Stderr = out, &l.errs
	l.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(t, l.command.Start())
	must(t, out.Close())
	go func() { l.ended <- l.command.Wait() }()
	t.Cleanup(func() { _ = l.command.Process.Kill() })
	return l
}

// lastWords end the guide.
const lastWords = "# Let the next charge"

// guide waits for the text on standard output, which comes in one piece.
func (l *local) guide() string {
	l.Helper()
	var text string
	l.await("the guide", func() bool {
		select {
		case err := <-l.ended:
			l.Fatalf("ended: %v\n%s", err, &l.errs)
		default:
		}
		raw, err := os.ReadFile(l.out)
		must(l.T, err)
		text = string(raw)
		return strings.Contains(text, lastWords)
	})
	return text
}

// await polls until something is so.
func (l *local) await(what string, so func() bool) {
	l.Helper()
	for deadline := time.Now().Add(patience); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			l.Fatalf("waited in vain for %s", what)
		}
	}
}

// paste runs a command line as a person would.
func (l *local) paste(line string) string {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, "sh", "-c", line).CombinedOutput()
	if err != nil {
		l.Fatalf("%s\n%v\n%s", line, err, out)
	}
	return string(out)
}

// state runs a command that answers with an order, and returns its state.
func (l *local) state(line string) string {
	l.Helper()
	var o struct{ State string }
	if out := l.paste(line); json.Unmarshal([]byte(out), &o) != nil || o.State == "" {
		l.Fatalf("%s\nno order: %s", line, out)
	}
	return o.State
}

// stop sends a signal, as Ctrl-C does, to the whole group, and waits for a good end.
func (l *local) stop() {
	l.Helper()
	must(l.T, syscall.Kill(-l.command.Process.Pid, syscall.SIGINT))
	select {
	case err := <-l.ended:
		if err != nil {
			l.Fatalf("end: %v\n%s", err, &l.errs)
		}
	case <-time.After(patience):
		l.Fatal("does not end")
	}
}

// labelled returns the rest of the line that starts with a label.
func labelled(t *testing.T, guide, label string) string {
	t.Helper()
	for line := range strings.Lines(guide) {
		if rest, ok := strings.CutPrefix(line, label+" "); ok {
			return strings.TrimSpace(rest)
		}
	}
	t.Fatalf("no %s in\n%s", label, guide)
	return ""
}

// commands returns the lines to paste.
func commands(guide string) (all []string) {
	for line := range strings.Lines(guide) {
		if strings.HasPrefix(line, "curl ") {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return all
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestGuide pastes every command of the guide, in its order, and stops the command: the first
// order is shipped, the second cancelled, the third paid although its charge was not answered,
// and afterwards there is nothing left.
func TestGuide(t *testing.T) {
	l := start(t, build(t), "--listen=127.0.0.1:0")
	guide := l.guide()
	lines := commands(guide)
	if len(lines) != 8 {
		t.Fatalf("%d commands in\n%s", len(lines), guide)
	}
	l.paste(lines[0])
	l.await("the first order", func() bool { return l.state(lines[1]) == "shipped" })
	l.paste(lines[2])
	l.paste(lines[3])
	if out := l.paste(lines[4]); !strings.Contains(out, `"cancellation"`) {
		t.Errorf("cancel: %s", out)
	}
	second := strings.Replace(strings.Replace(lines[4], " -X POST", "", 1), "/cancel", "", 1)
	l.await("the second order", func() bool { return l.state(second) == "cancelled" })
	l.paste(lines[5])
	l.paste(lines[6])
	l.await("the third order", func() bool { return l.state(lines[7]) == "shipped" })
	if out := l.paste(lines[7]); !strings.Contains(out, "reconciled_paid") {
		t.Errorf("the third order had its charge answered: %s", out)
	}
	l.wantDatabase(guide)
	l.stop()
	l.wantNothing(guide)
}

// database is the connection string of the guide's psql line.
func database(t *testing.T, guide string) string {
	t.Helper()
	text, ok := strings.CutPrefix(labelled(t, guide, "database"), "psql ")
	if !ok {
		t.Fatalf("no psql line in\n%s", guide)
	}
	return strings.Trim(text, "'")
}

// wantDatabase checks that the database of the psql line is the one in use.
func (l *local) wantDatabase(guide string) {
	l.Helper()
	conn, err := pgx.Connect(l.Context(), database(l.T, guide))
	must(l.T, err)
	defer func() { _ = conn.Close(context.Background()) }()
	var orders int
	must(l.T, conn.QueryRow(l.Context(), "select count(*) from orders").Scan(&orders))
	if orders != 3 {
		l.Errorf("%d orders in the database", orders)
	}
}

// files lists the temporary files of the command.
func (l *local) files() []os.DirEntry {
	l.Helper()
	files, err := os.ReadDir(l.place)
	must(l.T, err)
	return files
}

// wantNothing checks that no port answers, no file is left, and no process of the group or of
// the database runs.
func (l *local) wantNothing(guide string) {
	l.Helper()
	for _, label := range []string{"service", "warehouse", "payment", "shipping"} {
		address, err := url.Parse(labelled(l.T, guide, label))
		must(l.T, err)
		if conn, err := net.Dial("tcp", address.Host); err == nil {
			_ = conn.Close()
			l.Errorf("%s still listens", label)
		}
	}
	if conn, err := pgx.Connect(l.Context(), database(l.T, guide)); err == nil {
		_ = conn.Close(context.Background())
		l.Error("the database is still there")
	}
	if files := l.files(); len(files) > 0 {
		l.Errorf("files left: %v", files)
	}
	out, err := exec.Command("ps", "-A", "-o", "pid=", "-o", "pgid=", "-o", "args=").Output()
	must(l.T, err)
	if left := processes(string(out), l.command.Process.Pid, l.place); left != "" {
		l.Errorf("processes left:\n%s", left)
	}
}

// processes returns the lines about a process group, or with a folder in their command.
func processes(list string, group int, folder string) string {
	var left strings.Builder
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		member := len(fields) > 1 && fields[1] == strconv.Itoa(group)
		if member || strings.Contains(line, folder+"/") {
			left.WriteString(line)
		}
	}
	return left.String()
}

// TestTaken: an address that somebody has is a clear error, and nothing is started for it.
func TestTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = taken.Close() }()
	l := start(t, build(t), "--listen="+taken.Addr().String())
	if err := <-l.ended; l.command.ProcessState.ExitCode() != 1 {
		t.Errorf("end: %v", err)
	}
	if text := l.errs.String(); !strings.Contains(text, "--listen: "+taken.Addr().String()+
		" is taken") || strings.Contains(text, "postgres") {
		t.Errorf("said %q", text)
	}
}

// TestEarlyStop: Ctrl-C while the database is being made, or as soon as there is one where it
// needs no files, leaves nothing either.
func TestEarlyStop(t *testing.T) {
	l := start(t, build(t), "--listen=127.0.0.1:0")
	l.await("the database", func() bool {
		told, err := os.ReadFile(l.out)
		must(t, err)
		return len(told) > 0 || len(l.files()) > 0
	})
	l.stop()
	l.await("an empty folder", func() bool { return len(l.files()) == 0 })
}
