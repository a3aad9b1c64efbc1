//go:build e2e

package longlife

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fleet/internal/bridge/bridgetest"
	"fleet/internal/e2e/shipyard"
)

const (
	remote     = "https://github.example/acme/widgets.git"
	moreIssues = 30 // each can be asked for once, before the answer is remembered
)

// slowForge is a GitHub that takes its time.
type slowForge struct {
	issues, pulls atomic.Int64 // by how long an answer about them is late
	asked         atomic.Int64

	mu    sync.Mutex
	freed chan struct{} // closed when answers about issues are not to be late any longer
}

// await waits until n answers are late that were not when was counted.
func (s *slowForge) await(t *testing.T, was, n int64) {
	t.Helper()
	if !shipyard.Poll(func() bool { return s.asked.Load() >= was+n }) {
		t.Fatal("the forge was not asked")
	}
}

// free gives the answers about issues that are late. Those to come are late again.
func (s *slowForge) free() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.freed)
	s.freed = make(chan struct{})
}

func (s *slowForge) freeing() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.freed
}

// withForge is a serving fleet whose repository "r" is on a forge.
func withForge(t *testing.T, workspaces int) (*fleet, *slowForge) {
	t.Helper()
	gh, err := bridgetest.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gh.Close)
	widgets := gh.Repo("acme/widgets")
	widgets.Issue("the bolts are loose")
	for range moreIssues {
		widgets.Issue("and more of them")
	}
	target, err := url.Parse(gh.URL())
	if err != nil {
		t.Fatal(err)
	}
	forge, on := &slowForge{freed: make(chan struct{})}, httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		late, freed := time.Duration(0), (<-chan struct{})(nil)
		switch {
		case strings.Contains(r.URL.Path, "/issues"):
			freed, late = forge.freeing(), time.Duration(forge.issues.Load())
		case strings.Contains(r.URL.Path, "/pulls"):
			late = time.Duration(forge.pulls.Load())
		}
		if late > 0 {
			forge.asked.Add(1)
		}
		select {
		case <-time.After(late):
			on.ServeHTTP(w, r)
		case <-freed:
			on.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	f := newFleet(t, "GITHUB_TOKEN="+gh.Token())
	config := "[url \"" + filepath.Join(f.dir, "src", "r") + "\"]\n\tinsteadOf = " + remote + "\n"
	if err := os.WriteFile(filepath.Join(f.dir, ".gitconfig"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	f.command(t, "repo", "add", "r", remote, "--forge", "github", "--api-url", server.URL)
	f.start(t, shipyard.Built("old", "ship"))
	f.populate(t, workspaces)
	return f, forge
}

// TestASlowForgeSlowsNobodyElse compares the calls of three workspaces with and without calls of two of
// them that wait for the forge.
func TestASlowForgeSlowsNobodyElse(t *testing.T) {
	f, forge := withForge(t, 3)
	harnesses := f.harnesses(t, 3)
	harnesses[0].good(t, "repo_info", "{}")
	issue := 0
	waiting := func() (stop func()) {
		was := forge.asked.Load()
		forge.issues.Store(int64(time.Hour))
		var open []*question
		for _, h := range harnesses[:2] {
			issue++
			open = append(open, h.call("repo_issue_view", fmt.Sprintf(`{"number":%d}`, issue)))
		}
		forge.await(t, was, 2)
		return func() {
			forge.issues.Store(0)
			forge.free()
			for i, q := range open {
				if a := harnesses[i].wait(t, q); a.failed || a.refused {
					t.Errorf("the forge's late answer came as %s", a.raw)
				}
			}
		}
	}
	for i, h := range harnesses {
		p50, p99 := ratios(t, h, 5, 100, waiting)
		t.Logf("workspace %d beside a slow forge: p50 is %.2f times and p99 %.2f times what it is alone", i, p50, p99)
		if p50 > mostSlower {
			t.Errorf("workspace %d is slowed down by the forge: p50 by %.2f", i, p50)
		}
	}
}

// TestASlowForgeHoldsUpNobodyElse has one answer of the forge come after 25 seconds, and another
// after more than the bridge waits for.
func TestASlowForgeHoldsUpNobodyElse(t *testing.T) {
	f, forge := withForge(t, 3)
	harnesses := f.harnesses(t, 3)
	harnesses[0].good(t, "repo_info", "{}")
	forge.issues.Store(int64(25 * time.Second))
	forge.pulls.Store(int64(50 * time.Second))
	late, never := harnesses[0].call("repo_issue_list", `{"state":"all"}`), harnesses[1].call("repo_pr_list", "{}")
	forge.await(t, 0, 2)
	for _, h := range harnesses {
		h.good(t, "repo_info", "{}")
		h.good(t, "agent_status_get", "{}")
	}
	for name, q := range map[string]*question{"late": late, "never": never} {
		if len(q.answer) > 0 {
			t.Errorf("%s was answered before the others", name)
		}
	}
	if a := harnesses[0].wait(t, late); a.failed || a.refused || !strings.Contains(a.text, "the bolts are loose") {
		t.Errorf("the forge's late answer came as %s", a.raw)
	} else {
		t.Logf("the answer after 25 s came after %v", a.took)
	}
	if a := harnesses[1].wait(t, never); !a.refused || !strings.HasPrefix(a.text, "unavailable:") {
		t.Errorf("after %v a forge that takes 50 s led to %s, want a result that says unavailable", a.took, a.raw)
	} else {
		t.Logf("after %v: %s", a.took, a.text)
	}
}

// TestAnUpgradeUnderASlowForgeIsAnsweredInWords ends the ship while it waits for the forge: for as
// long as it may, and not until the forge answers. Reads have two seconds.
func TestAnUpgradeUnderASlowForgeIsAnsweredInWords(t *testing.T) {
	f, forge := withForge(t, 2)
	patient, hurried := f.harness(t, workspace(0)), f.harness(t, workspace(1))
	patient.good(t, "repo_info", "{}")
	forge.issues.Store(int64(25 * time.Second))
	forge.pulls.Store(int64(25 * time.Second))
	soon, late := patient.call("repo_issue_list", `{"state":"all"}`), hurried.call("repo_pr_list", "{}")
	forge.await(t, 0, 2)
	f.ship.Signal(t, syscall.SIGTERM)
	forge.issues.Store(0)
	forge.free()
	f.ship.Stop(t)
	forge.pulls.Store(0)
	f.start(t, shipyard.Built("new", "ship"))
	if a := patient.wait(t, soon); a.failed || a.refused || !strings.Contains(a.text, "the bolts are loose") {
		t.Errorf("an answer that came while the ship was ending reached the agent as %s", a.raw)
	}
	if a := hurried.wait(t, late); a.failed || !strings.HasPrefix(a.text, "unavailable:") {
		t.Errorf("a read that the ship could not wait for was answered with %s, want a result that says unavailable", a.raw)
	}
	hurried.good(t, "repo_pr_list", "{}")
}
