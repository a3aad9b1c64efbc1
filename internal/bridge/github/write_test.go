package github

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"fleet/api"
	"fleet/internal/bridge"
)

func comment(body string) bridge.Write {
	return bridge.Write{Kind: bridge.IssueComment, Number: 7, Body: body}
}

func review(event, body string) bridge.Write {
	return bridge.Write{Kind: bridge.PullReview, Number: 7, Event: event, Body: body, Head: headSHA}
}

func TestCommentAnswersWithItsAddressAlone(t *testing.T) {
	f, p := newForge(t)
	var sent object
	f.on("POST", "issues/7/comments", func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(raw, &sent)
		if r.Header.Get("Idempotency-Key") != "" {
			t.Error("a key went to the forge, with which net/http repeats a write")
		}
		w.WriteHeader(201)
		fmt.Fprint(w, encoded(t, commentJSON(99, 5, "echo "+strings.Repeat("x", 5000))))
	})
	const body = "`Promise<string>` & <n> a<b \"quoted\" é"
	got, err := p.Write(t.Context(), f.repo, comment(body))
	if err != nil || got.ID != 99 || got.URL == "" || len(encoded(t, got)) > 300 {
		t.Errorf("got %+v, %v", got, err)
	}
	if encoded(t, sent) != encoded(t, object{"body": body}) {
		t.Errorf("sent %v", sent)
	}
}

func TestReviewIsPinnedToItsCommitAndSendsItsEvent(t *testing.T) {
	f, p := newForge(t)
	f.json("GET", "pulls/7", encoded(t, pullJSON(nil)))
	var sent object
	f.on("POST", "pulls/7/reviews", func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(raw, &sent)
		fmt.Fprint(w, encoded(t, reviewJSON(50, 1, "fleet", "APPROVED", headSHA)))
	})
	got, err := p.Write(t.Context(), f.repo, review("APPROVE", ""))
	if err != nil || got.ID != 50 || got.State != "APPROVED" || got.CommitSHA != headSHA || got.Note != "" {
		t.Errorf("got %+v, %v", got, err)
	}
	if encoded(t, sent) != encoded(t, object{"event": "APPROVE", "commit_id": headSHA}) {
		t.Errorf("sent %v", sent)
	}
}

func TestReviewOfAnOlderCommitIsNotSent(t *testing.T) {
	f, p := newForge(t)
	f.json("GET", "pulls/7", encoded(t, pullJSON(nil)))
	w := review("APPROVE", "")
	w.Head = oldSHA
	_, err := p.Write(t.Context(), f.repo, w)
	refusedWith(t, err, api.Conflict, "head_moved")
	if f.count("POST") != 0 {
		t.Error("a review was sent")
	}
}

func TestReviewSaysWhatBecameOfItOtherwise(t *testing.T) {
	cases := map[string]struct{ state, commit, later, says string }{
		"pending":          {"PENDING", headSHA, headSHA, "pending"},
		"another state":    {"COMMENTED", headSHA, headSHA, "COMMENTED"},
		"another commit":   {"APPROVED", oldSHA, headSHA, oldSHA[:12]},
		"pushed meanwhile": {"APPROVED", headSHA, oldSHA, "pushed"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f, p := newForge(t)
			f.json("GET", "pulls/7", encoded(t, pullJSON(nil)))
			f.on("POST", "pulls/7/reviews", func(w http.ResponseWriter, _ *http.Request) {
				f.json("GET", "pulls/7", encoded(t, pullJSON(object{"head": object{"sha": c.later}})))
				fmt.Fprint(w, encoded(t, reviewJSON(50, 1, "fleet", c.state, c.commit)))
			})
			got, err := p.Write(t.Context(), f.repo, review("APPROVE", ""))
			if err != nil || !strings.Contains(got.Note, c.says) {
				t.Errorf("got %+v, %v; want a note with %q", got, err, c.says)
			}
		})
	}
}

func TestWritesThatCannotWorkAreNotSent(t *testing.T) {
	cases := map[string]struct {
		write  bridge.Write
		reason string
	}{
		"empty comment":             {comment(""), "body_empty"},
		"blank comment":             {comment(" \n\t"), "body_empty"},
		"blank request":             {review("REQUEST_CHANGES", " "), "body_empty"},
		"empty review comment":      {review("COMMENT", ""), "body_empty"},
		"no event":                  {review("", "x"), "bad_event"},
		"an event of another forge": {review("APPROVED", "x"), "bad_event"},
		"too long":                  {comment(strings.Repeat("x", 65537)), "body_too_long"},
		"too long in UTF-16":        {comment(strings.Repeat("😀", 32769)), "body_too_long"},
		"no number":                 {bridge.Write{Kind: bridge.IssueComment, Body: "x"}, "bad_number"},
		"no kind":                   {bridge.Write{Number: 7, Body: "x"}, "bad_write"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f, p := newForge(t)
			_, err := p.Write(t.Context(), f.repo, c.write)
			refusedWith(t, err, api.Invalid, c.reason)
			if n := len(f.asked()); n != 0 {
				t.Errorf("%d requests", n)
			}
		})
	}
	f, p := newForge(t)
	f.json("POST", "issues/7/comments", encoded(t, commentJSON(9, 1, "")))
	if _, err := p.Write(t.Context(), f.repo, comment(strings.Repeat("é", 65536))); err != nil {
		t.Errorf("65,536 characters: %v", err)
	}
}

