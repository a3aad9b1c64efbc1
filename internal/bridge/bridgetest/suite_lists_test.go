package bridgetest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fleet/api"
	"fleet/internal/bridge"
)

type (
	issueList = api.List[api.IssueItem]
	pullList  = api.List[api.PullItem]
)

var (
	issues = bridge.Request{Op: bridge.OpIssueList}
	pulls  = bridge.Request{Op: bridge.OpPRList}
)

// everyPage follows a list to its end, which must come.
func everyPage[T any](s *scene, r bridge.Request) (items []T, pages int) {
	s.Helper()
	for pages = 1; pages <= 50; pages++ {
		l := get[api.List[T]](s, r)
		if l.Returned != len(l.Items) || l.Truncated != (l.NextCursor != "") {
			s.Fatalf("%s: returned %d of %d items, truncated %v, next_cursor %q", r.Op, l.Returned, len(l.Items), l.Truncated, l.NextCursor)
		}
		items = append(items, l.Items...)
		if l.NextCursor == "" {
			return items, pages
		}
		r.Cursor = l.NextCursor
	}
	s.Fatalf("%s never ends", r.Op)
	return nil, 0
}

func numbers(items []api.IssueItem) []int {
	var all []int
	for _, i := range items {
		all = append(all, i.Number)
	}
	return all
}

func TestLists(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"pull requests are not in the list of issues": func(s *scene) {
			s.repo.Issue("an issue")
			s.repo.Pull("a pull request")
			l := get[issueList](s, issues)
			if len(l.Items) != 1 || l.Items[0].Title != "an issue" || l.Truncated {
				s.Errorf("issues = %+v, want the one issue", l)
			}
		},
		"a hundred newest that are all pull requests do not hide the issues": func(s *scene) {
			for n := range 3 {
				s.repo.Issue(fmt.Sprint("issue ", n))
			}
			for n := range 130 {
				s.repo.Pull(fmt.Sprint("pull ", n))
			}
			if got := numbers(get[issueList](s, issues).Items); !slices.Equal(got, []int{3, 2, 1}) {
				s.Errorf("issues = %v, want 3, 2 and 1", got)
			}
		},
		"every issue of a long list comes once, the newest activity first": func(s *scene) {
			for n := range 230 {
				s.repo.Issue(fmt.Sprint("issue ", n))
				if n%3 == 0 {
					s.repo.Pull("between")
				}
			}
			s.repo.Issue("old, and talked about").Comment("bob", "still there")
			items, pages := everyPage[api.IssueItem](s, issues)
			got := numbers(items)
			if len(got) != 231 || pages < 3 || !slices.IsSortedFunc(got, func(a, b int) int { return b - a }) {
				s.Errorf("%d issues on %d pages, %v; want 231 on at least 3, descending", len(got), pages, got)
			}
		},
		"past the last page number that GitHub takes the list goes on": func(s *scene) {
			s.gh.Large(300)
			for n := range 420 {
				s.repo.Issue(fmt.Sprint("issue ", n))
			}
			items, _ := everyPage[api.IssueItem](s, issues)
			got := numbers(items)
			slices.Sort(got)
			if got = slices.Compact(got); len(got) != 420 {
				s.Errorf("%d different issues, want 420", len(got))
			}
		},
		"a missing repository is no empty list": func(s *scene) {
			s.repo.Hide()
			s.refused(issues, api.NotFound, "repo_not_visible", "ask the operator")
			s.refused(pulls, api.NotFound, "repo_not_visible")
		},
		"an empty list is an empty list": func(s *scene) {
			if raw, e := s.do(issues); e != nil || !strings.Contains(string(raw), `"items":[]`) {
				s.Errorf("issues = %s, %v; want empty items", raw, e)
			}
		},
	})
}

