package pgserver

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

//go:embed guard.sh
var guardScript string

const (
	// guardPatience bounds how long Close waits for the guard: its own longest way is a
	// server that obeys nothing, 30 s.
	guardPatience = 45 * time.Second

	// handshakeBound limits the time in which the guard must have made its folder.
	handshakeBound = 10 * time.Second
)

// guard is the shell process that owns a private cluster, and the lifeline to it. It is the
// parent of the server and the only one that starts or stops it.
type guard struct {
	dir      string
	account  *account
	command  *exec.Cmd
	lifeline *os.File
}

// startGuard starts a guard that makes the folder dir, and for the task "run" a cluster in
// it. An error means that dir cannot be used and that nothing was left behind; whether the
// cluster comes up is told later by exited.
func startGuard(dir string, as *account, task string, args ...string) (*guard, error) {
	command := guardCommand(as, append([]string{task, dir}, args...)...)
	hold, lifeline, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("lifeline of %s: %w", dir, err)
	}
	defer hold.Close()
	said, say, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("greeting of %s: %w", dir, err), lifeline.Close())
	}
	defer said.Close()
	command.Stdin, command.Stdout, command.Stderr = hold, say, say
	err = command.Start()
	say.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("guard of %s: %w", dir, err), lifeline.Close())
	}
	g := &guard{dir: dir, account: as, command: command, lifeline: lifeline}
	if err := g.greeted(said); err != nil {
		return nil, errors.Join(err, g.end())
	}
	return g, nil
}

// guardCommand is the guard's process: of its own session, so that Ctrl-C in the terminal of
// its user does not reach it, and with an environment in which no PG variable of the user
// can redirect the server.
func guardCommand(as *account, args ...string) *exec.Cmd {
	args = append([]string{"-c", guardScript, "pgserver-guard"}, args...)
	command := exec.Command("/bin/sh", args...)
	command.Dir = "/"
	command.Env = guardEnvironment()
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: as.lent}
	return command
}

// guardEnvironment names a time zone because initdb would otherwise try out every zone of
// the machine to find the local one.
func guardEnvironment() []string {
	env := []string{"LC_ALL=C", "TZ=UTC", "HOME=/"}
	for _, name := range []string{"PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"} {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// greeted reads what the guard says before it falls silent: that its folder is made, or why
// it cannot be.
func (g *guard) greeted(said *os.File) error {
	if err := said.SetReadDeadline(time.Now().Add(handshakeBound)); err != nil {
		return fmt.Errorf("guard of %s: %w", g.dir, err)
	}
	words, err := io.ReadAll(said)
	if err != nil {
		return fmt.Errorf("guard of %s: %w", g.dir, err)
	}
	if text := strings.TrimSpace(string(words)); text != "ready" {
		return fmt.Errorf("make folder %s as %s: %s", g.dir, g.account.name, text)
	}
	return nil
}

// exited tells whether initdb failed or the server ended, and with which status.
func (g *guard) exited() (status int, ended bool) {
	return numberIn(filepath.Join(g.dir, "exit"))
}

// pid is the process id of the server; false before there is one.
func (g *guard) pid() (int, bool) {
	return numberIn(filepath.Join(g.dir, "pid"))
}

func numberIn(path string) (int, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return n, err == nil
}

// restart asks for the server to be stopped with the signal and started again.
func (g *guard) restart(signal string) error {
	if _, err := io.WriteString(g.lifeline, signal+"\n"); err != nil {
		return fmt.Errorf("ask the guard of %s for a restart: %w", g.dir, err)
	}
	return nil
}

// end cuts the lifeline and waits until the guard has stopped the server and removed the
// folder. If the guard itself was killed, another one does that.
func (g *guard) end() error {
	closed := g.lifeline.Close()
	ended := reap(g.command)
	if _, err := os.Lstat(g.dir); errors.Is(err, os.ErrNotExist) {
		return closed
	}
	if err := g.adopt(); err != nil {
		return errors.Join(closed, ended, err)
	}
	return closed
}

// reap waits for a guard whose lifeline is cut; one that outlives all patience is killed.
func reap(command *exec.Cmd) error {
	late := time.AfterFunc(guardPatience, func() { command.Process.Kill() })
	defer late.Stop()
	return command.Wait()
}

// adopt runs a second guard on the folder of one that died.
func (g *guard) adopt() error {
	command := guardCommand(g.account, "adopt", g.dir)
	failed := command.Start()
	if failed == nil {
		failed = reap(command)
	}
	if _, err := os.Lstat(g.dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return errors.Join(fmt.Errorf("%s is left behind", g.dir), failed)
}

// logTail is the end of what initdb and the server wrote.
func (g *guard) logTail() string {
	const most = 4000
	text, err := os.ReadFile(filepath.Join(g.dir, "log"))
	if err != nil {
		return err.Error()
	}
	if len(text) > most {
		text = text[len(text)-most:]
	}
	return strings.TrimSpace(string(text))
}
