package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	embedded "github.com/fergusstrange/embedded-postgres"
)

const (
	// downloadVersion is the version that is downloaded.
	downloadVersion = embedded.V17

	// downloadBound limits a download and the first start of what was downloaded.
	downloadBound = 10 * time.Minute

	// lockEvery is how often a lock that another process holds is tried.
	lockEvery = 100 * time.Millisecond
)

// errRoot is why root gets no download: the library that fetches it starts what it fetched.
var errRoot = errors.New("root cannot use a download, since the server does not run as root")

// startDownload starts a private server with downloaded programs. They are kept in a folder
// of the user's cache, the only files that this package leaves behind.
func startDownload(ctx context.Context, o Options) (*Server, error) {
	if os.Geteuid() == 0 {
		return nil, errRoot
	}
	bin, err := downloaded(ctx, o.Log)
	if err != nil {
		return nil, err
	}
	found, err := thisMachine().usable(ctx, bin)
	if err != nil {
		return nil, err
	}
	return startPrivate(ctx, o, wayDownload, found.folder)
}

// downloadCache is where downloads are kept: ORDEAL_POSTGRES_CACHE, or the user's cache.
func downloadCache() (string, error) {
	if named := os.Getenv("ORDEAL_POSTGRES_CACHE"); named != "" {
		return filepath.Abs(named)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place for a download (ORDEAL_POSTGRES_CACHE names one): %w", err)
	}
	return filepath.Join(cache, "ordeal", "postgres"), nil
}

// downloaded returns the folder with the downloaded programs, and downloads them if no
// process did so before. Only one process at a time does.
func downloaded(ctx context.Context, log io.Writer) (string, error) {
	cache, err := downloadCache()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("cache of downloads: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, downloadBound)
	defer cancel()
	lock, err := lockFile(ctx, filepath.Join(cache, "lock"))
	if err != nil {
		return "", err
	}
	kept := filepath.Join(cache, string(downloadVersion))
	bin := filepath.Join(kept, "bin")
	if _, err := os.Stat(filepath.Join(bin, "postgres")); err == nil {
		return bin, lock.Close()
	}
	if log != nil {
		fmt.Fprintf(log, "postgres: downloading %s\n", downloadVersion)
	}
	done := make(chan error, 1)
	go func() {
		done <- errors.Join(download(ctx, cache, kept), lock.Close())
	}()
	select {
	case err = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("download %s: %w", downloadVersion, err)
	}
	return bin, nil
}

// download lets the library fetch a server, and start and stop it once, under a guard and
// in a folder that ends with ctx; only programs that worked are kept.
func download(ctx context.Context, cache, kept string) error {
	var g *guard
	as := &account{name: "this user"}
	err := inFolder(func(dir string) (err error) {
		g, err = startGuard(dir, as, "watch")
		return err
	})
	if err != nil {
		return err
	}
	fresh := kept + ".new"
	programs := filepath.Join(fresh, "programs")
	stopped := context.AfterFunc(ctx, func() { g.lifeline.Close() })
	defer stopped()
	err = errors.Join(os.RemoveAll(fresh), tryDownload(cache, programs, g.dir))
	if err == nil {
		err = os.Rename(programs, kept)
	}
	return errors.Join(err, os.RemoveAll(fresh), g.end())
}

// tryDownload fetches the programs into a folder and tries them in dir. The library leaves
// its log in the temporary folder, which is therefore another one meanwhile.
func tryDownload(cache, programs, dir string) (err error) {
	port, err := freePort()
	if err != nil {
		return err
	}
	temporary, set := os.LookupEnv("TMPDIR")
	if err := os.Setenv("TMPDIR", dir); err != nil {
		return err
	}
	defer func() {
		if !set {
			err = errors.Join(err, os.Unsetenv("TMPDIR"))
			return
		}
		err = errors.Join(err, os.Setenv("TMPDIR", temporary))
	}()
	config := embedded.DefaultConfig().
		Version(downloadVersion).
		Port(uint32(port)).
		Password(token() + token()).
		CachePath(cache).
		BinariesPath(programs).
		RuntimePath(filepath.Join(dir, "run")).
		DataPath(filepath.Join(dir, "data")).
		StartParameters(map[string]string{"unix_socket_directories": dir}).
		Logger(io.Discard)
	if mirror := os.Getenv("ORDEAL_POSTGRES_MIRROR"); mirror != "" {
		config = config.BinaryRepositoryURL(mirror)
	}
	server := embedded.NewDatabase(config)
	if err := server.Start(); err != nil {
		return err
	}
	return server.Stop()
}

// lockFile opens a file and holds its lock, which no other process holds then, until it is
// closed.
func lockFile(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock of downloads: %w", err)
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
		select {
		case <-time.After(lockEvery):
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, ctx.Err()), f.Close())
		}
	}
}
