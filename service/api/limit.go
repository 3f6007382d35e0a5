package api

import (
	"container/list"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/time/rate"
)

// Rate is a token bucket: PerSecond requests a second in the long run, Burst of them at once. It
// bounds nothing where PerSecond is 0.
type Rate struct {
	PerSecond, Burst int
}

// maxBuckets bounds the buckets that are kept at once. One that was not used for longest is given
// up for a new one, and is full when it comes back.
const maxBuckets = 4096

// buckets holds a bucket per key, for the keys used last. Time is the clock of the process.
type buckets[K comparable] struct {
	rate  Rate
	clock clockwork.Clock

	mu sync.Mutex
	of map[K]*list.Element
	// used holds the buckets, that used last in front.
	used *list.List
}

// bucket is the bucket of a key.
type bucket[K comparable] struct {
	key   K
	level *rate.Limiter
}

func newBuckets[K comparable](r Rate, clock clockwork.Clock) *buckets[K] {
	return &buckets[K]{rate: r, clock: clock, of: map[K]*list.Element{}, used: list.New()}
}

// take takes one from the bucket of a key. Wait is 0 where there was one, else how long it takes
// until there is, and nothing was taken.
func (b *buckets[K]) take(key K) (wait time.Duration) {
	if b.rate.PerSecond == 0 {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	level := b.bucket(key)
	if level.AllowN(now, 1) {
		return 0
	}
	return b.missing(level, now)
}

// wait returns how long it takes until there is one in the bucket of a key, and takes nothing.
func (b *buckets[K]) wait(key K) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, ok := b.of[key]
	if !ok {
		return 0
	}
	return b.missing(e.Value.(bucket[K]).level, b.clock.Now())
}

// missing returns how long it takes until a bucket has one; 0 where it has.
func (b *buckets[K]) missing(level *rate.Limiter, now time.Time) time.Duration {
	next := level.ReserveN(now, 1)
	defer next.CancelAt(now)
	return next.DelayFrom(now)
}

// bucket returns the bucket of a key, and makes it the one used last.
func (b *buckets[K]) bucket(key K) *rate.Limiter {
	if e, ok := b.of[key]; ok {
		b.used.MoveToFront(e)
		return e.Value.(bucket[K]).level
	}
	if b.used.Len() == maxBuckets {
		oldest := b.used.Remove(b.used.Back()).(bucket[K])
		delete(b.of, oldest.key)
	}
	level := rate.NewLimiter(rate.Limit(b.rate.PerSecond), b.rate.Burst)
	b.of[key] = b.used.PushFront(bucket[K]{key, level})
	return level
}

// subnet is how much of an IPv6 address counts, in bits: a network gives each of its hosts as many
// addresses as the host likes.
const subnet = 64

// network returns where a request comes from: its IPv4 address, or the network of its IPv6
// address. Behind a proxy that is the proxy.
func network(remote string) string {
	from, err := netip.ParseAddrPort(remote)
	if err != nil {
		return ""
	}
	address := from.Addr().Unmap().WithZone("")
	if address.Is4() {
		return address.String()
	}
	return netip.PrefixFrom(address, subnet).Masked().String()
}

// tooMany refuses a request that comes too early, by how much.
func tooMany(wait time.Duration) *refusal {
	f := refuse(codeTooMany, "Wait for the time in Retry-After.")
	f.retryAfter = strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10)
	return f
}
