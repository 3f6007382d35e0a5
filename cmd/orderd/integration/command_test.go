package integration_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestMigrateAtOnce: five processes find an empty database and all of them end well.
func TestMigrateAtOnce(t *testing.T) {
	env := append(os.Environ(), "ORDERD_DATABASE_URL="+emptyDatabase(t))
	var all sync.WaitGroup
	var outs, errs [5]string
	var codes [5]int
	for n := range codes {
		all.Go(func() { outs[n], errs[n], codes[n] = orderd(t, env, "migrate") })
	}
	all.Wait()
	for n, code := range codes {
		if code != 0 || outs[n] != outs[0] || !strings.HasPrefix(outs[n], "schema version ") {
			t.Errorf("process %d: code %d, %q, %q", n, code, outs[n], errs[n])
		}
	}
}

// TestSeed: given tokens are taken, others drawn anew, and an unmigrated database is an error.
func TestSeed(t *testing.T) {
	env := append(os.Environ(), "ORDERD_DATABASE_URL="+emptyDatabase(t))
	if _, errs, code := orderd(t, env, "seed"); code != 1 || !strings.Contains(errs, "principals") {
		t.Errorf("before migrate: code %d, %s", code, errs)
	}
	if _, errs, code := orderd(t, env, "migrate"); code != 0 {
		t.Fatal(errs)
	}
	first, _, _ := orderd(t, append(env, "ORDERD_SEED_OPERATOR_TOKEN=given"), "seed")
	second, _, _ := orderd(t, append(env, "ORDERD_SEED_OPERATOR_TOKEN=given"), "seed")
	for _, out := range []string{first, second} {
		if !strings.HasPrefix(out, "order_customer ordeal_customer_") ||
			!strings.HasSuffix(out, "\norder_operator given\n") {
			t.Errorf("output %q", out)
		}
	}
	if first == second {
		t.Error("the same token was drawn twice")
	}
}

// TestWrongCommandLines: every mistake is named by its flag, and the exit code tells a command
// line that cannot be (80) from one that cannot be done (1).
func TestWrongCommandLines(t *testing.T) {
	database := "--database-url=postgres:///orders"
	serve := []string{"serve", database, "--warehouse=http://127.0.0.1:1",
		"--payment=http://127.0.0.1:1", "--shipping=http://127.0.0.1:1", "--listen=127.0.0.1:0"}
	for _, row := range []struct {
		args []string
		code int
		says []string
	}{
		{nil, 80, []string{"serve", "migrate", "seed"}},
		{[]string{"migrate"}, 80, []string{"--database-url"}},
		{[]string{"migrate", "--database-url=postgres://u:secret@h/"}, 80,
			[]string{"ORDERD_DATABASE_URL", "--database-url-file"}},
		{[]string{"migrate", "--database-url=postgres://u:secret@h:port/"}, 80,
			[]string{"password"}},
		{[]string{"migrate", "--database-url=host=h password=secret"}, 80, []string{"password"}},
		{[]string{"migrate", "--database-url=postgres://h:port/"}, 80, []string{"--database-url"}},
		{[]string{"migrate", database, "--wait=0s"}, 80, []string{"--wait"}},
		{[]string{"migrate", database, "--database-url-file=nowhere"}, 80, []string{"both"}},
		{[]string{"migrate", "--database-url-file=nowhere"}, 80, []string{"no such file"}},
		{[]string{"seed", database, "--operator-token=secret", "--customer-token=secret"}, 80,
			[]string{"--operator-token", "--customer-token", "variable"}},
		{[]string{"serve", database}, 80, []string{"--warehouse", "--payment", "--shipping"}},
		{append(serve, "--database-url=postgres://u@127.0.0.1:1/d"), 1,
			[]string{"--database-url", "does not answer"}},
		{append(serve, "--warehouse=http://u:secret@h"), 80, []string{"--warehouse", "password"}},
		{append(serve, "--no-api", "--no-execute"), 80, []string{"nothing to do"}},
		{append(serve, "--log-level=loud"), 80, []string{"--log-level"}},
		{append(serve, "--shutdown-delay=-1s"), 80, []string{"--shutdown-delay"}},
		// Everything at once.
		{[]string{"serve", "--pool-size=x", "--lease=long", "--payment=ftp://x"}, 80,
			[]string{"--database-url", "--pool-size", "--lease", "--warehouse", "--payment",
				"--shipping"}},
		{append(serve, "--warehouse=ftp://x"), 80, []string{"--warehouse"}},
		{append(serve, "--payment=nothing", "--shipping=http://"), 80,
			[]string{"--payment", "--shipping"}},
		{append(serve, "--pool-size=0"), 80, []string{"--pool-size"}},
		{append(serve, "--pool-size=x"), 80, []string{"--pool-size"}},
		{append(serve, "--poll-every=0s", "--sweep-every=-1s"), 80,
			[]string{"--poll-every", "--sweep-every"}},
		{append(serve, "--lease=3s", "--renew-every=1s"), 80, []string{"--lease"}},
		{append(serve, "--lease=5s", "--renew-every=5s"), 80, []string{"--lease", "--renew-every"}},
		{append(serve, "--renew-every=0s"), 80, []string{"--renew-every"}},
		{append(serve, "--drain-timeout=0s"), 80, []string{"--drain-timeout"}},
		{append(serve, "--name="+strings.Repeat("n", 65)), 80, []string{"--name"}},
		{append(serve, "--odd"), 80, []string{"--odd"}},
	} {
		_, errs, code := orderd(t, os.Environ(), row.args...)
		if code != row.code || strings.Contains(errs, "secret") {
			t.Errorf("%v: code %d\n%s", row.args, code, errs)
		}
		for _, words := range row.says {
			if !strings.Contains(errs, words) {
				t.Errorf("%v: no word of %s in %q", row.args, words, errs)
			}
		}
	}
}

