package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"ordeal/sim"
)

// progress shows how far a sweep is: a bar on a terminal, a plain line every ten seconds
// otherwise.
type progress struct {
	mu      sync.Mutex
	out     *os.File
	started time.Time
	told    time.Time
	last    sim.Progress

	bars *mpb.Progress
	bar  *mpb.Bar
}

// tellEvery separates the plain lines.
const tellEvery = 10 * time.Second

func newProgress(out *os.File) *progress {
	now := time.Now()
	p := &progress{out: out, started: now, told: now}
	if term.IsTerminal(int(out.Fd())) && os.Getenv("TERM") != "dumb" {
		p.bars = mpb.New(mpb.WithOutput(out), mpb.WithWidth(60))
	}
	return p
}

// tell shows progress.
func (p *progress) tell(now sim.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = now
	if p.bars != nil {
		p.draw(now)
		return
	}
	if time.Since(p.told) >= tellEvery {
		p.told = time.Now()
		p.line()
	}
}

func (p *progress) draw(now sim.Progress) {
	if p.bar == nil {
		p.bar = p.bars.AddBar(int64(now.Total),
			mpb.PrependDecorators(decor.CountersNoUnit("%d/%d runs")),
			mpb.AppendDecorators(
				decor.Any(func(decor.Statistics) string { return p.failures() }),
				decor.Name(" "),
				decor.AverageETA(decor.ET_STYLE_GO)))
	}
	p.bar.SetCurrent(int64(now.Done))
}

// failures is read by the bar's own goroutine.
func (p *progress) failures() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("%d failed", p.last.Failed)
}

func (p *progress) line() {
	elapsed := time.Since(p.started)
	fmt.Fprintf(p.out, "%d/%d runs, %d failed, %.1f runs/s, %s\n", p.last.Done, p.last.Total,
		p.last.Failed, float64(p.last.Done)/elapsed.Seconds(), elapsed.Round(time.Second))
}

// end finishes the display.
func (p *progress) end() {
	if p.bars != nil {
		if p.bar != nil {
			p.bar.Abort(false)
		}
		p.bars.Wait()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line()
}
