package github

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fleet/internal/bridge"
)

// What stands before an Enterprise server may drop the Link header: a full page is then not the end.
func TestAFullPageWithoutLinksIsNotTheEndOfAList(t *testing.T) {
	f, p := newForge(t)
	f.json("GET", "//user", `{"login":"fleet-bot","id":5}`)
	var all []string
	for n := range 100 {
		all = append(all, fmt.Sprintf(`{"id":%d,"user":{"login":"bob","id":9},"body":"x","state":"COMMENTED","submitted_at":"2026-11-30T16:00:00Z"}`, n+1))
	}
	f.json("GET", "pulls/1/reviews", "["+strings.Join(all, ",")+"]")
	found, err := p.Find(t.Context(), f.repo, bridge.Write{Kind: bridge.PullReview, Number: 1, Event: "COMMENT", Body: "mine, on page two"}, time.Now().Add(-time.Hour))
	if err == nil && found == nil {
		t.Errorf("it is said for certain that the review is not there, after the first 100")
	}
	f.json("GET", "pulls/1/reviews?page=2&per_page=100", `[{"id":7,"html_url":"https://x.example/7","user":{"login":"fleet-bot","id":5},"body":"mine, on page two","state":"COMMENTED","submitted_at":"`+time.Now().UTC().Format(time.RFC3339)+`"}]`)
	found, err = p.Find(t.Context(), f.repo, bridge.Write{Kind: bridge.PullReview, Number: 1, Event: "COMMENT", Body: "mine, on page two"}, time.Now().Add(-time.Hour))
	if err != nil || found == nil || found.ID != 7 {
		t.Errorf("Find = %+v, %v, want the review of the second page", found, err)
	}
}

// The account was renamed between the write and the look: it is still the same account.
func TestARenamedAccountsCommentIsFound(t *testing.T) {
	f, p := newForge(t)
	f.json("GET", "//user", `{"login":"old-name","id":5}`)
	f.json("GET", "issues/1/comments", `[]`)
	w := bridge.Write{Kind: bridge.IssueComment, Number: 1, Body: "done"}
	since := time.Now().Add(-time.Minute)
	if found, err := p.Find(t.Context(), f.repo, w, since); found != nil || err != nil { // it has learned the name
		t.Fatal(found, err)
	}
	f.json("GET", "//user", `{"login":"new-name","id":5}`)
	f.json("GET", "issues/1/comments", `[{"id":77,"html_url":"https://x.example/77","user":{"login":"new-name","id":5},"body":"done","created_at":"`+time.Now().UTC().Format(time.RFC3339)+`"}]`)
	found, err := p.Find(t.Context(), f.repo, w, since)
	if found == nil && err == nil {
		t.Errorf("it is said for certain that the comment is not there; the same words would be posted again")
	}
}
