//go:build dockerimage

// Package dockerimage tries the docker way of package pgserver with an image that build.sh
// made. try.sh runs it; it is no part of the other tests because it needs a Docker daemon.
package dockerimage

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"ordeal/sim/pgserver"
)

func TestMain(m *testing.M) {
	if os.Getenv("ORDEAL_PGSERVER_PLAY") != "" {
		s, err := pgserver.Start(context.Background(), pgserver.Options{})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(s.URL())
		io.Copy(io.Discard, os.Stdin)
		return
	}
	goleak.VerifyTestMain(m)
}

// The server in the container is complete, and nothing is left of it after Close.
func TestContainer(t *testing.T) {
	ctx := context.Background()
	o := pgserver.Options{Settings: map[string]string{"deadlock_timeout": "1h"}}
	s, err := pgserver.Start(ctx, o)
	must(t, err)
	if s.Way() != "docker" || s.CanSignal() {
		t.Errorf("way %s, can signal %t", s.Way(), s.CanSignal())
	}
	must(t, s.CreateDatabase(ctx, "one"))
	must(t, s.CloneDatabase(ctx, "two", "one"))
	conn, err := pgx.Connect(ctx, s.DatabaseURL("two"))
	must(t, err)
	var fsync, timeout string
	must(t, conn.QueryRow(ctx, `SHOW fsync`).Scan(&fsync))
	must(t, conn.QueryRow(ctx, `SHOW deadlock_timeout`).Scan(&timeout))
	if fsync != "off" || timeout != "1h" {
		t.Errorf("fsync %s, deadlock_timeout %s", fsync, timeout)
	}
	must(t, conn.Close(ctx))
	must(t, s.Close())
	mustVanish(t)
}

// A user that is killed takes its container along, without the reaper of testcontainers.
func TestContainerEndsWithItsUser(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	player := exec.Command(self)
	player.Env = append(os.Environ(), "ORDEAL_PGSERVER_PLAY=1")
	player.Stderr = os.Stderr
	_, err = player.StdinPipe()
	must(t, err)
	out, err := player.StdoutPipe()
	must(t, err)
	must(t, player.Start())
	_, err = bufio.NewReader(out).ReadString('\n')
	must(t, err)
	if containers(t) == "" {
		t.Error("no container to watch")
	}
	must(t, player.Process.Kill())
	player.Wait()
	mustVanish(t)
}

// mustVanish polls until no container of the image is left.
func mustVanish(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for containers(t) != "" {
		if time.Now().After(deadline) {
			t.Fatalf("left behind: %s", containers(t))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func containers(t *testing.T) string {
	t.Helper()
	image := os.Getenv("ORDEAL_POSTGRES_IMAGE")
	out, err := exec.Command("docker", "ps", "-aq", "--filter", "ancestor="+image).Output()
	must(t, err)
	return strings.TrimSpace(string(out))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
