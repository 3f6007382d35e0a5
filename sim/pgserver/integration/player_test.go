package integration_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// player is a process that uses a server.
type player struct {
	command *exec.Cmd
	orders  io.WriteCloser
	words   *bufio.Reader
	errs    strings.Builder
	url     string
}

// start runs the test binary (or a copy of it) as a player and waits until it has a server.
func start(t *testing.T, binary string, as *syscall.Credential, env ...string) *player {
	t.Helper()
	p := launch(t, binary, as, env...)
	p.await(t)
	return p
}

// launch runs a player in a process group of its own, as a terminal would.
func launch(t *testing.T, binary string, as *syscall.Credential, env ...string) *player {
	t.Helper()
	p := &player{command: exec.Command(binary)}
	p.command.Env = append(os.Environ(), "ORDEAL_PGSERVER_PLAY=1")
	p.command.Env = append(p.command.Env, env...)
	p.command.Dir = "/"
	p.command.SysProcAttr = &syscall.SysProcAttr{Credential: as, Setpgid: true}
	p.command.Stderr = &p.errs
	var err error
	p.orders, err = p.command.StdinPipe()
	must(t, err)
	out, err := p.command.StdoutPipe()
	must(t, err)
	must(t, p.command.Start())
	t.Cleanup(func() {
		p.orders.Close()
		p.command.Process.Kill()
		p.command.Wait()
	})
	p.words = bufio.NewReader(out)
	return p
}

// await returns when the player has its server.
func (p *player) await(t *testing.T) {
	t.Helper()
	line, err := p.words.ReadString('\n')
	if err != nil {
		p.command.Wait()
		t.Fatalf("player has no server: %v\n%s", err, p.errs.String())
	}
	p.url = strings.TrimSpace(line)
}

// self is the path of the test binary.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	must(t, err)
	return path
}

// order tells the player how to go on.
func (p *player) order(t *testing.T, word string) {
	t.Helper()
	_, err := fmt.Fprintln(p.orders, word)
	must(t, err)
}

// place is the folder and the postmaster of a private server.
type place struct {
	dir        string
	postmaster int
}

func placeOf(t *testing.T, url string) place {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	must(t, err)
	text, err := os.ReadFile(filepath.Join(config.Host, "data", "postmaster.pid"))
	must(t, err)
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	must(t, err)
	if !alive(pid) {
		t.Fatalf("postmaster %d does not live", pid)
	}
	return place{dir: config.Host, postmaster: pid}
}

// mustVanish polls until neither folder nor postmaster nor a child of it is left.
func (p place) mustVanish(t *testing.T, children []int) {
	t.Helper()
	p.mustVanishWithin(t, 30*time.Second, children)
}

func (p place) mustVanishWithin(t *testing.T, limit time.Duration, children []int) {
	t.Helper()
	all := append([]int{p.postmaster}, children...)
	deadline := time.Now().Add(limit)
	for {
		left := p.left(all)
		if left == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("left behind: " + left)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (p place) left(pids []int) string {
	var left []string
	for _, pid := range pids {
		if alive(pid) {
			left = append(left, "process "+strconv.Itoa(pid))
		}
	}
	if _, err := os.Lstat(p.dir); !errors.Is(err, os.ErrNotExist) {
		left = append(left, "folder "+p.dir)
	}
	return strings.Join(left, ", ")
}

// alive tells whether a process runs; a zombie that nobody reaped yet does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	state, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(state)), "Z")
}

// childrenOf are the processes whose parent is pid.
func childrenOf(t *testing.T, pid int) []int {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-o", "pid=", "-o", "ppid=").Output()
	must(t, err)
	var children []int
	for line := range strings.Lines(string(out)) {
		var child, parent int
		if _, err := fmt.Sscan(line, &child, &parent); err == nil && parent == pid {
			children = append(children, child)
		}
	}
	return children
}

// open connects to a database until the test ends.
func open(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	must(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// ask runs a query with one text as its result.
func ask(t *testing.T, conn *pgx.Conn, query string) string {
	t.Helper()
	var answer string
	must(t, conn.QueryRow(context.Background(), query).Scan(&answer))
	return answer
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
