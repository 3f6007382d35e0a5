package api

import (
	"fmt"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
)

// TestBuckets: a burst, then one for each part of a second, and never more than the burst again.
func TestBuckets(t *testing.T) {
	clock := clockwork.NewFakeClock()
	b := newBuckets[string](Rate{PerSecond: 4, Burst: 2}, clock)
	expect := func(key string, want time.Duration) {
		t.Helper()
		if ahead := b.wait(key); (ahead > 0) != (want > 0) {
			t.Errorf("%s would wait %s", key, ahead)
		}
		if got := b.take(key); got != want {
			t.Errorf("%s waits %s, want %s", key, got, want)
		}
	}
	expect("a", 0)
	expect("a", 0)
	expect("a", 250*time.Millisecond)
	expect("a", 250*time.Millisecond)
	expect("b", 0)
	clock.Advance(100 * time.Millisecond)
	expect("a", 150*time.Millisecond)
	clock.Advance(150 * time.Millisecond)
	expect("a", 0)
	expect("a", 250*time.Millisecond)
	clock.Advance(time.Hour)
	expect("a", 0)
	expect("a", 0)
	expect("a", 250*time.Millisecond)
}

// TestNoRate: without a rate nothing is bounded, nor remembered.
func TestNoRate(t *testing.T) {
	b := newBuckets[string](Rate{}, clockwork.NewFakeClock())
	for range 10_000 {
		if b.take("a") != 0 || b.wait("a") != 0 {
			t.Fatal("has to wait")
		}
	}
	if len(b.of) > 0 {
		t.Error("keeps a bucket")
	}
}

// TestBucketsAreBounded: the bucket given up is the one not used for longest.
func TestBucketsAreBounded(t *testing.T) {
	b := newBuckets[string](Rate{PerSecond: 1, Burst: 1}, clockwork.NewFakeClock())
	for n := range maxBuckets {
		b.take(fmt.Sprint(n))
	}
	b.take("0")
	b.take("new")
	if len(b.of) != maxBuckets || b.used.Len() != maxBuckets {
		t.Errorf("%d buckets, %d used", len(b.of), b.used.Len())
	}
	if b.wait("0") == 0 || b.wait("2") == 0 || b.wait("new") == 0 {
		t.Error("gave up another bucket")
	}
	if b.wait("1") != 0 {
		t.Error("kept the one not used for longest")
	}
}

func TestNetwork(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:1234":               "192.0.2.1",
		"192.0.2.1:4321":               "192.0.2.1",
		"[::ffff:192.0.2.1]:1":         "192.0.2.1",
		"[2001:db8:1:2:3:4:5:6]:1":     "2001:db8:1:2::/64",
		"[2001:db8:1:2::1]:1":          "2001:db8:1:2::/64",
		"[fe80::1%eth0]:1":             "fe80::/64",
		"":                             "",
		"pipe":                         "",
		"192.0.2.1":                    "",
		"[2001:db8:1:2:3:4:5:6]:70000": "",
	} {
		if got := network(remote); got != want {
			t.Errorf("%q: %q, want %q", remote, got, want)
		}
	}
}

func TestTooMany(t *testing.T) {
	for wait, want := range map[time.Duration]string{
		1: "1", time.Second: "1", time.Second + 1: "2", time.Minute: "60",
	} {
		if got := tooMany(wait).retryAfter; got != want {
			t.Errorf("%s: %s, want %s", wait, got, want)
		}
	}
}
