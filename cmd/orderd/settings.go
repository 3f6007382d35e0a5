package main

import (
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/jackc/pgx/v5"
)

// prefix begins the variables of this command.
const prefix = "ORDERD_"

// The settings below keep a text that cannot be understood, so that it is told of with everything
// else that is wrong, and not alone.

// number is a whole number.
type number struct {
	int
	wrong bool
}

func (n *number) UnmarshalText(text []byte) error {
	value, err := strconv.Atoi(string(text))
	n.int, n.wrong = value, err != nil
	return nil
}

// span is a duration.
type span struct {
	time.Duration
	wrong bool
}

func (s *span) UnmarshalText(text []byte) error {
	value, err := time.ParseDuration(string(text))
	s.Duration, s.wrong = value, err != nil
	return nil
}

// level is a level of logs.
type level struct {
	slog.Level
	wrong bool
}

func (l *level) UnmarshalText(text []byte) error {
	l.wrong = l.Level.UnmarshalText(text) != nil
	return nil
}

// problems collects what is wrong with settings.
type problems []error

// unless notes a problem unless something is as it must be.
func (p *problems) unless(ok bool, format string, args ...any) {
	if !ok {
		*p = append(*p, fmt.Errorf(format, args...))
	}
}

// checkEnvironment finds variables that no command knows, and switches that are neither on nor
// off. Those are taken out of the environment, since the parser would stop at the first of them.
func checkEnvironment(model *kong.Node) []error {
	var found problems
	switches := map[string]bool{}
	readFlags(model, switches)
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		isSwitch, known := switches[name]
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		found.unless(known, "%s is no setting", name)
		if isSwitch {
			_, err := strconv.ParseBool(value)
			found.unless(err == nil, "%s must be true or false", name)
			if err != nil {
				_ = os.Unsetenv(name) // fails for impossible names only
			}
		}
	}
	slices.SortFunc(found, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return found
}

// readFlags notes the variables of all flags of a command and those below it, and whether each is
// a switch.
func readFlags(node *kong.Node, switches map[string]bool) {
	for _, flag := range node.Flags {
		for _, name := range flag.Envs {
			switches[name] = flag.IsBool()
		}
	}
	for _, child := range node.Children {
		readFlags(child, switches)
	}
}

// check finds everything that is wrong with the settings of the chosen command, and reads secrets
// from their files.
func (c *cli) check(chosen *kong.Context) []error {
	var found problems
	given := map[string]bool{}
	for _, element := range chosen.Path {
		if element.Flag != nil && !element.Resolved {
			given[element.Flag.Name] = true
		}
	}
	c.checkDatabase(&found, given["database-url"])
	found.unless(!c.LogLevel.wrong, "--log-level must be debug, info, warn or error")
	switch chosen.Command() {
	case "serve":
		c.Serve.check(&found, given)
	case "seed":
		c.Seed.check(&found, given)
	case "migrate":
		found.unless(!c.Migrate.Wait.wrong && c.Migrate.Wait.Duration > 0,
			"--wait must be above zero")
	}
	return found
}

// checkDatabase finds the database's URL. A flag is visible to others on the machine.
func (c *cli) checkDatabase(found *problems, flag bool) {
	if flag && hasPassword(c.DatabaseURL) {
		found.unless(false, "--database-url has a password, which others on this machine can "+
			"read: give it as ORDERD_DATABASE_URL or in --database-url-file")
		return
	}
	readSecret(found, "--database-url", &c.DatabaseURL, c.DatabaseURLFile)
	if c.DatabaseURL == "" {
		if c.DatabaseURLFile == "" {
			found.unless(false, "--database-url or --database-url-file is missing")
		}
		return
	}
	_, err := pgx.ParseConfig(c.DatabaseURL)
	found.unless(err == nil, "--database-url: %w", err)
}

// readSecret reads a secret from its file, unless it is there already, which is one place too many.
func readSecret(found *problems, name string, value *string, file string) {
	if file == "" {
		return
	}
	if *value != "" {
		found.unless(false, "%s and %s-file are both set", name, name)
		return
	}
	text, err := os.ReadFile(file)
	*value = strings.TrimRight(string(text), "\r\n")
	found.unless(err == nil, "%s-file: %w", name, err)
	found.unless(err != nil || *value != "", "%s-file: %s is empty", name, file)
}

// passwordWord finds a password in a connection string of words.
var passwordWord = regexp.MustCompile(`(?i)(^|[\s?&])(password|sslpassword)\s*=`)

// hasPassword tells whether a connection string holds a password; one that cannot be understood
// is taken at its looks.
func hasPassword(text string) bool {
	if passwordWord.MatchString(text) {
		return true
	}
	u, err := url.Parse(text)
	if err != nil {
		return regexp.MustCompile(`://[^/@]*:[^/]*@`).MatchString(text)
	}
	_, has := u.User.Password()
	return has
}

// checkWeb checks that a text is the base URL of an HTTP server. It is not repeated: it may hold
// what it must not.
func checkWeb(found *problems, flag, text string) {
	if text == "" {
		found.unless(false, "%s is missing", flag)
		return
	}
	u, err := url.Parse(text)
	web := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" &&
		u.RawQuery == "" && u.Fragment == ""
	found.unless(web, "%s must be http(s)://host[:port][/path]", flag)
	found.unless(!web || u.User == nil, "%s must have no user or password", flag)
}
