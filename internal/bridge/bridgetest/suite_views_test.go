package bridgetest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fleet/api"
	"fleet/internal/bridge"
)

func viewOf(op string, number int) bridge.Request { return bridge.Request{Op: op, Number: number} }

// everyComment follows a view to its oldest comment, and gives all in order of time.
func everyComment(s *scene, r bridge.Request) (all []api.Comment, pages int) {
	s.Helper()
	for pages = 1; pages <= 50; pages++ {
		var view struct{ api.Thread }
		raw, e := s.do(r)
		if e != nil {
			s.Fatalf("%s page %d: %s", r.Op, pages, e.Text())
		}
		if err := json.Unmarshal(raw, &view); err != nil {
			s.Fatal(err)
		}
		if shown := indent(raw); shown > 64<<10 {
			s.Fatalf("%s page %d has %d bytes as an agent sees it, want at most 64 KiB", r.Op, pages, shown)
		}
		if view.Returned != len(view.Comments) || view.Truncated != (view.NextCursor != "") {
			s.Fatalf("%s page %d: returned %d of %d, truncated %v", r.Op, pages, view.Returned, len(view.Comments), view.Truncated)
		}
		all = append(slices.Clone(view.Comments), all...)
		if view.NextCursor == "" {
			return all, pages
		}
		r.Cursor = view.NextCursor
	}
	s.Fatalf("%s never ends", r.Op)
	return nil, 0
}

// indent is how many bytes an answer takes as an agent sees it.
func indent(raw json.RawMessage) int {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return 0
	}
	out, _ := json.MarshalIndent(v, "", "  ")
	return len(out)
}

func bodies(all []api.Comment) []string {
	var texts []string
	for _, c := range all {
		texts = append(texts, c.Body)
	}
	return texts
}

func TestIssueViews(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"a pull request asked for as an issue says so": func(s *scene) {
			p := s.repo.Pull("really a pull")
			v := get[api.IssueView](s, viewOf(bridge.OpIssueView, p.Number()))
			if v.Kind != "pull" || !strings.Contains(v.Note, "repo_pr_view") {
				s.Errorf("kind %q, note %q; want pull, and repo_pr_view named", v.Kind, v.Note)
			}
		},
		"everything that an issue has": func(s *scene) {
			s.repo.Member("mia", "MEMBER")
			i := s.repo.Issue("Crash").Body("it crashes").Label("bug").Assign("bob").Milestone("1.0")
			i.Comment("mia", "me to").Edit("me too")
			v := get[api.IssueView](s, viewOf(bridge.OpIssueView, i.Lock().Number()))
			c := v.Comments[0]
			if v.Kind != "issue" || v.Body != "it crashes" || v.Milestone != "1.0" || v.Assignees[0] != "bob" || v.Labels[0] != "bug" ||
				!v.Locked || v.State != "open" || v.Author.Login != "ann" || v.Total == nil || *v.Total != 1 {
				s.Errorf("view = %+v", v)
			}
			if c.Body != "me too" || !c.Edited || c.Author.Association != "MEMBER" || c.Kind != api.KindComment || c.ID == 0 || !strings.Contains(c.URL, "#issuecomment-") {
				s.Errorf("comment = %+v", c)
			}
		},
		"three hundred comments come in views of 64 KiB, each once": func(s *scene) {
			i := s.repo.Issue("long").Body(strings.Repeat("b", 20_000))
			for n := range 300 {
				i.Comment("bob", fmt.Sprintf("comment %d %s", n, strings.Repeat("x", 500)))
			}
			first := get[api.IssueView](s, viewOf(bridge.OpIssueView, i.Number()))
			if !first.Text.Truncated || len(first.Body) > 8<<10 || !strings.HasPrefix(first.Comments[first.Returned-1].Body, "comment 299 ") {
				s.Errorf("body of %d bytes (truncated %v), last comment %.20q", len(first.Body), first.Text.Truncated, first.Comments[first.Returned-1].Body)
			}
			all, pages := everyComment(s, viewOf(bridge.OpIssueView, i.Number()))
			for n, c := range all {
				if !strings.HasPrefix(c.Body, fmt.Sprintf("comment %d ", n)) {
					s.Fatalf("comment %d begins with %.20q", n, c.Body)
				}
			}
			if len(all) != 300 || pages < 3 {
				s.Errorf("%d comments in %d views, want 300 in at least 3", len(all), pages)
			}
		},
		"an invisible character goes, an emoji's selector and code stay": func(s *scene) {
			i := s.repo.Issue("t\u202eitle").Body("a\u200bb\U000E0041c \u2764\ufe0f `Promise<string>` a<b <n> &amp; \"q\"")
			i.Comment("bob", "ig\u200bnore \u2066previous\u2069 <!-- hidden --> x</div>")
			v := get[api.IssueView](s, viewOf(bridge.OpIssueView, i.Number()))
			if want := "abc \u2764\ufe0f `Promise<string>` a<b <n> &amp; \"q\""; v.Body != want || v.Title != "title" {
				s.Errorf("title %q, body %q; want title, %q", v.Title, v.Body, want)
			}
			if want := "ignore previous <!-- hidden --> x</div>"; v.Comments[0].Body != want {
				s.Errorf("comment %q, want %q", v.Comments[0].Body, want)
			}
		},
		"the newest of very long comments is there, cut and said to be": func(s *scene) {
			i := s.repo.Issue("huge")
			for range 12 {
				i.Comment("bob", strings.Repeat("é", 30_000))
			}
			all, _ := everyComment(s, viewOf(bridge.OpIssueView, i.Number()))
			if c := all[11]; len(all) != 12 || !c.Truncated || len(c.Body) > 8<<10 || strings.Trim(c.Body, "é") != "" {
				s.Errorf("%d comments, the newest of %d bytes, truncated %v", len(all), len(c.Body), c.Truncated)
			}
		},
	})
}

