package pgserver

import (
	"strings"
	"testing"
)

func TestServerSettings(t *testing.T) {
	o := Options{Settings: map[string]string{"AUTOVACUUM": "on", "work_mem": "1MB"}}
	settings, err := serverSettings(o)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"autovacuum": "on", "work_mem": "1MB", "fsync": "off", "timezone": "UTC",
	} {
		if settings[name] != want {
			t.Errorf("%s is %q, want %q", name, settings[name], want)
		}
	}
	if throwAway["autovacuum"] != "off" {
		t.Error("one server's settings changed those of the next")
	}
}

func TestDurableSettings(t *testing.T) {
	settings, err := serverSettings(Options{Durable: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		if settings[name] != "on" {
			t.Errorf("%s is %q", name, settings[name])
		}
	}
}

func TestReservedSettings(t *testing.T) {
	for _, name := range []string{"port", "Listen_Addresses", "data_directory"} {
		_, err := serverSettings(Options{Settings: map[string]string{name: "1"}})
		if err == nil || !strings.Contains(err.Error(), strings.ToLower(name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConfigFile(t *testing.T) {
	settings := map[string]string{"b": `it's a \`, "a": "1"}
	const want = `a = '1'
b = 'it''s a \\'
dynamic_shared_memory_type = 'mmap'
listen_addresses = '127.0.0.1'
log_timezone = 'UTC'
port = '4711'
unix_socket_directories = '"/run/x ""y"""'
`
	if got := configFile(settings, `/run/x "y"`, 4711); got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
	if got := configFile(settings, "/run/x", 0); !strings.Contains(got, "listen_addresses = ''\n") {
		t.Fatalf("without a TCP port:\n%s", got)
	}
}
