//go:build e2e

package longlife

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fleet/internal/bridge/bridgetest"
	"fleet/internal/e2e/shipyard"
)

const remote = "https://github.example/acme/widgets.git"

// slowForge is a GitHub that takes its time.
type slowForge struct {
	issues, pulls atomic.Int64 // by how long an answer about them is late
	asked         atomic.Int64
}

// withForge is a serving fleet whose repository "r" is on a forge.
func withForge(t *testing.T, workspaces int) (*fleet, *slowForge) {
	t.Helper()
	gh, err := bridgetest.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gh.Close)
	gh.Repo("acme/widgets").Issue("the bolts are loose")
	target, err := url.Parse(gh.URL())
	if err != nil {
		t.Fatal(err)
	}
	forge, on := &slowForge{}, httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		late := time.Duration(0)
		switch {
		case strings.Contains(r.URL.Path, "/issues"):
			late = time.Duration(forge.issues.Load())
		case strings.Contains(r.URL.Path, "/pulls"):
			late = time.Duration(forge.pulls.Load())
		}
		if late > 0 {
			forge.asked.Add(1)
		}
		select {
		case <-time.After(late):
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

// TestASlowForgeHoldsUpNobodyElse has one answer of the forge come after 25 seconds, and another
// after more than the bridge waits for.
func TestASlowForgeHoldsUpNobodyElse(t *testing.T) {
	f, forge := withForge(t, 3)
	var harnesses []*harness
	for i := range 3 {
		h := f.harness(t, workspace(i))
		h.register(t)
		harnesses = append(harnesses, h)
	}
	harnesses[0].good(t, "repo_info", "{}")
	alone := harnesses[2].pace(t, 500)
	forge.issues.Store(int64(25 * time.Second))
	forge.pulls.Store(int64(50 * time.Second))
	late, never := harnesses[0].call("repo_issue_list", `{"state":"all"}`), harnesses[1].call("repo_pr_list", "{}")
	if !shipyard.Poll(func() bool { return forge.asked.Load() >= 2 }) {
		t.Fatal("the forge was not asked")
	}
	for i, h := range harnesses {
		beside := h.pace(t, 500)
		t.Logf("workspace %d beside a slow forge: p50 %v, p99 %v; before it was %v, %v", i, beside.p50, beside.p99, alone.p50, alone.p99)
		if beside.p50 > 3*alone.p50 {
			t.Errorf("workspace %d is slowed down by the forge: p50 %v, before it was %v", i, beside.p50, alone.p50)
		}
		h.good(t, "repo_info", "{}")
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
	forge.issues.Store(int64(time.Second))
	forge.pulls.Store(int64(25 * time.Second))
	soon, late := patient.call("repo_issue_list", `{"state":"all"}`), hurried.call("repo_pr_list", "{}")
	if !shipyard.Poll(func() bool { return forge.asked.Load() >= 2 }) {
		t.Fatal("the forge was not asked")
	}
	f.ship.Stop(t)
	forge.issues.Store(0)
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
