package bridgetest_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"fleet/internal/bridge/bridgetest"
)

// ghClient runs GitHub's own program against the stand-in. It speaks plain HTTP to the host
// github.localhost alone, which the stand-in answers for as its proxy.
type ghClient struct {
	t   *testing.T
	gh  *bridgetest.GitHub
	dir string
}

func newGHClient(t *testing.T) (*ghClient, *bridgetest.Repo) {
	t.Helper()
	if _, err := exec.LookPath("gh"); err != nil {
		t.Skip("the gh program is not installed: apt-get install gh")
	}
	g := bridgetest.NewGitHub(t)
	return &ghClient{t, g, t.TempDir()}, world(g)
}

func (c *ghClient) run(args ...string) (string, error) {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), "gh", args...)
	cmd.Dir = c.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "GH_CONFIG_DIR=" + c.dir, "HTTP_PROXY=" + c.gh.URL(), "NO_COLOR=1",
		"GH_HOST=github.localhost", "GH_TOKEN=" + c.gh.Token(), "GH_PROMPT_DISABLED=1", "GH_NO_UPDATE_NOTIFIER=1",
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return string(out) + stderr.String(), err
	}
	return string(out), nil
}

// api is gh api, whose answer must be there.
func (c *ghClient) api(args ...string) string {
	c.t.Helper()
	out, err := c.run(append([]string{"api"}, args...)...)
	if err != nil {
		c.t.Fatalf("gh api %q: %v: %s", args, err, out)
	}
	return out
}

func TestTheGHProgramTakesTheStandInForGitHub(t *testing.T) {
	t.Parallel()
	c, r := newGHClient(t)
	for range 205 {
		r.Issue("one of many")
	}
	for name, want := range map[string]struct {
		args []string
		out  string
	}{
		"an issue":     {[]string{"repos/acme/widgets/issues/1", "--jq", ".title"}, "Crash\n"},
		"pull request": {[]string{"repos/acme/widgets/pulls/2", "--jq", ".head.ref"}, "fix\n"},
		"reviews":      {[]string{"repos/acme/widgets/pulls/2/reviews", "--jq", ".[0].state"}, "APPROVED\n"},
		"every page":   {[]string{"--paginate", "repos/acme/widgets/issues?state=open&per_page=100", "--jq", ".[].number"}, ""},
		"check runs":   {[]string{"repos/acme/widgets/commits/fix/check-runs", "--jq", ".total_count"}, "4\n"},
		"the user":     {[]string{"user", "--jq", ".login"}, "fleet-bot\n"},
		"an enterprise server's question": {
			[]string{"graphql", "-F", "n=2", "-f", "query=query($n: Int!) { repository(owner: \"acme\", name: \"widgets\") { pullRequest(number: $n) { reviewThreads(first: 5) { nodes { isResolved } } } } }", "--jq", ".data.repository.pullRequest.reviewThreads.nodes[0].isResolved"},
			"true\n",
		},
	} {
		out := c.api(want.args...)
		if name == "every page" {
			if n := strings.Count(out, "\n"); n != 207 {
				t.Errorf("gh api --paginate gave %d numbers, want 207", n)
			}
		} else if out != want.out {
			t.Errorf("%s: gh api gave %q, want %q", name, out, want.out)
		}
	}
	c.api("-X", "POST", "repos/acme/widgets/issues/1/comments", "-f", "body=by gh", "--jq", ".id")
	if got := c.api("repos/acme/widgets/issues/1/comments", "--jq", ".[-1].body"); got != "by gh\n" {
		t.Errorf("the last comment is %q, want that of gh", got)
	}
	r.Rename("acme/gadgets")
	if got := c.api("repos/acme/widgets", "--jq", ".full_name"); got != "acme/gadgets\n" {
		t.Errorf("after a rename, the repository is %q", got)
	}
	if out, err := c.run("api", "repos/acme/nothing"); err == nil || !strings.Contains(out, "Not Found (HTTP 404)") {
		t.Errorf("gh api of a missing repository: %v, %q", err, out)
	}
}

func TestTheGHProgramShowsTheStandInsRuns(t *testing.T) {
	t.Parallel()
	c, _ := newGHClient(t)
	out, err := c.run("run", "list", "-R", "github.localhost/acme/widgets", "--json", "name,headSha,status,databaseId,workflowName,event")
	var runs []struct {
		Name, HeadSha, Status, WorkflowName, Event string
		DatabaseID                                 json.Number `json:"databaseId"`
	}
	if err != nil || json.Unmarshal([]byte(out), &runs) != nil || len(runs) != 1 || runs[0].Event != "push" || runs[0].Status != "in_progress" {
		t.Fatalf("gh run list: %v: %s", err, out)
	}
	out, err = c.run("run", "view", runs[0].DatabaseID.String(), "-R", "github.localhost/acme/widgets", "-v")
	for _, want := range []string{"CI", "lint", "test (1.25)", "X Run go test", "boom"} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("gh run view: %v, or it lacks %q:\n%s", err, want, out)
		}
	}
	for _, r := range c.gh.Requests() {
		if r.Header.Get("Authorization") != "token "+c.gh.Token() {
			t.Errorf("gh asked for %s without its token", r.Path)
		}
	}
}