func TestItemsOfLists(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"closed pull requests are closed ones and merged ones": func(s *scene) {
			s.repo.Pull("open")
			s.repo.Pull("closed").Close()
			s.repo.Pull("merged").Merge()
			r := pulls
			for state, want := range map[string]string{
				"": "open:open", "open": "open:open", "closed": "merged:merged closed:closed", "all": "merged:merged closed:closed open:open",
			} {
				r.State = state
				var got []string
				for _, p := range get[pullList](s, r).Items {
					got = append(got, p.Title+":"+p.State)
				}
				if strings.Join(got, " ") != want {
					s.Errorf("state %q: %v, want %s", state, got, want)
				}
			}
		},
		"a pull request takes at most 200 tokens in a list, and a hundred of them fit a client": func(s *scene) {
			for n := range 100 {
				s.repo.Pull(fmt.Sprint("Fix number ", n, " ", strings.Repeat("and more ", 25))).Body(strings.Repeat("text ", 200)).
					Issue().Label("bug", "needs-triage", strings.Repeat("very-long-label-", 6))
			}
			if raw, _ := s.do(pulls); indent(raw) > 4*25_000 {
				s.Errorf("the list takes %d bytes as an agent sees it, want at most 25,000 tokens of four", indent(raw))
			}
			l := get[pullList](s, pulls)
			if len(l.Items) != 100 {
				s.Fatalf("%d pull requests, want 100", len(l.Items))
			}
			for _, p := range l.Items {
				if raw, _ := json.MarshalIndent(p, "    ", "  "); len(raw)/4 > 200 {
					s.Fatalf("a pull request takes %d tokens: %s", len(raw)/4, raw)
				}
			}
		},
		"an issue in a list brings no text, milestone or repository along": func(s *scene) {
			s.repo.Issue("long").Body(strings.Repeat("secret-ish body ", 500)).Milestone("1.0").Assign("bob")
			raw, _ := s.do(issues)
			if len(raw) > 600 || strings.Contains(string(raw), "secret-ish") || strings.Contains(string(raw), "milestone") {
				s.Errorf("issues = %s, want a short item", raw)
			}
		},
	})
}

func TestItemsOfListsAreAsTheyWereWritten(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"quotes, brackets and ampersands of a title stay as they are": func(s *scene) {
			title := `Promise<string> & "quotes" a<b &amp; <n>`
			s.repo.Issue(title)
			s.repo.Pull(title)
			if raw, _ := s.do(issues); !strings.Contains(string(raw), `Promise<string> & \"quotes\" a<b &amp; <n>`) {
				s.Errorf("issues = %s", raw)
			}
			if got := get[pullList](s, pulls).Items[0].Title; got != title {
				s.Errorf("title = %q, want %q", got, title)
			}
		},
		"an issue of a deleted account is by ghost, and a bot is said to be one": func(s *scene) {
			s.repo.Issue("lost").By("")
			s.repo.Issue("bumped").By("dependabot[bot]")
			l := get[issueList](s, issues)
			if !l.Items[0].Author.Bot || l.Items[1].Author.Login != "ghost" {
				s.Errorf("authors = %+v, %+v; want a bot and ghost", l.Items[0].Author, l.Items[1].Author)
			}
		},
		"a pull request from a fork names the fork": func(s *scene) {
			s.repo.Pull("from afar").From("patch-1").Fork("mallory")
			s.repo.Pull("from here").From("patch-2").Draft()
			l := get[pullList](s, pulls)
			if l.Items[1].Head != "mallory:patch-1" || l.Items[0].Head != "patch-2" || !l.Items[0].Draft || l.Items[0].Base != "main" {
				s.Errorf("pulls = %+v", l.Items)
			}
		},
		"issues that are switched off are said to be, and pull requests still work": func(s *scene) {
			s.repo.DisableIssues()
			p := s.repo.Pull("works")
			s.refused(issues, api.Unsupported, "feature_disabled", "repo_pr")
			if l := get[pullList](s, pulls); len(l.Items) != 1 {
				s.Errorf("pulls = %+v, want one", l)
			}
			get[api.Written](s, bridge.Request{Op: bridge.OpPRComment, Number: p.Number(), Body: "hello"})
		},
		"a cursor serves no other question": func(s *scene) {
			for n := range 101 {
				s.repo.Issue(fmt.Sprint("issue ", n))
			}
			r := issues
			r.Cursor = get[issueList](s, r).NextCursor
			other := pulls
			other.Cursor = r.Cursor
			s.refused(other, api.Invalid, "bad_cursor")
			r.State = "all"
			s.refused(r, api.Invalid, "bad_cursor")
		},
	})
}
