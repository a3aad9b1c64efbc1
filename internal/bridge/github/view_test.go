package github

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"fleet/api"
)

var dawn = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

func at(minute int) string { return dawn.Add(time.Duration(minute) * time.Minute).Format(time.RFC3339) }

func commentJSON(id, minute int, body string) object {
	return object{"id": id, "body": body, "user": object{"login": "ann"}, "author_association": "OWNER", "created_at": at(minute), "updated_at": at(minute), "html_url": fmt.Sprintf("https://github.com/acme/widgets/issues/7#issuecomment-%d", id)}
}

// paged cuts items into pages of a hundred.
func paged(t *testing.T, items []object) []string {
	var pages []string
	for len(items) > 100 {
		pages, items = append(pages, encoded(t, items[:100])), items[100:]
	}
	return append(pages, encoded(t, items))
}

// TestEveryCommentIsReached follows the cursors of a view of 300 comments, some of them huge.
func TestEveryCommentIsReached(t *testing.T) {
	f, p := newForge(t)
	var comments []object
	for i := range 300 {
		body := fmt.Sprintf("comment %d", i)
		if i%20 == 0 {
			body += strings.Repeat(" <é>", 1800)
		}
		comments = append(comments, commentJSON(1000+i, i, body))
	}
	f.json("GET", "issues/7", encoded(t, object{"number": 7, "title": "t", "state": "open", "body": strings.Repeat("b", 20000), "comments": 300}))
	f.pages("issues/7/comments", paged(t, comments)...)
	next, cursor, pages := 1299, "", 0
	for ; pages == 0 || cursor != ""; pages++ {
		view, err := p.Issue(t.Context(), f.repo, 7, cursor)
		if err != nil || pages > 60 {
			t.Fatal(err, pages)
		}
		raw, _ := json.MarshalIndent(view, "", "  ")
		if len(raw) > maxView {
			t.Errorf("page %d has %d bytes", pages, len(raw))
		}
		if len(view.Comments) == 0 || view.Thread.Truncated != (view.NextCursor != "") || *view.Total != 300 {
			t.Fatalf("page %d: %d comments, truncated %v", pages, len(view.Comments), view.Thread.Truncated)
		}
		for i := len(view.Comments) - 1; i >= 0; i-- {
			c := view.Comments[i]
			if c.ID != int64(next) || c.Truncated != (c.ID%20 == 0) || len(c.Body) > maxText {
				t.Fatalf("comment %d, want %d; cut %v, %d bytes", c.ID, next, c.Truncated, len(c.Body))
			}
			next--
		}
		if (pages == 0) != (view.Body != "") || !view.Text.Truncated {
			t.Errorf("page %d: text of %d bytes, cut %v", pages, len(view.Body), view.Text.Truncated)
		}
		cursor = view.NextCursor
	}
	if next != 999 || pages < 5 {
		t.Errorf("%d pages down to comment %d", pages, next+1)
	}
	t.Logf("%d pages, %d requests", pages, len(f.asked()))
}

func pullJSON(more object) object {
	pull := object{
		"number": 7, "title": "t", "state": "open", "user": nil, "author_association": "NONE", "body": "text", "comments": 0, "review_comments": 0, "mergeable": nil, "mergeable_state": "unknown",
		"head": object{"ref": "turn", "label": "acme:turn", "sha": headSHA, "repo": object{"id": 42}}, "base": object{"ref": "main", "sha": oldSHA, "repo": object{"id": 42}},
	}
	for k, v := range more {
		pull[k] = v
	}
	return pull
}

func reviewJSON(id, minute int, login, state, sha string) object {
	return object{"id": id, "user": object{"login": login, "id": len(login)}, "author_association": "MEMBER", "state": state, "commit_id": sha, "submitted_at": at(minute), "body": "review " + fmt.Sprint(id), "html_url": "https://github.com/x"}
}

