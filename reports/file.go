package reports

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// The names of the files that Write makes.
const (
	ResultFile   = "result.json"
	JUnitFile    = "junit.xml"
	MarkdownFile = "summary.md"
)

// Write puts the result and its renderings into a folder, which it makes if necessary. Each file
// appears at once, whole, or not at all; the result comes last, so that whoever finds it finds
// the renderings too.
func (r Result) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	for _, file := range []struct {
		name   string
		render func(io.Writer) error
	}{
		{JUnitFile, r.JUnit},
		{MarkdownFile, r.Markdown},
		{ResultFile, r.Encode},
	} {
		if err := replace(filepath.Join(dir, file.name), file.render); err != nil {
			return fmt.Errorf("write %s: %w", file.name, err)
		}
	}
	return nil
}

// replace writes a file beside its final place and renames it.
func replace(path string, render func(io.Writer) error) error {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	err = errors.Join(fill(temp, render), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}

// fill writes a file down to the disk, readable for everyone.
func fill(file *os.File, render func(io.Writer) error) error {
	if err := render(file); err != nil {
		return err
	}
	if err := file.Chmod(0o644); err != nil {
		return err
	}
	return file.Sync()
}

// Encode writes the result as indented JSON.
func (r Result) Encode(w io.Writer) error { return encode(w, r) }

// Encode writes the run as indented JSON.
func (r Run) Encode(w io.Writer) error { return encode(w, r) }

func encode(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(value)
}

// Read reads the result file of a folder, or a result file itself.
func Read(path string) (Result, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, ResultFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Result{}, fmt.Errorf("read result: %w", err)
	}
	r, err := Decode(data)
	if err != nil {
		return Result{}, fmt.Errorf("read result %s: %w", path, err)
	}
	return r, nil
}

// ErrSchema tells that a result has another version of the JSON form.
var ErrSchema = errors.New("unknown schema version")

// Decode reads a result from JSON. It returns an error that wraps ErrSchema for another version
// of the form, and an error for anything that is not exactly one result whose counts add up. The
// result is in normal form.
func Decode(data []byte) (Result, error) {
	var version struct {
		SchemaVersion int `json:"schema_version"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return Result{}, err
	}
	if version.SchemaVersion != SchemaVersion {
		return Result{}, fmt.Errorf("%w: %d instead of %d",
			ErrSchema, version.SchemaVersion, SchemaVersion)
	}
	var r Result
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return Result{}, err
	}
	claimed := r.Seeds
	r.Settle()
	if err := r.validate(); err != nil {
		return Result{}, err
	}
	if claimed != r.Seeds {
		return Result{}, fmt.Errorf("seeds %+v do not add up: the scenarios make %+v",
			claimed, r.Seeds)
	}
	return r, nil
}

// validate looks for counts that no sweep can come to.
func (r Result) validate() error {
	for _, s := range r.Scenarios {
		if s.Passed < 0 || s.Failed < 0 || s.Nondeterministic < 0 || s.Statements < 0 ||
			s.Virtual < 0 || s.Elapsed < 0 {
			return fmt.Errorf("scenario %q: negative count", s.Name)
		}
		if s.Run != s.Passed+s.Failed+s.Nondeterministic {
			return fmt.Errorf("scenario %q: %d runs are not %d + %d + %d",
				s.Name, s.Run, s.Passed, s.Failed, s.Nondeterministic)
		}
	}
	for _, i := range r.Invariants {
		if i.Checked < 0 || i.Violated < 0 {
			return fmt.Errorf("invariant %q: negative count", i.ID)
		}
	}
	for _, f := range r.Faults {
		if f.Offered < 0 || f.Fired < 0 || f.Mattered < 0 || f.Compared < f.Mattered {
			return fmt.Errorf("fault %q: impossible count", f.Kind)
		}
	}
	return nil
}
