package pgserver

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
	"github.com/testcontainers/testcontainers-go/modules/postgres"
)

//go:embed lifeline.sh
var lifelineScript string

const (
	// defaultImage is what ORDEAL_POSTGRES_IMAGE stands for when it is not set.
	defaultImage = "postgres:17-alpine"

	// dockerBound limits how long a daemon may take to answer at all.
	dockerBound = 2 * time.Second

	// defaultPullBound is what ORDEAL_POSTGRES_PULL_TIMEOUT stands for when it is not set.
	defaultPullBound = 2 * time.Minute

	// greetBound limits one attempt to greet a starting server at an address that may be
	// the wrong one.
	greetBound = time.Second

	// containerShm is the size of the container's /dev/shm in bytes.
	containerShm = 256 << 20
)

// startDocker runs a server in a container. The container removes itself when it ends, and
// it ends when the connection to its standard input does, so it cannot outlive this process
// even where the reaper of testcontainers is switched off.
func startDocker(ctx context.Context, o Options) (s *Server, err error) {
	tclog.SetDefault(tclog.NewNoopLogger())
	// testcontainers panics if the daemon goes away between two of its questions.
	defer func() {
		if r := recover(); r != nil {
			s, err = nil, fmt.Errorf("testcontainers panicked: %v", r)
		}
	}()
	daemon, err := dockerDaemon(ctx)
	if err != nil {
		return nil, err
	}
	defer daemon.Close()
	settings, err := serverSettings(o)
	if err != nil {
		return nil, err
	}
	bound, err := pullBound(os.Getenv)
	if err != nil {
		return nil, err
	}
	image := cmp.Or(os.Getenv("ORDEAL_POSTGRES_IMAGE"), defaultImage)
	if err := haveImage(ctx, daemon, image, bound, o.Log); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, bound+startBound)
	defer cancel()
	return runImage(ctx, daemon, image, settings)
}

// dockerDaemon is a client of the daemon that testcontainers will use; an error means that
// none answers at once.
func dockerDaemon(ctx context.Context) (*testcontainers.DockerClient, error) {
	ctx, cancel := context.WithTimeout(ctx, dockerBound)
	defer cancel()
	daemon, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return nil, fmt.Errorf("no Docker daemon answers: %w", err)
	}
	if _, err := daemon.Ping(ctx, client.PingOptions{}); err != nil {
		daemon.Close()
		return nil, fmt.Errorf("no Docker daemon answers: %w", err)
	}
	return daemon, nil
}

// pullBound is how long the download of images may take.
func pullBound(getenv func(string) string) (time.Duration, error) {
	text := getenv("ORDEAL_POSTGRES_PULL_TIMEOUT")
	if text == "" {
		return defaultPullBound, nil
	}
	bound, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("ORDEAL_POSTGRES_PULL_TIMEOUT: %w", err)
	}
	return bound, nil
}

// haveImage pulls the image if the daemon does not have it. It asks the registry once:
// testcontainers would do so again and again.
func haveImage(
	ctx context.Context,
	d *testcontainers.DockerClient,
	image string,
	bound time.Duration,
	log io.Writer,
) error {
	_, err := d.ImageInspect(ctx, image)
	if err == nil {
		return nil
	}
	if !errdefs.IsNotFound(err) {
		return fmt.Errorf("look for image %s: %w", image, err)
	}
	if log != nil {
		fmt.Fprintf(log, "postgres: pulling image %s\n", image)
	}
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	pull, err := d.ImagePull(ctx, image, client.ImagePullOptions{})
	if err == nil {
		err = pull.Wait(ctx)
	}
	if err != nil {
		return fmt.Errorf("image %s is not on this machine and cannot be pulled: %w", image, err)
	}
	return nil
}

// runImage starts a container and waits until its server answers.
func runImage(
	ctx context.Context, d *testcontainers.DockerClient, image string, settings map[string]string,
) (*Server, error) {
	var line lifeline
	run, err := postgres.Run(ctx, image, append(line.options(d),
		postgres.WithPassword(token()+token()+token()+token()),
		testcontainers.WithEnv(map[string]string{
			"POSTGRES_INITDB_ARGS": "--encoding=UTF8 --locale=C --no-sync",
		}),
		testcontainers.WithCmd(containerCommand(settings)...),
	)...)
	end := func() error {
		line.cut()
		if run == nil {
			return nil
		}
		return testcontainers.TerminateContainer(run)
	}
	if err != nil {
		return nil, errors.Join(err, end())
	}
	s, err := containerServer(ctx, d, run, image)
	if err != nil {
		return nil, errors.Join(err, end())
	}
	s.release = end
	return s, nil
}

