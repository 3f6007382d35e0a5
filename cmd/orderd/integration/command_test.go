package integration_test

import (
	"os"
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
	database := "--database-url=" + server.URL()
	serve := []string{"serve", database, "--warehouse=http://127.0.0.1:1",
		"--payment=http://127.0.0.1:1", "--shipping=http://127.0.0.1:1", "--listen=127.0.0.1:0"}
	for _, row := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"migrate"}, 80, []string{"--database-url"}},
		{[]string{"migrate", "--database-url=postgres://u:secret@h:port/"}, 1,
			[]string{"--database-url"}},
		{[]string{"seed", "--database-url=postgres://u:secret@h:port/"}, 1,
			[]string{"--database-url"}},
		{[]string{"serve", database}, 80, []string{"--warehouse", "--payment", "--shipping"}},
		{append(serve, "--database-url=postgres://u:secret@127.0.0.1:1/d"), 1,
			[]string{"--database-url", "does not answer"}},
		{append(serve, "--listen=nowhere"), 1, []string{"--listen"}},
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
		last := message(errs)
		if code != row.code || strings.Contains(errs, "secret") {
			t.Errorf("%v: code %d\n%s", row.args, code, errs)
		}
		for _, words := range row.says {
			if !strings.Contains(last, words) {
				t.Errorf("%v: no word of %s in %q", row.args, words, last)
			}
		}
	}
}

// message is what follows the usage text, which names every flag.
func message(errs string) string {
	if at := strings.LastIndex(errs, "\norderd: "); at >= 0 {
		return errs[at:]
	}
	return errs
}
