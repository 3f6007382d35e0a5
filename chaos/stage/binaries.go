package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Binaries are the programs that are put on a stage.
type Binaries struct {
	Orderd     string
	Imitations string
	folder     *folder
}

// Build builds what is not given by a path into a folder of its own. It must run inside the
// module. Remove gives the folder back.
func Build(ctx context.Context, orderd, imitations string) (Binaries, error) {
	b := Binaries{Orderd: orderd, Imitations: imitations}
	for _, given := range []string{orderd, imitations} {
		if given == "" {
			continue
		}
		if _, err := os.Stat(given); err != nil {
			return Binaries{}, fmt.Errorf("binary: %w", err)
		}
	}
	var err error
	if b.folder, err = makeFolder(); err != nil {
		return Binaries{}, fmt.Errorf("folder for binaries: %w", err)
	}
	for name, path := range map[string]*string{"orderd": &b.Orderd, "imitations": &b.Imitations} {
		if *path != "" {
			continue
		}
		*path = filepath.Join(b.folder.path, name)
		command := exec.CommandContext(ctx, "go", "build", "-o", *path, "ordeal/cmd/"+name)
		if out, err := command.CombinedOutput(); err != nil {
			return Binaries{}, errors.Join(fmt.Errorf("build %s: %w\n%s", name, err, out),
				b.Remove())
		}
	}
	return b, nil
}

// Remove removes what was built.
func (b Binaries) Remove() error { return b.folder.remove() }

// folder is a temporary folder that does not outlive this program, however that ends: a shell in
// a session of its own removes it when the pipe that is its standard input ends.
type folder struct {
	path     string
	remover  *exec.Cmd
	lifeline io.Closer
}

func makeFolder() (*folder, error) {
	path, err := os.MkdirTemp("", "ordeal-chaos-")
	if err != nil {
		return nil, err
	}
	f := &folder{path: path}
	f.remover = exec.Command("/bin/sh", "-c", `read -r _; exec rm -rf "$1"`, "remover", path)
	f.remover.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if f.lifeline, err = f.remover.StdinPipe(); err == nil {
		err = f.remover.Start()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return f, nil
}

func (f *folder) remove() error {
	if err := f.lifeline.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("remove %s: %w", f.path, err)
	}
	if err := f.remover.Wait(); err != nil {
		return fmt.Errorf("remove %s: %w", f.path, err)
	}
	return nil
}