// containerCommand is the server's command line.
func containerCommand(settings map[string]string) []string {
	command := []string{"postgres"}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		command = append(command, "-c", name+"="+settings[name])
	}
	return command
}

// containerServer waits until the server in the container answers on TCP, which the image
// lets it do only when its cluster is complete.
func containerServer(
	ctx context.Context,
	d *testcontainers.DockerClient,
	run *postgres.PostgresContainer,
	image string,
) (*Server, error) {
	addresses, err := containerAddresses(ctx, d, run)
	if err != nil {
		return nil, fmt.Errorf("find the container's address: %w", err)
	}
	tick := time.NewTicker(5 * pollEvery)
	defer tick.Stop()
	for {
		s, err := greetAny(ctx, addresses)
		if err == nil {
			s.source = fmt.Sprintf("image %s, container %.12s", image, run.GetContainerID())
			return s, s.version.supported()
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("wait for the container's server: %w\n%s",
				err, containerLog(run))
		}
		if state, gone := run.State(ctx); gone != nil || !state.Running {
			return nil, fmt.Errorf("the container ended as it started: %w\n%s",
				err, containerLog(run))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// containerAddresses are where the server may be found. In a container testcontainers takes
// the daemon for one outside of it; one inside publishes its ports on the loopback address.
func containerAddresses(
	ctx context.Context, d *testcontainers.DockerClient, run *postgres.PostgresContainer,
) ([]dsn, error) {
	text, err := run.ConnectionString(ctx, "sslmode=disable")
	if err != nil {
		return nil, err
	}
	addresses := []dsn{dsn(text)}
	if !strings.HasPrefix(d.DaemonHost(), "unix:") {
		return addresses, nil
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	u.Host = net.JoinHostPort("127.0.0.1", u.Port())
	return append(addresses, dsn(u.String())), nil
}

// greetAny greets the server at the first address where it answers. The password is random,
// so no other server is taken for it.
func greetAny(ctx context.Context, addresses []dsn) (*Server, error) {
	var failed []error
	for _, to := range addresses {
		bounded, cancel := context.WithTimeout(ctx, greetBound)
		v, err := greet(bounded, to)
		cancel()
		if err == nil {
			return &Server{way: wayDocker, version: v, dsn: to}, nil
		}
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}

// containerLog is the end of what the container wrote, as far as it can still be had.
func containerLog(run *postgres.PostgresContainer) string {
	const most = 4000
	ctx, cancel := context.WithTimeout(context.Background(), dockerBound)
	defer cancel()
	log, err := run.Logs(ctx)
	if err != nil {
		return err.Error()
	}
	defer log.Close()
	text, err := io.ReadAll(log)
	if err != nil {
		return err.Error()
	}
	if len(text) > most {
		text = text[len(text)-most:]
	}
	return strings.TrimSpace(string(text))
}

// lifeline is the connection to a container's standard input that keeps it alive.
type lifeline struct {
	conn *client.HijackedResponse
}

// options make a container depend on the lifeline, which is attached before it starts.
func (l *lifeline) options(d *testcontainers.DockerClient) []testcontainers.ContainerCustomizer {
	attach := func(ctx context.Context, c testcontainers.Container) error {
		attached, err := d.ContainerAttach(ctx, c.GetContainerID(),
			client.ContainerAttachOptions{Stream: true, Stdin: true})
		if err != nil {
			return fmt.Errorf("attach to the container: %w", err)
		}
		l.conn = &attached.HijackedResponse
		return nil
	}
	return []testcontainers.ContainerCustomizer{
		testcontainers.WithEntrypoint("sh", "-c", lifelineScript, "lifeline"),
		testcontainers.WithConfigModifier(func(c *container.Config) {
			c.AttachStdin, c.OpenStdin, c.StdinOnce = true, true, true
		}),
		testcontainers.WithHostConfigModifier(func(h *container.HostConfig) {
			h.AutoRemove = true
			h.ShmSize = containerShm
		}),
		testcontainers.WithAdditionalLifecycleHooks(testcontainers.ContainerLifecycleHooks{
			PreStarts: []testcontainers.ContainerHook{attach},
		}),
	}
}

func (l *lifeline) cut() {
	if l.conn != nil {
		l.conn.Close()
	}
}
