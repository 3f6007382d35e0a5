package integration_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ordeal/chaos"
	"ordeal/reports"
)

// play plays cases with an orderd.
func play(t *testing.T, orderd string, ids ...string) []chaos.Outcome {
	t.Helper()
	var cases []chaos.Case
	for _, id := range ids {
		c, err := chaos.Lookup(id)
		must(t, err)
		cases = append(cases, c)
	}
	programs := chaos.Programs{Orderd: orderd, Imitations: binaries.Imitations}
	if orderd == "" {
		programs.Orderd = binaries.Orderd
	}
	outcomes, err := chaos.Run(t.Context(), chaos.RunConfig{Programs: programs, Cases: cases,
		Rounds: 1, Seed: 1, Parallel: 3, Logs: t.TempDir(), Log: os.Stderr,
		Progress: func(chaos.Outcome) {}})
	must(t, err)
	return outcomes
}

func TestCasesHold(t *testing.T) {
	for _, o := range play(t, "", "kill/before_commit/reserve", "stop_rival/before_commit/reserve",
		"kill_api/after_commit") {
		if !o.Hit || !o.Passed() || o.Checked() == 0 || o.Recovery == 0 {
			t.Errorf("%s: %+v", o.Case.ID, o)
		}
	}
}

// planted builds orderd with a file of which a text is replaced.
func planted(t *testing.T, file, old, with string) (orderd string) {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	must(t, err)
	path := filepath.Join(strings.TrimSpace(string(out)), file)
	text, err := os.ReadFile(path)
	must(t, err)
	if strings.Count(string(text), old) != 1 {
		t.Fatalf("%s does not hold once: %s", file, old)
	}
	folder := t.TempDir()
	changed, overlay := filepath.Join(folder, "changed.go"), filepath.Join(folder, "overlay.json")
	must(t, os.WriteFile(changed, []byte(strings.Replace(string(text), old, with, 1)), 0o644))
	must(t, os.WriteFile(overlay,
		fmt.Appendf(nil, `{"Replace": {%q: %q}}`, path, changed), 0o644))
	orderd = filepath.Join(folder, "orderd")
	if out, err := exec.Command("go", "build", "-overlay", overlay, "-o", orderd,
		"ordeal/cmd/orderd").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return orderd
}

// expectRed expects the case to fail by an invariant.
func expectRed(t *testing.T, orderd, id, invariant string) {
	t.Helper()
	o := play(t, orderd, id)[0]
	for _, p := range o.Problems {
		if p.What == invariant {
			return
		}
	}
	t.Errorf("%s: got problems %v, want %s", id, o.Problems, invariant)
}

func TestNoticesThatTheGuardIsGone(t *testing.T) {
	orderd := planted(t, "service/store/record.go", `
        and s.generation = r.generation
        and s.lease_owner = r.owner
        and s.status = 'running'
        and (not r.lost`, `
        and (not r.lost`)
	expectRed(t, orderd, "stop_rival/before_commit/commit", "INV-08")
}

func TestNoticesASecondCharge(t *testing.T) {
	orderd := planted(t, "service/order/outcome.go",
		"AnswerTimeout:       {OutcomeTransient, OutcomeUnknown,",
		"AnswerTimeout:       {OutcomeTransient, OutcomeTransient,")
	expectRed(t, orderd, "kill/after_effect/pay", "INV-07")
}

// The tool itself, killed or interrupted while its processes run, leaves none of them.
func TestNothingOutlivesTheTool(t *testing.T) {
	folder := t.TempDir()
	tool := filepath.Join(folder, "chaos")
	out, err := exec.Command("go", "build", "-o", tool, "ordeal/cmd/chaos").CombinedOutput()
	if err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	// Programs under paths of their own can be told from everybody else's.
	orderd := filepath.Join(folder, "orderd-of-this-test")
	copyFile(t, binaries.Orderd, orderd)
	for signal, code := range map[syscall.Signal]int{
		syscall.SIGKILL: -1,
		syscall.SIGINT:  reports.ExitInterrupted,
	} {
		command := exec.Command(tool, "run", "stop/before_commit/pay", "--orderd", orderd,
			"--out", t.TempDir())
		var errs bytes.Buffer
		command.Stderr = &errs
		must(t, command.Start())
		await(t, "three processes", func() bool { return len(running(t, orderd)) == 3 })
		time.Sleep(time.Second) // customers and proxies are at work
		must(t, command.Process.Signal(signal))
		_ = command.Wait() // the exit code says it
		if got := command.ProcessState.ExitCode(); got != code {
			t.Errorf("%s: got exit code %d, want %d\n%s", signal, got, code, errs.String())
		}
		await(t, "the end of all processes", func() bool { return len(running(t, orderd)) == 0 })
		await(t, "the end of the database", func() bool { return !serverRuns(t, errs.String()) })
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	must(t, err)
	must(t, os.WriteFile(to, text, 0o755))
}

// running lists the processes whose program is the path.
func running(t *testing.T, path string) (pids []string) {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	must(t, err)
	for _, link := range links {
		if program, err := os.Readlink(link); err == nil && program == path {
			pids = append(pids, filepath.Base(filepath.Dir(link)))
		}
	}
	return pids
}

// serverRuns reports whether the private server that the tool told of still has its folder.
func serverRuns(t *testing.T, told string) bool {
	t.Helper()
	_, folder, private := strings.Cut(told, " in ")
	if !private {
		return false
	}
	folder, _, _ = strings.Cut(folder, ")")
	_, err := os.Stat(folder)
	return err == nil
}

// A soak hits several places and holds.
func TestSoak(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	o, hits, err := chaos.Soak(ctx, chaos.SoakConfig{Kills: 10,
		Programs: chaos.Programs{Orderd: binaries.Orderd, Imitations: binaries.Imitations},
		Duration: time.Minute, Seed: 1, Logs: t.TempDir(), Log: os.Stderr})
	must(t, err)
	if o.Kills != 10 || len(hits) != 10 || !o.Passed() {
		t.Errorf("got %d kills at %d places: %v", o.Kills, len(hits), o.Problems)
	}
}

// A case's boundary is found in the simulation, and its run replays.
func TestReplay(t *testing.T) {
	c, err := chaos.Lookup("kill/after_effect/reserve")
	must(t, err)
	var events, log bytes.Buffer
	code, err := chaos.Replay(t.Context(), c, 1, 100, &events, &log)
	must(t, err)
	if _, found := c.Simulated.Found(&events); !found || code != reports.ExitHeld {
		t.Errorf("got exit code %d\n%s", code, log.String())
	}
	c.Simulated.Ordinal = 1000
	if _, err := chaos.Replay(t.Context(), c, 1, 2, &events, &log); !errors.Is(err, chaos.ErrNoSeed) {
		t.Errorf("got %v, want %v", err, chaos.ErrNoSeed)
	}
}
