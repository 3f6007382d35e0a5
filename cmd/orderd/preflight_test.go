package main

import (
	"strings"
	"testing"

	"ordeal/service/store"
)

// TestJudge: each thing that is wrong with a server is told, all of them at once.
func TestJudge(t *testing.T) {
	sound := store.Server{Version: 150004, Fsync: "on", SynchronousCommit: "on", Connections: 18}
	for _, row := range []struct {
		name   string
		change func(*store.Server)
		dev    bool
		says   []string
	}{
		{"sound", func(*store.Server) {}, false, nil},
		{"remote_apply", func(s *store.Server) { s.SynchronousCommit = "remote_apply" }, false, nil},
		{"old", func(s *store.Server) { s.Version = 140011 }, true, []string{"PostgreSQL 15"}},
		{"forgetful", func(s *store.Server) { s.Fsync = "off" }, false, []string{"fsync", "--dev"}},
		{"hasty", func(s *store.Server) { s.SynchronousCommit = "off" }, false,
			[]string{"synchronous_commit", "--dev"}},
		{"for play", func(s *store.Server) { s.Fsync, s.SynchronousCommit = "off", "off" }, true,
			nil},
		{"small", func(s *store.Server) { s.Connections = 17 }, true,
			[]string{"18 connections", "17", "--pool-size"}},
		{"all wrong", func(s *store.Server) { *s = store.Server{Fsync: "off", SynchronousCommit: "off"} },
			false, []string{"PostgreSQL 15", "fsync", "synchronous_commit", "--pool-size"}},
	} {
		server := sound
		row.change(&server)
		err := (&serveCmd{Dev: row.dev}).judge(server, 18)
		if (err != nil) != (row.says != nil) {
			t.Errorf("%s: %v", row.name, err)
		}
		for _, words := range row.says {
			if err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%s: no word of %s in: %v", row.name, words, err)
			}
		}
	}
}

// TestHasPassword: a password is found in every notation, also of a text that is no URL.
func TestHasPassword(t *testing.T) {
	for text, want := range map[string]bool{
		"postgres://u:p@h/d":                  true,
		"postgres://u:p%zz@h/d":               true,
		"postgres://u:p@h:port/d":             true,
		"postgresql://h/d?password=p":         true,
		"postgres://u@h/d?user=x&PASSWORD=p":  true,
		"host=h password=p":                   true,
		"password = 'p q' host=h":             true,
		"host=h sslpassword=p":                true,
		"postgres://u@h/d":                    false,
		"postgres://u@h:5432/d?passfile=x":    false,
		"host=h user=u dbname=password_store": false,
		"":                                    false,
	} {
		if got := hasPassword(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
