package github

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"fleet/api"
)

type object = map[string]any

func issueJSON(n int, pull bool) object {
	i := object{"number": n, "title": fmt.Sprintf("issue %d", n), "state": "open", "user": object{"login": "ann", "type": "User"}, "author_association": "MEMBER", "comments": 2, "html_url": fmt.Sprintf("https://github.com/acme/widgets/issues/%d", n), "updated_at": "2026-01-02T03:04:05Z", "body": strings.Repeat("body ", 100)}
	if pull {
		i["pull_request"] = object{"url": "x"}
	}
	return i
}

// issuesPage has n items from the given number on, every third of them an issue and the others
// pull requests, or all pull requests.
func issuesPage(from, n, every int) []object {
	var items []object
	for i := range n {
		items = append(items, issueJSON(from+i, every == 0 || i%every != 0))
	}
	return items
}

func TestIssuesLeaveOutPullsAndFillThePage(t *testing.T) {
	f, p := newForge(t)
	f.pages("issues", encoded(t, issuesPage(1, 100, 2)), encoded(t, issuesPage(101, 100, 0)), encoded(t, issuesPage(201, 100, 1)), encoded(t, issuesPage(301, 30, 1)))
	seen := map[int]bool{}
	cursor := ""
	var sizes []int
	for range 10 {
		page, err := p.Issues(t.Context(), f.repo, "all", cursor)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(page.Items))
		for _, i := range page.Items {
			if seen[i.Number] {
				t.Errorf("issue %d twice", i.Number)
			}
			seen[i.Number] = true
		}
		if page.Truncated != (page.NextCursor != "") || page.Returned != len(page.Items) {
			t.Errorf("truncated %v, cursor %q, returned %d of %d", page.Truncated, page.NextCursor, page.Returned, len(page.Items))
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if got := fmt.Sprint(sizes, len(seen)); got != "[100 80] 180" {
		t.Errorf("pages and issues: %s, want [100 80] 180", got)
	}
	if first := f.asked()[0]; !strings.Contains(first, "state=all") || !strings.Contains(first, "sort=updated") || !strings.Contains(first, "direction=desc") {
		t.Errorf("asked %s", first)
	}
}

// TestIssuesBehindManyPullsAreReached: the newest thousand are pull requests.
func TestIssuesBehindManyPullsAreReached(t *testing.T) {
	f, p := newForge(t)
	var pages []string
	for i := range 12 {
		pages = append(pages, encoded(t, issuesPage(1+i*100, 100, 0)))
	}
	f.pages("issues", append(pages, encoded(t, issuesPage(5000, 1, 1)))...)
	page, err := p.Issues(t.Context(), f.repo, "", "")
	if err != nil || len(page.Items) != 0 || !page.Truncated {
		t.Fatalf("first answer: %+v, %v; want nothing yet, and a cursor", page, err)
	}
	page, err = p.Issues(t.Context(), f.repo, "", page.NextCursor)
	if err != nil || len(page.Items) != 1 || page.Items[0].Number != 5000 {
		t.Errorf("second answer: %+v, %v", page, err)
	}
}

func TestItemsOfListsStayUnderTwoHundredTokens(t *testing.T) {
	f, p := newForge(t)
	var labels []object
	for i := range 100 {
		labels = append(labels, object{"name": fmt.Sprintf("label %d %s", i, strings.Repeat("l", 30))})
	}
	long := object{
		"number": 1, "title": strings.Repeat("タイトル<", 50), "state": "closed", "merged_at": "2026-01-02T03:04:05Z", "labels": labels, "user": object{"login": strings.Repeat("u", 39)}, "author_association": "FIRST_TIME_CONTRIBUTOR",
		"head": object{"ref": strings.Repeat("h", 200), "label": "fork:" + strings.Repeat("h", 200), "sha": headSHA, "repo": object{"id": 2}}, "base": object{"ref": strings.Repeat("b", 200), "repo": object{"id": 1}},
		"html_url": "https://github.example.com/" + strings.Repeat("o", 39) + "/" + strings.Repeat("r", 100) + "/pull/1", "updated_at": "2026-01-02T03:04:05Z", "body": strings.Repeat("x", 60000),
	}
	usual := object{"number": 2, "title": "Make the widgets turn the other way round", "state": "open", "user": object{"login": "ann"}, "author_association": "MEMBER", "head": object{"ref": "turn", "sha": headSHA}, "base": object{"ref": "main"}, "html_url": "https://github.com/acme/widgets/pull/2", "updated_at": "2026-01-02T03:04:05Z", "labels": []object{{"name": "bug"}}}
	f.json("GET", "pulls", encoded(t, []object{long, usual}))
	page, err := p.Pulls(t.Context(), f.repo, "all", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range page.Items {
		raw, err := json.MarshalIndent(item, "    ", "  ")
		t.Logf("%d bytes, %d tokens", len(raw), len(raw)/4)
		if err != nil || len(raw)/4 > 200 || item.HeadSHA != headSHA || item.Title == "" {
			t.Errorf("%d tokens: %s", len(raw)/4, raw)
		}
	}
	if got := page.Items[0]; got.State != "merged" || !strings.HasPrefix(got.Head, "fork:") {
		t.Errorf("state %s, head %s; want merged, of a fork", got.State, got.Head)
	}
}

func TestListSaysThatTheForgeGoesNoFurther(t *testing.T) {
	f, p := newForge(t)
	f.refuse("GET", "issues", 422, `{"message":"Pagination with the page parameter is not supported for large datasets, please use cursor based pagination (after/before)"}`)
	_, err := p.Issues(t.Context(), f.repo, "open", "")
	refusedWith(t, err, api.Unsupported, "list_too_long")
}

func TestCursorLeadsNowhereElse(t *testing.T) {
	f, p := newForge(t)
	for name, page := range map[string]string{
		"another repository": "repos/acme/other/issues?x=1",
		"another list":       "repos/acme/widgets/pulls",
		"below a number":     "repositories/42/pulls",
		"up":                 "repos/acme/widgets/../other/issues",
		"another host":       "https://evil.example/repos/acme/widgets/issues",
		"no list":            "",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := p.Issues(t.Context(), f.repo, "", encodeCursor(listCursor{Page: page}))
			refusedWith(t, err, api.Invalid, "bad_cursor")
		})
	}
	if n := len(f.asked()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestRepositoriesThatAreNoneSendNothing(t *testing.T) {
	f, p := newForge(t)
	for _, path := range []string{"", "acme", "acme/", "/x", "acme/widgets/issues", "../x", "acme/..", "a b/c", "a/b?c", "a/b%2fc", "a/b#c"} {
		r := f.repo
		r.Path = path
		_, err := p.Info(t.Context(), r)
		refusedWith(t, err, api.Invalid, "bad_repository")
	}
	if n := len(f.asked()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}
