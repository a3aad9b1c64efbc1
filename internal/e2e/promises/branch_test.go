package promises_test

import (
	"encoding/json"
	"strings"
	"testing"

	"fleet/api"
	"fleet/internal/bridge/bridgetest"
)

// TestWithoutATargetTheWorkspacesBranchIsMeant holds repo_checks and repo_failed_logs, through the
// real ship and its bridge, to what the checkout's files say.
func TestWithoutATargetTheWorkspacesBranchIsMeant(t *testing.T) {
	t.Parallel()
	gh := bridgetest.NewGitHub(t)
	f := newFleet(t, "GITHUB_TOKEN="+gh.Token())
	far := gh.Repo("acme/gears")
	pushed := map[string]string{}
	for _, branch := range []string{"main", "fix"} {
		pushed[branch] = far.Branch(branch)
		far.Run("CI", pushed[branch]).Job("test").Fails("go test", "--- FAIL: TestTeeth\nFAIL")
	}
	f.shell(t, f.origin, `git switch -q -c fix && echo two >README && git commit -q -a -m two && git switch -q main && echo three >README && git commit -q -a -m three`)
	remote := "https://github.example/acme/gears.git"
	f.shell(t, f.dir, "git config --global url."+f.origin+".insteadOf "+remote)
	f.must(t, "repo", "add", "gears", remote, "--forge", "github", "--api-url", gh.URL())
	f.serve(t)
	for _, name := range []string{"branch", "new", "rebase", "detached"} {
		f.must(t, "create", "gears/"+name, "--branch", "fix")
		f.must(t, "activate", "gears/"+name, "--", "sleep", "1000")
	}
	dir := f.root + "/gears/"
	f.shell(t, dir+"new", "git switch -q -c never-pushed")
	f.shell(t, dir+"rebase", "! git rebase origin/main 2>&1; test -d .git/rebase-merge")
	f.shell(t, dir+"detached", "git switch -q --detach")
	f.shell(t, dir+"branch", "git worktree add -q ../tree main")
	f.must(t, "activate", "gears/tree", "--", "sleep", "1000")

	for name, branch := range map[string]string{"branch": "fix", "rebase": "fix", "tree": "main"} {
		for _, tool := range []string{"repo_checks", "repo_failed_logs"} {
			var answer struct {
				Target api.Resolved    `json:"target"`
				Jobs   []api.FailedJob `json:"jobs"`
				Items  []api.Check     `json:"items"`
			}
			if err := json.Unmarshal([]byte(f.must(t, "call", "gears/"+name, tool)), &answer); err != nil {
				t.Fatalf("%s in %s: %v", tool, name, err)
			}
			if got := answer.Target; got.Branch != branch || got.SHA != pushed[branch] || len(answer.Items)+len(answer.Jobs) != 1 {
				t.Errorf("%s in %s is of %+v with %d items, want %s as it was pushed, with the one job", tool, name, got, len(answer.Items)+len(answer.Jobs), branch)
			}
		}
	}
	head := strings.TrimSpace(f.shell(t, dir+"detached", "git rev-parse HEAD"))
	for _, tool := range []string{"repo_checks", "repo_failed_logs"} {
		f.refused(t, []string{"call", "gears/new", tool}, "never-pushed", "push")
		f.refused(t, []string{"call", "gears/detached", tool}, "detached", head, "give pr or ref")
	}
}