// TestEnvironment: what begins with ORDERD_ means something, and is told with the rest.
func TestEnvironment(t *testing.T) {
	env := append(os.Environ(), "ORDERD_DATABSE_URL=x", "ORDERD_EXECUTE=perhaps", "ORDERD_DEV=",
		"ORDERD_POOL_SIZE=many", "ORDERD_SEED_OPERATOR_TOKEN=secret", "ORDERDX=1")
	_, errs, code := orderd(t, env, "serve")
	if code != 80 || strings.Contains(errs, "secret") || strings.Contains(errs, "ORDERDX") ||
		strings.Contains(errs, "SEED") {
		t.Errorf("code %d: %s", code, errs)
	}
	for _, words := range []string{"ORDERD_DATABSE_URL is no setting", "ORDERD_EXECUTE",
		"ORDERD_DEV", "--pool-size", "--database-url", "--warehouse"} {
		if !strings.Contains(errs, words) {
			t.Errorf("no word of %s in %s", words, errs)
		}
	}
}

// TestSecretFiles: secrets can come from files, with or without a last line end.
func TestSecretFiles(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	env := append(os.Environ(), "ORDERD_DATABASE_URL_FILE="+write("url", emptyDatabase(t)+"\n"))
	if out, errs, code := orderd(t, env, "migrate"); code != 0 {
		t.Fatal(out, errs)
	}
	out, errs, code := orderd(t, env, "seed", "--operator-token-file="+write("token", "given"))
	if code != 0 || !strings.HasSuffix(out, "\norder_operator given\n") {
		t.Errorf("code %d: %q, %s", code, out, errs)
	}
	_, errs, code = orderd(t, os.Environ(), "migrate",
		"--database-url-file="+write("empty", "\n"))
	if code != 80 || !strings.Contains(errs, "is empty") {
		t.Errorf("code %d: %s", code, errs)
	}
}

// TestHelp: each setting is told with its variable.
func TestHelp(t *testing.T) {
	out, _, code := orderd(t, nil, "--help")
	if code != 0 || !strings.Contains(out, "OTEL_EXPORTER_OTLP_ENDPOINT") ||
		!strings.Contains(out, "Exit codes") {
		t.Errorf("code %d: %s", code, out)
	}
	out, _, code = orderd(t, nil, "serve", "--help")
	if n := strings.Count(strings.ReplaceAll(out, "\n", ""), "($ORDERD_"); code != 0 || n < 19 {
		t.Errorf("code %d, %d variables: %s", code, n, out)
	}
}