func TestPullMergesThreeKindsOfTextByTime(t *testing.T) {
	f, p := newForge(t)
	f.json("GET", "pulls/7", encoded(t, pullJSON(object{"comments": 2, "review_comments": 3})))
	f.json("GET", "issues/7/comments", encoded(t, []object{commentJSON(1, 1, "first"), commentJSON(2, 50, "last")}))
	f.json("GET", "pulls/7/reviews", encoded(t, []object{
		reviewJSON(10, 10, "bob", "CHANGES_REQUESTED", oldSHA), reviewJSON(11, 20, "bob", "APPROVED", headSHA),
		reviewJSON(12, 30, "bob", "COMMENTED", headSHA), reviewJSON(13, 31, "eve", "APPROVED", oldSHA), reviewJSON(14, 32, "dan[bot]", "DISMISSED", headSHA),
	}))
	line := func(id, minute, root int, more object) object {
		c := commentJSON(id, minute, "line")
		c["path"], c["line"], c["position"], c["commit_id"] = "a.go", 3, 3, headSHA
		if root != 0 {
			c["in_reply_to_id"] = root
		}
		for k, v := range more {
			c[k] = v
		}
		return c
	}
	f.json("GET", "pulls/7/comments", encoded(t, []object{line(3_000_000_001, 12, 0, nil), line(3_000_000_002, 13, 3_000_000_001, nil), line(3_000_000_003, 14, 0, object{"line": nil, "position": nil})}))
	graph := func(answer string) {
		f.on("POST", "//api/graphql", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) })
	}
	graph(`{"data":{"repository":{"pullRequest":{"reviewThreads":{"pageInfo":{"hasNextPage":false},"nodes":[
		{"isResolved":true,"isOutdated":false,"comments":{"nodes":[{"url":"https://github.com/acme/widgets/pull/7#discussion_r3000000001"}]}},
		{"isResolved":false,"isOutdated":true,"comments":{"nodes":[{"url":"https://github.com/acme/widgets/pull/7#discussion_r3000000003"}]}}]}}}}}`)
	view, err := p.Pull(t.Context(), f.repo, 7, "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range view.Comments {
		resolved := "?"
		if c.Resolved != nil {
			resolved = fmt.Sprint(*c.Resolved)
		}
		got = append(got, fmt.Sprintf("%s %d %s stale=%v %d resolved=%s outdated=%v", c.Kind, c.ID%100, c.State, c.Stale, c.InReplyTo%100, resolved, c.Outdated))
	}
	want := []string{
		"comment 1  stale=false 0 resolved=? outdated=false",
		"review 10 CHANGES_REQUESTED stale=true 0 resolved=? outdated=false",
		"review_comment 1  stale=false 0 resolved=true outdated=false",
		"review_comment 2  stale=false 1 resolved=true outdated=false",
		"review_comment 3  stale=false 0 resolved=false outdated=true",
		"review 11 APPROVED stale=false 0 resolved=? outdated=false",
		"review 12 COMMENTED stale=false 0 resolved=? outdated=false",
		"review 13 APPROVED stale=true 0 resolved=? outdated=false",
		"review 14 DISMISSED stale=false 0 resolved=? outdated=false",
		"comment 2  stale=false 0 resolved=? outdated=false",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("comments\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := fmt.Sprint(view.Verdicts); got != "[{{bob MEMBER false} APPROVED false} {{eve MEMBER false} APPROVED true} {{dan[bot] MEMBER true} DISMISSED false}]" {
		t.Errorf("verdicts %s", got)
	}
	if n := f.count("GET /repos/acme/widgets/pulls/7/reviews"); n != 1 {
		t.Errorf("the reviews were read %d times, want once", n)
	}
	if view.Author.Login != "ghost" || view.Mergeable != "unknown" || *view.Total != 10 || len(view.Incomplete) != 0 {
		t.Errorf("author %s, mergeable %s, total %d, incomplete %v", view.Author.Login, view.Mergeable, *view.Total, view.Incomplete)
	}

	graph(`{"data":null,"errors":[{"type":"FORBIDDEN","message":"Resource not accessible by personal access token"}]}`)
	if view, err = p.Pull(t.Context(), f.repo, 7, ""); err != nil {
		t.Fatal(err)
	}
	if len(view.Incomplete) != 1 || view.Comments[2].Resolved != nil || !view.Comments[4].Outdated {
		t.Errorf("without GraphQL: incomplete %v, resolved %v, outdated %v", view.Incomplete, view.Comments[2].Resolved, view.Comments[4].Outdated)
	}
}

// TestEveryTextOfAPullIsReachedOnce has three lists of different lengths, and the forge linking
// forward only.
func TestEveryTextOfAPullIsReachedOnce(t *testing.T) {
	for name, forwardOnly := range map[string]bool{"links to the last page": false, "links forward only": true} {
		t.Run(name, func(t *testing.T) {
			f, p := newForge(t)
			var comments, reviews []object
			for i := range 250 {
				comments = append(comments, commentJSON(1000+i, i*2, strings.Repeat("words ", 200)))
			}
			for i := range 130 {
				reviews = append(reviews, reviewJSON(5000+i, i*3, "bob", "COMMENTED", headSHA))
			}
			f.json("GET", "pulls/7", encoded(t, pullJSON(object{"comments": 250})))
			f.pages("issues/7/comments", paged(t, comments)...)
			f.pages("pulls/7/reviews", paged(t, reviews)...)
			if forwardOnly {
				f.forwardOnly()
			}
			seen := map[int64]int{}
			for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
				view, err := p.Pull(t.Context(), f.repo, 7, cursor)
				if err != nil || pages > 60 {
					t.Fatal(err, pages)
				}
				for i, c := range view.Comments {
					seen[c.ID]++
					if i > 0 && c.CreatedAt.Before(view.Comments[i-1].CreatedAt) {
						t.Errorf("comment %d is out of order", c.ID)
					}
				}
				cursor = view.NextCursor
			}
			if len(seen) != 380 {
				t.Errorf("%d texts, want 380", len(seen))
			}
			for id, n := range seen {
				if n != 1 {
					t.Errorf("text %d came %d times", id, n)
				}
			}
		})
	}
}

func TestPullAskedForAsIssueSaysSo(t *testing.T) {
	f, p := newForge(t)
	i := issueJSON(7, true)
	i["comments"] = 0
	f.json("GET", "issues/7", encoded(t, i))
	view, err := p.Issue(t.Context(), f.repo, 7, "")
	if err != nil || view.Kind != "pull" || !strings.Contains(view.Note, "repo_pr_view") || view.Comments == nil {
		t.Errorf("got %+v, %v", view, err)
	}
}

func TestCursorOfAThreadLeadsNowhereElse(t *testing.T) {
	f, p := newForge(t)
	f.json("GET", "issues/7", encoded(t, issueJSON(7, false)))
	for _, page := range []string{"repos/acme/widgets/issues/8/comments", "repositories/42/pulls/7/comments", "repos/acme/other/issues/7/comments"} {
		_, err := p.Issue(t.Context(), f.repo, 7, encodeCursor(threadCursor{Lists: []position{{Page: page}}}))
		refusedWith(t, err, api.Invalid, "bad_cursor")
	}
	_, err := p.Issue(t.Context(), f.repo, 7, encodeCursor(threadCursor{Lists: []position{{}, {}}}))
	refusedWith(t, err, api.Invalid, "bad_cursor")
	if n := f.count("GET /repos/acme/widgets/issues/8") + f.count("GET /repos/acme/other"); n != 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
}
