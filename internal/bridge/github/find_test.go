package github

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fleet/api"
	"fleet/internal/bridge"
)

func TestFindKnowsOwnWords(t *testing.T) {
	since := dawn.Add(10*time.Minute + 300*time.Millisecond)
	mine := func(id, minute int, login, body string) object {
		c := commentJSON(id, minute, body)
		c["user"] = object{"login": login}
		return c
	}
	f, p := newForge(t)
	f.json("GET", "//user", `{"login":"fleet","id":5}`)
	list := func(all ...object) { f.pages("issues/7/comments", paged(t, all)...) }
	find := func(w bridge.Write) int64 {
		t.Helper()
		got, err := p.Find(t.Context(), f.repo, w, since)
		if err != nil {
			t.Fatal(err)
		}
		if got == nil {
			return 0
		}
		return got.ID
	}
	list(mine(1, 9, "fleet", "hello"), mine(2, 10, "fleet", "hello"), mine(3, 11, "ann", "hello"), mine(4, 12, "fleet", "hello there"))
	if id := find(comment("hello")); id != 2 {
		t.Errorf("found %d, want 2: not older, not another's, not other words", id)
	}
	list(mine(1, 9, "fleet", "hello"))
	if id := find(comment("hello")); id != 0 {
		t.Errorf("found %d, want nothing: it is older", id)
	}
	list(mine(5, 10, "Fleet", "line one\r\nline two\r\n"))
	if id := find(comment("line one  \nline two\n\n")); id != 5 {
		t.Errorf("found %d, want 5: line ends and blanks at ends are the forge's", id)
	}
	if id := find(comment("line one line two")); id != 0 {
		t.Errorf("found %d, want nothing", id)
	}
	f.json("GET", "pulls/7/reviews", encoded(t, []object{
		reviewJSON(20, 11, "fleet", "COMMENTED", headSHA), reviewJSON(21, 12, "fleet", "APPROVED", oldSHA), reviewJSON(22, 13, "fleet", "APPROVED", headSHA), reviewJSON(23, 14, "ann", "APPROVED", headSHA),
	}))
	if id := find(review("APPROVE", "review 20")); id != 0 {
		t.Errorf("found %d, want nothing: it is no approval", id)
	}
	w := review("APPROVE", "review 22")
	if id := find(w); id != 22 {
		t.Errorf("found %d, want 22", id)
	}
	w.Body = "review 21"
	if id := find(w); id != 0 {
		t.Errorf("found %d, want nothing: it is of another commit", id)
	}
	if n := f.count("GET /user"); n != 1 {
		t.Errorf("asked %d times who it is, want once", n)
	}
}

func TestFindIsNotSureOfAListItDidNotReadToItsEnd(t *testing.T) {
	f, p := newForge(t)
	f.json("GET", "//user", `{"login":"fleet"}`)
	pages := make([]string, maxPages+1)
	for n := range pages {
		pages[n] = "[]"
	}
	f.pages("issues/7/comments", pages...)
	_, err := p.Find(t.Context(), f.repo, comment("hello"), dawn)
	refusedWith(t, err, api.Unavailable, "list_too_long")
}

func TestFindAsksAgainWhoItIsUnderAnotherCredential(t *testing.T) {
	f, _ := newForge(t)
	rotating := &rotating{}
	rotating.set("Bearer first")
	guard, err := bridge.NewGuard(bridge.GuardConfig{API: f.repo.APIURL, Credential: rotating})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(guard.Close)
	p := New(guard, nil)
	f.on("GET", "//user", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"login":%q}`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	})
	c := commentJSON(3, 5, "hello")
	c["user"] = object{"login": "second"}
	f.json("GET", "issues/7/comments", encoded(t, []object{c}))
	if got, err := p.Find(t.Context(), f.repo, comment("hello"), dawn); err != nil || got != nil {
		t.Errorf("as the first: %+v, %v; want nothing", got, err)
	}
	rotating.set("Bearer second")
	if got, err := p.Find(t.Context(), f.repo, comment("hello"), dawn); err != nil || got == nil || got.ID != 3 {
		t.Errorf("as the second: %+v, %v; want its own comment", got, err)
	}
}

// rotating is a credential that its operator puts another in place of.
type rotating struct {
	fixed
	now atomic.Pointer[string]
}

func (r *rotating) set(header string) { r.now.Store(&header) }

func (r *rotating) Authorization(context.Context) (bridge.Secret, error) {
	return bridge.NewSecret(*r.now.Load()), nil
}

func TestAppFindsItselfByItsSlug(t *testing.T) {
	f, p := newForge(t)
	f.refuse("GET", "//user", 403, `{"message":"Resource not accessible by integration"}`)
	f.on("POST", "//api/graphql", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"data":{"viewer":{"login":"fleet-app[bot]"}}}`)
	})
	c := commentJSON(3, 5, "hello")
	c["user"] = object{"login": "fleet-app[bot]", "type": "Bot"}
	f.json("GET", "issues/7/comments", encoded(t, []object{c}))
	got, err := p.Find(t.Context(), f.repo, comment("hello"), dawn)
	if err != nil || got == nil || got.ID != 3 {
		t.Errorf("got %+v, %v", got, err)
	}
}
