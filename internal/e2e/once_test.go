//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fleet/internal/e2e/model"
	"fleet/internal/e2e/shipyard"
)

// noting is an agent-mcp that leaves each run's requests in a file of its own in the harness's home.
func noting(t *testing.T, f *fleet) string {
	t.Helper()
	path := filepath.Join(f.bin, "noting-requests")
	agentMCP := shipyard.Built("agent-mcp")
	writeFile(t, path, 0o700, "#!/bin/sh\ntee \"$(mktemp \"$HOME/requests.XXXXXX\")\" | '"+agentMCP+"'\n")
	return path
}

// commentIDs gives, for each run, the JSON-RPC ids of its calls of repo_pr_comment, as they were written.
func (h *harness) commentIDs(t *testing.T) [][]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(h.home, "requests.*"))
	if err != nil {
		t.Fatal(err)
	}
	var runs [][]string
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for line := range strings.Lines(string(text)) {
			var q struct {
				ID     json.RawMessage `json:"id"`
				Params struct {
					Name string `json:"name"`
				} `json:"params"`
			}
			if err := json.Unmarshal([]byte(line), &q); err != nil {
				t.Fatalf("%s: %v in %s", path, err, line)
			}
			if q.Params.Name == "repo_pr_comment" {
				ids = append(ids, string(q.ID))
			}
		}
		runs = append(runs, ids)
	}
	slices.SortFunc(runs, func(a, b []string) int { return len(a) - len(b) })
	return runs
}

// comment is a call that comments on the forge's pull request.
func (g *forge) comment(body string) model.Call {
	return model.Call{Tool: "repo_pr_comment", Arguments: fmt.Sprintf(`{"number":%d,"body":%q}`, g.pull.Number(), body)}
}

// written is what a comment is answered with, as far as a test looks at it.
type written struct {
	URL         string `json:"url"`
	DuplicateOf string `json:"duplicate_of"`
}

func writtenOf(t *testing.T, r model.Result) written {
	t.Helper()
	var w written
	if err := json.Unmarshal([]byte(r.Text), &w); err != nil || r.IsError || w.URL == "" {
		t.Fatalf("%s: is an error: %t; as JSON: %v\n%s", r.Tool, r.IsError, err, r.Text)
	}
	return w
}

// TestTwoHarnessRunsWithEqualRequestIDsPostTwoComments: a harness counts its requests from 0 after
// each start, so a request's id says nothing of whether a comment was posted already. The same
// words do, for ten minutes.
func TestTwoHarnessRunsWithEqualRequestIDsPostTwoComments(t *testing.T) {
	f := newFleet(t)
	g := newForge(t, f, personalToken(), "nobody")
	f.serve(t, "GITHUB_TOKEN="+g.token)
	f.ship(t, "create", "widgets/twice")
	h := claudeCalling(t, f, "widgets/twice", []model.Call{begins("claude-code"), g.comment("first")}, key, "--", noting(t, f))
	second := model.Start(t, model.Script{Server: key, Calls: []model.Call{
		begins("claude-code"), g.comment("second"), g.comment("first"),
	}})
	h.command = append([]string{"sh", "-c", `"$@" && ANTHROPIC_BASE_URL=` + second.URL + ` "$@"`, "sh"}, h.command...)
	h.start(t, f)
	h.wait(t, f)

	if got := g.pull.Issue().Texts(); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("the pull request's comments are %q, want one of each run", got)
	}
	ids := h.commentIDs(t)
	if len(ids) != 2 || len(ids[0]) != 1 || len(ids[1]) != 2 || ids[0][0] != ids[1][0] {
		t.Errorf("the comments' requests had the ids %q, want two runs that begin with the same one: this test proves nothing", ids)
	}
	results := slices.Concat(h.model.Results(), second.Results())
	if len(results) != 5 {
		t.Fatalf("%d results came back, want 5: %+v", len(results), results)
	}
	a, b, again := writtenOf(t, results[1]), writtenOf(t, results[3]), writtenOf(t, results[4])
	if a.URL == b.URL || a.DuplicateOf != "" || b.DuplicateOf != "" {
		t.Errorf("the two comments were answered with %+v and %+v, want two of them and no duplicate", a, b)
	}
	if again.DuplicateOf != a.URL {
		t.Errorf("the first words said again were answered with %+v, want a duplicate of %s", again, a.URL)
	}
}

// TestAShipKilledBeforeTheForgesAnswerPostsOneComment: the forge has stored the comment, its answer
// is still on the way, and the ship with the bridge in it dies. Claude Code lives on, is told that
// its call broke off, and asks again as soon as there is a ship.
func TestAShipKilledBeforeTheForgesAnswerPostsOneComment(t *testing.T) {
	f := newFleet(t)
	g := newForge(t, f, personalToken(), "nobody")
	token := "GITHUB_TOKEN=" + g.token
	f.serve(t, token)
	f.ship(t, "create", "widgets/killed")
	h := claudeCalling(t, f, "widgets/killed", []model.Call{
		begins("claude-code"), g.comment("once"), g.comment("once"),
	}, key, "--", shipyard.Built("agent-mcp"))
	stalled := g.gh.When("POST", "/repos/acme/widgets/issues/*/comments").Times(1).Stall()
	h.start(t, f)
	for deadline := time.Now().Add(harnessTime); len(g.pull.Issue().Texts()) == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the forge got no comment within %s; requests to the model: %q", harnessTime, h.model.Requests())
		}
	}
	f.daemon.Kill(t)
	f.serve(t, token)
	h.wait(t, f)

	if got := g.pull.Issue().Texts(); !slices.Equal(got, []string{"once"}) || stalled.Hits() != 1 {
		t.Errorf("the pull request's comments are %q, and %d answers stalled; want one and one", got, stalled.Hits())
	}
	if n := g.gh.Count("POST", "/comments"); n != 1 {
		t.Errorf("the forge was sent %d comments, want one", n)
	}
	results := h.model.Results()
	if len(results) != 3 {
		t.Fatalf("%d results came back, want 3: %+v", len(results), results)
	}
	if !results[1].IsError {
		t.Errorf("the call that broke off was answered with %s, want an error", results[1].Text)
	}
	w := writtenOf(t, results[2])
	if w.DuplicateOf == "" || w.DuplicateOf != w.URL || !strings.Contains(w.URL, "#issuecomment-") {
		t.Errorf("the call after the restart was answered with %+v, want a duplicate of the comment", w)
	}
	f.ship(t, "bridge", "audit", "verify")
}