func TestRefusedWritesSayWhy(t *testing.T) {
	invalid := func(text string) string {
		return encoded(t, object{"message": "Unprocessable Entity", "errors": []string{text}})
	}
	cases := map[string]struct {
		write   bridge.Write
		status  int
		body    string
		headers []string
		code    api.Code
		reason  string
		says    string
	}{
		"own pull":           {review("APPROVE", ""), 422, invalid("Can not approve your own pull request"), nil, api.Forbidden, "self_review", "COMMENT"},
		"own pull, rejected": {review("REQUEST_CHANGES", "x"), 422, invalid("Can not request changes on your own pull request"), nil, api.Forbidden, "self_review", "COMMENT"},
		"pending review":     {review("COMMENT", "x"), 422, invalid("User can only have one pending review per pull request"), nil, api.Conflict, "pending_review", "submit or discard"},
		"actions approve":    {review("APPROVE", ""), 422, invalid("GitHub Actions is not permitted to approve pull requests."), nil, api.Forbidden, "permission", "Actions"},
		"commit is gone":     {review("APPROVE", ""), 422, invalid("commit_id is not part of the pull request"), nil, api.Conflict, "head_moved", "repo_pr_view"},
		"body too long":      {comment("x"), 422, `{"message":"Validation Failed","errors":[{"code":"custom","field":"body","message":"body is too long (maximum is 65536 characters)"}]}`, nil, api.Invalid, "body_too_long", "65536"},
		"pull permission":    {bridge.Write{Kind: bridge.PullComment, Number: 7, Body: "x"}, 403, `{"message":"Resource not accessible by integration"}`, []string{"X-Accepted-GitHub-Permissions: issues=write"}, api.Forbidden, "permission", "pull_requests:write"},
		"issue permission":   {comment("x"), 403, `{"message":"Resource not accessible by integration"}`, nil, api.Forbidden, "permission", "issues:write"},
		"no such issue":      {comment("x"), 404, `{"message":"Not Found"}`, nil, api.NotFound, "no_such_issue", "nothing was posted"},
		"the forge broke":    {comment("x"), 502, "<html>", nil, api.OutcomeUnknown, "forge_error", "may have been done"},
		"accepted":           {comment("x"), 202, `{}`, nil, api.OutcomeUnknown, "forge_error", "may have been done"},
		"half an answer":     {comment("x"), 201, `{"id":`, nil, api.OutcomeUnknown, "bad_answer", "may have been done"},
		"locked":             {comment("x"), 403, `{"message":"Unable to create comment because issue is locked."}`, nil, api.Forbidden, "locked", "locked"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f, p := newForge(t)
			f.json("GET", "pulls/7", encoded(t, pullJSON(nil)))
			f.refuse("POST", "issues/7/comments", c.status, c.body, c.headers...)
			f.refuse("POST", "pulls/7/reviews", c.status, c.body, c.headers...)
			_, err := p.Write(t.Context(), f.repo, c.write)
			e := refusedWith(t, err, c.code, c.reason)
			if !strings.Contains(e.Message+" "+e.Hint, c.says) {
				t.Errorf("says %q and %q, want %q", e.Message, e.Hint, c.says)
			}
			if n := f.count("POST"); n != 1 {
				t.Errorf("sent %d times", n)
			}
		})
	}
}

// TestAnswerThatBreaksOffLeavesTheOutcomeOpen cuts the answer after every number of bytes.
func TestAnswerThatBreaksOffLeavesTheOutcomeOpen(t *testing.T) {
	answer := encoded(t, object{"id": 9, "html_url": "https://x/9"})
	for n := range len(answer) {
		f, p := newForge(t)
		f.on("POST", "issues/7/comments", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
			w.WriteHeader(201)
			_, _ = io.WriteString(w, answer[:n])
			panic(http.ErrAbortHandler)
		})
		_, err := p.Write(t.Context(), f.repo, comment("x"))
		if !hasCode(err, api.OutcomeUnknown) || f.count("POST") != 1 {
			t.Fatalf("after %d bytes: %v, sent %d times", n, err, f.count("POST"))
		}
	}
}

func TestCommentOnAPullDoesNotLandOnAnIssue(t *testing.T) {
	f, p := newForge(t)
	_, err := p.Write(t.Context(), f.repo, bridge.Write{Kind: bridge.PullComment, Number: 7, Body: "x"})
	refusedWith(t, err, api.NotFound, "no_such_pull")
	if f.count("POST") != 0 {
		t.Error("a comment was sent")
	}
}

func TestRenamedRepositoryIsWrittenToOnce(t *testing.T) {
	f, p := newForge(t)
	moved := func(path string) {
		f.refuse("GET", path, 301, "{}", "Location: "+f.server.URL+"/api/v3/repositories/42")
	}
	moved("")
	f.json("GET", "//repositories/42", `{"id":42}`)
	f.refuse("POST", "issues/7/comments", 307, "{}", "Location: "+f.server.URL+"/api/v3/repositories/42/issues/7/comments")
	f.json("POST", "//repositories/42/issues/7/comments", encoded(t, commentJSON(9, 1, "")))
	got, err := p.Write(t.Context(), f.repo, comment("x"))
	if err != nil || got.ID != 9 || f.count("POST /repositories/42") != 1 {
		t.Errorf("got %+v, %v; asked %v", got, err, f.asked())
	}
}

func TestTransferredIssueIsNotFollowed(t *testing.T) {
	f, p := newForge(t)
	f.refuse("GET", "issues/7", 301, "{}", "Location: "+f.server.URL+"/api/v3/repositories/99/issues/1")
	_, err := p.Issue(t.Context(), f.repo, 7, "")
	refusedWith(t, err, api.Forbidden, "redirect_refused")
	if f.count("GET /repositories/99") != 0 {
		t.Error("another repository was asked")
	}
}