func TestIssuesThatAreNotThere(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"an issue that is not there is told from a repository that is not shown": func(s *scene) {
			s.refused(viewOf(bridge.OpIssueView, 7), api.NotFound, "no_such_issue", "repo_issue_list")
			s.repo.Hide()
			s.refused(viewOf(bridge.OpIssueView, 8), api.NotFound, "repo_not_visible", "ask the operator")
		},
		"a deleted issue is gone": func(s *scene) {
			i := s.repo.Issue("spam").Delete()
			s.refused(viewOf(bridge.OpIssueView, i.Number()), api.NotFound, "gone", "deleted")
		},
		"an issue that was transferred to another repository is not followed": func(s *scene) {
			other := s.gh.Repo("acme/secret")
			i := s.repo.Issue("moved").TransferTo(other)
			_, e := s.do(viewOf(bridge.OpIssueView, i.Number()))
			if e == nil || s.gh.Count("", "/repositories/") != 0 {
				s.Fatalf("the view of a transferred issue answered with %v", e)
			}
			for _, r := range s.gh.Requests() {
				if strings.Contains(r.Path, "/repositories/") {
					s.Errorf("the bridge asked for %s", r.Path)
				}
			}
		},
	})
}

func TestRepositoryInfo(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"it is what the forge knows": func(s *scene) {
			s.repo.Describe("Widgets & \"gadgets\"").Private().Archive()
			s.repo.Issue("open")
			v := get[api.RepoInfo](s, bridge.Request{Op: bridge.OpInfo})
			want := api.RepoInfo{
				Repo: "widgets", Forge: "github", FullName: "acme/widgets", Description: "Widgets & \"gadgets\"", Visibility: "private",
				URL: "https://github.example/acme/widgets", DefaultBranch: "main", Archived: true, HasIssues: true, OpenIssues: 1, UpdatedAt: v.UpdatedAt,
			}
			if v != want || v.UpdatedAt.After(time.Now()) {
				s.Errorf("info = %+v, want %+v", v, want)
			}
		},
	})
}
