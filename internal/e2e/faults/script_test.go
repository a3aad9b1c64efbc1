//go:build e2e && linux

package faults

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// harness is what works in a workspace: one agent-mcp after another, since they are killed.
type harness struct {
	world     *world
	number    int
	workspace int
	rng       *rand.Rand
	script    []step

	mu     sync.Mutex
	run    *run
	runs   []*run
	serial int
	unsure []string // words of comments of which the agent was not told that they stand
}

// start gives the harness a new adapter, and registers its agent.
func (h *harness) start() error {
	h.mu.Lock()
	modern, scrubbed := h.rng.IntN(2) == 0, h.rng.IntN(4) == 0
	h.mu.Unlock()
	r, err := h.world.startRun(h.workspace, scrubbed, modern)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.run = r
	h.runs = append(h.runs, r)
	h.mu.Unlock()
	return nil
}

func (h *harness) current() *run {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.run
}

// work goes through the script. An adapter that dies is replaced.
func (h *harness) work() {
	var r *run
	var cancelling sync.WaitGroup
	defer cancelling.Wait()
	for _, s := range h.script {
		time.Sleep(s.pause) // the pauses are the script's own pace; nothing is waited for
		if now := h.current(); now.isKilled() || now != r {
			if now.isKilled() {
				if err := h.start(); err != nil {
					h.world.problem("start agent-mcp anew: %v", err)
					return
				}
				now = h.current()
			}
			r = now
			if !r.open() {
				continue // it was killed meanwhile
			}
			h.wait(r, h.do(r, "agent_init"))
		}
		a := h.do(r, s.kind)
		if s.cancel > 0 {
			asked := r // which may be replaced before its time to cancel comes
			cancelling.Go(func() { time.Sleep(s.cancel); asked.cancel(a) })
		}
		if s.wait {
			h.wait(r, a)
		}
	}
}

// wait looks, of a comment, whether the agent knows that it stands.
func (h *harness) wait(r *run, a *ask) {
	if r.wait(a) && a.tool == "repo_issue_comment" && a.outcome == unclear {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.unsure = append(h.unsure, a.value)
	}
}

// do asks for one thing. What it writes, nobody else ever wrote.
func (h *harness) do(r *run, kind string) *ask {
	h.mu.Lock()
	h.serial++
	value := fmt.Sprintf("%s of harness %d, number %d", kind, h.number, h.serial)
	if kind == "repeat" {
		kind = "repo_issue_comment"
		if n := len(h.unsure); n > 0 {
			value = h.unsure[n-1]
		}
	}
	h.mu.Unlock()
	arguments := "{}"
	switch kind {
	case "agent_init":
		arguments = fmt.Sprintf(`{"model":%q,"provider":"p","harness":"h"}`, value)
	case "agent_status":
		arguments = fmt.Sprintf(`{"state":"building","description":%q}`, value)
	case "repo_issue_comment":
		arguments = fmt.Sprintf(`{"number":%d,"body":%q}`, h.world.issue.Number(), value)
	case "repo_issue_view":
		arguments = fmt.Sprintf(`{"number":%d}`, h.world.issue.Number())
	case "tools/list":
		arguments = ""
	}
	return r.ask(kind, arguments, value)
}
