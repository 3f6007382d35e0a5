package integration_test

import (
	"os"
	ossignal "os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ordeal/sim/pgserver"
)

// However its user ends, a server ends with it and leaves nothing. Each player is given a
// private server, and from outside we watch its postmaster, its children and its folder.
func TestServerEndsWithItsUser(t *testing.T) {
	for _, death := range []struct {
		name string
		die  func(t *testing.T, p *player)
	}{
		{"close", func(t *testing.T, p *player) { p.order(t, "close") }},
		{"exit", func(t *testing.T, p *player) { p.order(t, "exit") }},
		{"panic", func(t *testing.T, p *player) { p.order(t, "panic") }},
		{"interrupt", signal(syscall.SIGINT)},
		{"hang-up", signal(syscall.SIGHUP)},
		{"terminate", signal(syscall.SIGTERM)},
		{"kill", signal(syscall.SIGKILL)},
	} {
		if death.name == "hang-up" && ossignal.Ignored(syscall.SIGHUP) {
			continue // whoever runs this, such as nohup, sees to it that a hang-up ends nobody
		}
		t.Run(death.name, func(t *testing.T) {
			p := start(t, self(t), nil, "ORDEAL_POSTGRES=local", "ORDEAL_DATABASE_URL=")
			at := placeOf(t, p.url)
			children := childrenOf(t, at.postmaster)
			if len(children) == 0 {
				t.Fatal("no child of the postmaster to watch")
			}
			death.die(t, p)
			at.mustVanish(t, children)
		})
	}
}

// signal sends a signal to the player's whole process group, as Ctrl-C in a terminal does.
func signal(s syscall.Signal) func(*testing.T, *player) {
	return func(t *testing.T, p *player) { must(t, syscall.Kill(-p.command.Process.Pid, s)) }
}

// stubborn is less than the time after which the server kills what does not obey.
const stubborn = 4 * time.Second

// A user killed while a backend is stopped, as the simulator does it to choose who runs,
// leaves a backend that cannot obey: it is woken to quit.
func TestStoppedBackendEndsToo(t *testing.T) {
	p := start(t, self(t), nil, "ORDEAL_POSTGRES=local", "ORDEAL_DATABASE_URL=")
	at := placeOf(t, p.url)
	conn := open(t, p.url)
	backend := number(t, ask(t, conn, `SELECT pg_backend_pid()::text`))
	must(t, syscall.Kill(backend, syscall.SIGSTOP))
	must(t, p.command.Process.Kill())
	at.mustVanishWithin(t, stubborn, []int{backend})
}

// If the guard itself is killed, Close still stops the server and removes its files.
func TestCloseWithoutGuard(t *testing.T) {
	s := private(t, pgserver.Options{})
	at := placeOf(t, s.URL())
	must(t, syscall.Kill(guardOf(t, at), syscall.SIGKILL))
	must(t, s.Close())
	if left := at.left([]int{at.postmaster}); left != "" {
		t.Fatal("left behind: " + left)
	}
}

// A server that was killed from outside is no trouble for Close, and its shared memory
// does not outlive it.
func TestCloseWithoutServer(t *testing.T) {
	s := private(t, pgserver.Options{})
	at := placeOf(t, s.URL())
	children := childrenOf(t, at.postmaster)
	lock, err := os.ReadFile(at.dir + "/data/postmaster.pid")
	must(t, err)
	segment := strings.Fields(strings.Split(string(lock), "\n")[6])[1]
	must(t, syscall.Kill(at.postmaster, syscall.SIGKILL))
	must(t, s.Close())
	at.mustVanish(t, children)
	segments, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		return // this system has no list of segments to look at
	}
	for line := range strings.Lines(string(segments)) {
		if fields := strings.Fields(line); fields[1] == segment {
			t.Fatal("left behind: shared memory segment " + segment)
		}
	}
}

// guardOf is the outer of the two shells above the postmaster.
func guardOf(t *testing.T, at place) int {
	t.Helper()
	return parentOf(t, parentOf(t, at.postmaster))
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(text))
	must(t, err)
	return n
}
