package pgserver

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// environment is a getenv over a map.
func environment(set map[string]string) func(string) string {
	return func(name string) string { return set[name] }
}

func namesOf(ways []way) string {
	var names []string
	for _, w := range ways {
		names = append(names, w.name)
	}
	return strings.Join(names, " ")
}

func TestChoice(t *testing.T) {
	for _, c := range []struct {
		name string
		env  map[string]string
		want string
	}{
		{"nothing set", nil, "url local docker download"},
		{"a server is named", map[string]string{"ORDEAL_DATABASE_URL": "x"}, "url"},
		{"forced", map[string]string{"ORDEAL_POSTGRES": "docker"}, "docker"},
		{"forced beside a server that is named", map[string]string{
			"ORDEAL_POSTGRES": "local", "ORDEAL_DATABASE_URL": "x"}, "local"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ways, err := choice(environment(c.env), allWays)
			if err != nil {
				t.Fatal(err)
			}
			if got := namesOf(ways); got != c.want {
				t.Fatalf("ways %q, want %q", got, c.want)
			}
		})
	}
}

func TestChoiceOfNoSuchWay(t *testing.T) {
	_, err := choice(environment(map[string]string{"ORDEAL_POSTGRES": "cloud"}), allWays)
	if err == nil || !strings.Contains(err.Error(), `"cloud", and can be url, local, docker`) {
		t.Fatal(err)
	}
}

func works(name string, called *[]string) way {
	return way{name: name, start: func(context.Context, Options) (*Server, error) {
		*called = append(*called, name)
		return &Server{way: name}, nil
	}}
}

func fails(name string, why error, called *[]string) way {
	return way{name: name, enable: "enable " + name,
		start: func(context.Context, Options) (*Server, error) {
			*called = append(*called, name)
			return nil, why
		}}
}

func TestFirstThatWorks(t *testing.T) {
	var called []string
	ways := []way{
		fails("a", errUnset, &called),
		works("b", &called),
		works("c", &called),
	}
	s, err := firstOf(context.Background(), ways, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(called, " "); s.Way() != "b" || got != "a b" {
		t.Fatalf("way %s after %s", s.Way(), got)
	}
}

func TestNoneWorks(t *testing.T) {
	var called []string
	broken := errors.New("broken\nin two lines")
	ways := []way{fails("a", errUnset, &called), fails("b", broken, &called)}
	_, err := firstOf(context.Background(), ways, Options{})
	const want = `no PostgreSQL server
  a: not configured
      (enable a)
  b: broken
      in two lines
      (enable b)`
	if err == nil || err.Error() != want {
		t.Fatalf("error %v, want %s", err, want)
	}
	if !errors.Is(err, errUnset) || !errors.Is(err, broken) {
		t.Fatal("the causes cannot be told")
	}
}

// Who gives up does not wait for the ways that are left.
func TestGivenUpBetweenWays(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var called []string
	ways := []way{
		{name: "a", start: func(ctx context.Context, _ Options) (*Server, error) {
			cancel()
			return nil, ctx.Err()
		}},
		works("b", &called),
	}
	_, err := firstOf(ctx, ways, Options{})
	if !errors.Is(err, context.Canceled) || len(called) != 0 {
		t.Fatalf("error %v, then %v", err, called)
	}
}
