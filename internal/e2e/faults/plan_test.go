//go:build e2e && linux

package faults

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// plan is all that a seed chooses.
type plan struct {
	seed       uint64
	harnesses  []int // the workspace of each, which has one or two
	workspaces int
	disk       bool // atlas and bridge lie on small disks of their own
	faults     []fault
	scripts    [][]step // of each harness
}

// fault is one thing that goes wrong, and is healed after a while.
type fault struct {
	kind string
	at   time.Duration // from the beginning
	// In place of at: once so many bytes went over the link, answers or questions.
	link    string
	answers bool
	bytes   int
	hold    time.Duration
	target  int // which harness or workspace, or which way to go wrong
}

// The kinds of faults, each as often as it stands here.
func kinds() []string {
	return []string{
		"kill ship", "kill ship", "kill ship", "end ship", "stop ship", "stop ship",
		"kill bridge", "kill bridge", "kill bridge", "end bridge", "stop bridge",
		"kill adapter", "kill adapter", "stop adapter",
		"cut bridge", "cut bridge", "refuse bridge", "hold bridge",
		"cut forge", "cut forge", "refuse forge", "hold forge",
		"wrong forge", "wrong forge", "wrong forge",
		"rotate", "rotate", "deactivate", "fill atlas", "fill bridge",
	}
}

// span is how long faults begin. The harnesses' scripts last about as long.
const span = 1200 * time.Millisecond

func newPlan(seed uint64) *plan {
	rng := rand.New(rand.NewPCG(seed, 0x6661756c7473))
	p := &plan{seed: seed, workspaces: 2 + rng.IntN(2), disk: rng.IntN(4) == 0}
	for w := range p.workspaces {
		for range 1 + rng.IntN(2) {
			p.harnesses = append(p.harnesses, w)
		}
	}
	for range 3 + rng.IntN(5) {
		p.faults = append(p.faults, p.newFault(rng))
	}
	for range p.harnesses {
		p.scripts = append(p.scripts, newScript(rng))
	}
	return p
}

func (p *plan) newFault(rng *rand.Rand) fault {
	all := kinds()
	f := fault{kind: all[rng.IntN(len(all))], at: time.Duration(rng.Int64N(int64(span))), hold: time.Duration(rng.IntN(300)) * time.Millisecond, target: rng.IntN(1000)}
	if strings.HasPrefix(f.kind, "fill ") && !p.disk {
		f.kind = "kill ship"
	}
	if f.kind != "wrong forge" && f.kind != "deactivate" && f.kind != "rotate" && rng.IntN(2) == 0 {
		f.link = []string{"bridge", "forge"}[rng.IntN(2)]
		f.answers, f.bytes = rng.IntN(2) == 0, 1+rng.IntN(12_000)
	}
	return f
}

// String is the whole schedule, for people.
func (p *plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d workspaces, harnesses in %v, small disks: %t\n", p.seed, p.workspaces, p.harnesses, p.disk)
	for _, f := range p.faults {
		fmt.Fprintf(&b, "  %s\n", f)
	}
	for i, script := range p.scripts {
		fmt.Fprintf(&b, "  harness %d: %s\n", i, script)
	}
	return b.String()
}

// String says what happens, when and for how long.
func (f fault) String() string {
	when := fmt.Sprintf("at %v", f.at)
	if f.link != "" {
		when = fmt.Sprintf("after %d bytes of %s on the way to the %s", f.bytes, map[bool]string{true: "answers", false: "questions"}[f.answers], f.link)
	}
	return fmt.Sprintf("%s %s, for %v (%d)", f.kind, when, f.hold, f.target)
}

// step is one thing that a harness does.
type step struct {
	kind   string
	pause  time.Duration // before it
	wait   bool          // for the answer, before it goes on
	cancel time.Duration // after it; 0: never
}

// String says it in a few letters: what it does, whether it waits, when it cancels.
func (s step) String() string {
	text := s.kind
	if s.cancel > 0 {
		text += fmt.Sprintf(" cancelled after %v", s.cancel)
	}
	if s.wait {
		text += " awaited"
	}
	return fmt.Sprintf("%s +%v", text, s.pause)
}

func newScript(rng *rand.Rand) []step {
	all := []string{
		"agent_init", "agent_status", "agent_status", "agent_status", "agent_status",
		"agent_status_get", "agent_status_get", "agent_status_get",
		"repo_issue_comment", "repo_issue_comment", "repo_issue_comment", "repo_issue_comment", "repeat",
		"repo_issue_view", "repo_issue_list", "repo_info", "tools/list",
	}
	script := make([]step, 16+rng.IntN(12))
	for i := range script {
		s := step{kind: all[rng.IntN(len(all))], pause: time.Duration(rng.IntN(110)) * time.Millisecond, wait: rng.IntN(3) > 0}
		if rng.IntN(3) == 0 {
			s.pause = 0
		}
		if rng.IntN(8) == 0 {
			s.cancel, s.wait = 1+time.Duration(rng.IntN(40_000))*time.Microsecond, false
		}
		script[i] = s
	}
	return script
}
