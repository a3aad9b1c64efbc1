//go:build e2e && linux

package faults

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"
)

// seedRun is one seed on its way.
type seedRun struct {
	plan      *plan
	world     *world
	harnesses []*harness
	operating []sync.Mutex // one for each workspace
	tally     *tally

	mu      sync.Mutex
	changes []change
	noted   map[string]int // events that a command's success claims, by type and workspace
}

// tally counts over all seeds, so that a run in which nothing happened is seen.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (t *tally) add(what string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[what] += n
}

func (s *seedRun) count(what string) { s.tally.add(what, 1) }

func (s *seedRun) note(event string, workspace int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noted[event+" "+s.world.names[workspace]]++
}

// TestFaultSeeds: whatever breaks on the way, every request is answered once, what was
// acknowledged stays, a comment is posted once, nothing is left over and no secret is told.
func TestFaultSeeds(t *testing.T) {
	seeds, side := chosen(t)
	total := &tally{counts: map[string]int{}}
	todo := make(chan uint64)
	var work sync.WaitGroup
	for range side {
		work.Go(func() {
			for seed := range todo {
				runSeed(t, seed, total)
			}
		})
	}
	for _, seed := range seeds {
		todo <- seed
	}
	close(todo)
	work.Wait()
	for _, what := range slices.Sorted(maps.Keys(total.counts)) {
		t.Logf("%7d %s", total.counts[what], what)
	}
	if len(seeds) >= 50 {
		total.checkVariety(t)
	}
}

// checkVariety fails a run that put nothing to the test.
func (t *tally) checkVariety(tb testing.TB) {
	wanted := slices.Compact(slices.Sorted(slices.Values(kinds())))
	for _, what := range []string{"ok", "failed", "unclear", "cancelled", "lost"} {
		wanted = append(wanted, "comments: "+what, "statuses: "+what)
	}
	for _, what := range wanted {
		if t.counts[what] == 0 {
			tb.Errorf("%q never happened in all these seeds: they prove too little", what)
		}
	}
}

// runSeed runs one seed and reports. The folder of one that failed stays.
func runSeed(t *testing.T, seed uint64, total *tally) {
	s := &seedRun{plan: newPlan(seed), world: newWorld(), tally: total, noted: map[string]int{}}
	begun := time.Now()
	if err := s.world.build(s.plan); err != nil {
		s.world.problem("build the world: %v", err)
	} else {
		s.operating = make([]sync.Mutex, s.plan.workspaces)
		s.play()
	}
	s.finish()
	s.tally.add("milliseconds", int(time.Since(begun)/time.Millisecond))
	if len(s.world.problems) == 0 {
		if err := os.RemoveAll(s.world.dir); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		t.Logf("seed %d held, after %v", seed, time.Since(begun).Round(time.Millisecond))
		return
	}
	text := fmt.Sprintf("seed %d failed after %v; its files are in %s\n", seed, time.Since(begun).Round(time.Millisecond), s.world.dir)
	for _, p := range s.world.problems {
		text += "  - " + p + "\n"
	}
	t.Errorf("%s%sagain: go test -tags e2e ./internal/e2e/faults -run TestFaultSeeds -seed %d", text, s.plan, seed)
	s.world.keepWords(t)
}

// play lets harnesses and faults go at once, heals what is broken, and looks whether all is well.
func (s *seedRun) play() {
	for i, workspace := range s.plan.harnesses {
		h := &harness{world: s.world, number: i, workspace: workspace, rng: rand.New(rand.NewPCG(s.plan.seed, uint64(i))), script: s.plan.scripts[i]}
		if err := h.start(); err != nil {
			s.world.problem("start agent-mcp: %v", err)
			return
		}
		s.harnesses = append(s.harnesses, h)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var working, breaking sync.WaitGroup
	for _, f := range s.plan.faults {
		breaking.Go(func() { s.happens(ctx, f) })
	}
	for _, h := range s.harnesses {
		working.Go(h.work)
	}
	working.Wait()
	stop()
	breaking.Wait()
	s.drain()
	s.checkAnswers()
	s.checkRegisters()
	s.checkComments()
}

// drain waits until everything was answered, and sees each harness work as if nothing had been.
func (s *seedRun) drain() {
	for _, h := range s.harnesses {
		for _, r := range h.runs {
			for _, a := range r.order {
				if a.cancelled.IsZero() && !r.isKilled() && !r.wait(a) && !r.isKilled() {
					s.world.problem("request %s (%s, %q) was not answered within %v", a.id, a.tool, a.value, time.Since(a.sent))
				}
			}
		}
	}
	for _, h := range s.harnesses {
		r := h.current()
		if r.isKilled() {
			if err := h.start(); err != nil {
				s.world.problem("start agent-mcp anew: %v", err)
				return
			}
			if r = h.current(); !r.open() {
				s.world.problem("harness %d gets no conversation though all is healed", h.number)
				return
			}
		}
		for _, kind := range []string{"agent_status_get", "agent_init", "agent_status", "agent_status_get", "repo_issue_comment", "repo_issue_view"} {
			if a := h.do(r, kind); !r.wait(a) || a.outcome != ok {
				s.world.problem("harness %d: %s though all is healed: answered %q", h.number, kind, a.text)
			}
		}
	}
}
