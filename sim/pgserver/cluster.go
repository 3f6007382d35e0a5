package pgserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// startBound limits initdb and the start of the server together.
	startBound = 2 * time.Minute

	// pollEvery is how often a starting server is asked whether it answers.
	pollEvery = 10 * time.Millisecond

	// portTries is how often a server is started anew because somebody was faster to take
	// its TCP port.
	portTries = 3
)

// cluster is a private server: its guard and the way to it.
type cluster struct {
	guard   *guard
	socket  dsn
	tcpPort int // 0: none
	version version
}

// startLocal starts a private server with the programs found on this machine.
func startLocal(ctx context.Context, o Options) (*Server, error) {
	found, err := thisMachine().find(ctx)
	if err != nil {
		return nil, err
	}
	return startPrivate(ctx, o, wayLocal, found.folder)
}

// startPrivate starts a private server with the programs in the folder bin.
func startPrivate(ctx context.Context, o Options, way, bin string) (*Server, error) {
	as, err := serverAccount()
	if err != nil {
		return nil, err
	}
	c, err := newCluster(ctx, o, bin, as)
	if err != nil {
		return nil, err
	}
	s := &Server{
		way:     way,
		version: c.version,
		source:  fmt.Sprintf("%s as %s in %s", bin, as.name, c.guard.dir),
		dsn:     c.socket,
		cluster: c,
		release: c.guard.end,
	}
	if o.TCP {
		if s.dsn, err = c.openTCP(ctx); err != nil {
			return nil, errors.Join(err, c.guard.end())
		}
	}
	return s, nil
}

// newCluster starts a server, again on another port if its port was taken meanwhile.
func newCluster(ctx context.Context, o Options, bin string, as *account) (*cluster, error) {
	settings, err := serverSettings(o)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		port := 0
		if o.TCP {
			if port, err = freePort(); err != nil {
				return nil, err
			}
		}
		c, err := tryCluster(ctx, settings, bin, as, port)
		if err == nil {
			return c, nil
		}
		if port == 0 || try == portTries || portIsFree(port) {
			return nil, err
		}
	}
}

// tryCluster starts a server and waits until it answers; on an error nothing is left.
func tryCluster(
	ctx context.Context, settings map[string]string, bin string, as *account, tcpPort int,
) (*cluster, error) {
	c := &cluster{tcpPort: tcpPort}
	err := inFolder(func(dir string) error {
		args := append([]string{configFile(settings, dir, tcpPort), bin}, initdbFlags...)
		g, err := startGuard(dir, as, "run", args...)
		c.guard = g
		return err
	})
	if err != nil {
		return nil, err
	}
	c.socket = socketDSN(c.guard.dir, c.socketPort())
	if err := c.awaitAnswer(ctx); err != nil {
		return nil, errors.Join(err, c.guard.end())
	}
	return c, nil
}

// initdbFlags: no waiting for the disk, and the same cluster whatever the machine's locale.
// The socket needs no password since its folder is private; TCP does.
var initdbFlags = []string{
	"--username=" + superuser,
	"--auth-local=trust",
	"--auth-host=scram-sha-256",
	"--encoding=UTF8",
	"--locale=C",
	"--no-sync",
	"--no-instructions",
}

// socketPort is the number in the socket's name: the server has one for socket and TCP.
func (c *cluster) socketPort() int {
	if c.tcpPort != 0 {
		return c.tcpPort
	}
	return socketPort
}

// awaitAnswer returns when the server answers, or with what went wrong.
func (c *cluster) awaitAnswer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startBound)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if status, ended := c.guard.exited(); ended {
			return fmt.Errorf("the server ended with status %d as it started:\n%s",
				status, c.guard.logTail())
		}
		if _, started := c.guard.pid(); started {
			v, err := greet(ctx, c.socket)
			if err == nil {
				c.version = v
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for the server to start: %w\n%s", ctx.Err(), c.guard.logTail())
		}
	}
}

// greet connects once and returns the version that the server tells.
func greet(ctx context.Context, to dsn) (version, error) {
	conn, err := connect(ctx, to)
	if err != nil {
		return version{}, err
	}
	v, err := parseVersion(conn.PgConn().ParameterStatus("server_version"))
	return v, errors.Join(err, conn.Close(ctx))
}

// restart stops and starts the server and waits until the new one answers.
func (c *cluster) restart(ctx context.Context, immediate bool) error {
	signal := "INT"
	if immediate {
		signal = "QUIT"
	}
	before, _ := c.guard.pid()
	if err := c.guard.restart(signal); err != nil {
		return err
	}
	if err := c.awaitOther(ctx, before); err != nil {
		return err
	}
	return c.awaitAnswer(ctx)
}

// awaitOther returns when the guard has started a server with another pid than before.
func (c *cluster) awaitOther(ctx context.Context, before int) error {
	ctx, cancel := context.WithTimeout(ctx, startBound)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if pid, started := c.guard.pid(); started && pid != before {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for the server to stop: %w", ctx.Err())
		}
	}
}

// openTCP gives the superuser a password and returns the address that asks for it.
func (c *cluster) openTCP(ctx context.Context) (dsn, error) {
	conn, err := connect(ctx, c.socket)
	if err != nil {
		return "", fmt.Errorf("set the password: %w", err)
	}
	defer conn.Close(ctx)
	password := token() + token() + token() + token()
	alter := "ALTER ROLE " + pgx.Identifier{superuser}.Sanitize() + " PASSWORD '" + password + "'"
	if _, err := conn.Exec(ctx, alter); err != nil {
		return "", fmt.Errorf("set the password: %w", err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", c.tcpPort)
	return hostDSN(address, superuser, password), nil
}

// freePort is a TCP port of 127.0.0.1 that nobody listens on at the moment.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	return port, nil
}

func portIsFree(port int) bool {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}
