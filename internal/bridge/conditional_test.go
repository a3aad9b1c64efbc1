package bridge

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// tagged is a forge whose one answer has an ETag that differs between tokens and forms, as GitHub's.
type tagged struct {
	mu        sync.Mutex
	version   string
	full, not int // answers of each kind
}

func (f *tagged) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	tag := etag(f.version, r.Header.Get("Authorization"), r.Header.Get("Accept"))
	w.Header().Set("ETag", tag)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Served", fmt.Sprint(f.full+f.not))
	if r.Header.Get("If-None-Match") == tag {
		f.not++
		w.WriteHeader(http.StatusNotModified)
		return
	}
	f.full++
	_, _ = io.WriteString(w, f.version+" for "+r.Header.Get("Accept"))
}

func etag(parts ...string) string {
	return fmt.Sprintf("\"%x\"", sha256.Sum256([]byte(strings.Join(parts, "\n"))))
}

func (f *tagged) counts() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprintf("%d full, %d not modified", f.full, f.not)
}

func get(t *testing.T, g *Guard, address, accept string) (*http.Response, string) {
	t.Helper()
	req, _ := http.NewRequestWithContext(t.Context(), "GET", address, nil)
	req.Header.Set("Accept", accept)
	resp, err := g.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

func TestWhatHasNotChangedIsAnsweredFromMemory(t *testing.T) {
	f := &tagged{version: "v1"}
	forge := serveOn(t, "127.0.0.1", f)
	g := guardOf(t, forge.URL)
	for i := range 3 {
		resp, text := get(t, g, forge.URL+"/repos/a/b", "json")
		if resp.StatusCode != 200 || text != "v1 for json" || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("answer %d = %d %q of type %q", i, resp.StatusCode, text, resp.Header.Get("Content-Type"))
		}
		if got := resp.Header.Get("X-Served"); got != fmt.Sprint(i) {
			t.Errorf("answer %d has the headers of answer %s", i, got)
		}
	}
	if f.counts() != "1 full, 2 not modified" {
		t.Errorf("the forge gave %s", f.counts())
	}
	f.mu.Lock()
	f.version = "v2"
	f.mu.Unlock()
	if _, text := get(t, g, forge.URL+"/repos/a/b", "json"); text != "v2 for json" {
		t.Errorf("after a change the answer is %q", text)
	}
	if _, text := get(t, g, forge.URL+"/repos/a/b", "json"); text != "v2 for json" || f.counts() != "2 full, 3 not modified" {
		t.Errorf("the answer is %q after %s", text, f.counts())
	}
}

func TestAnAnswerIsRememberedForItsFormAndAddressAlone(t *testing.T) {
	f := &tagged{version: "v1"}
	forge := serveOn(t, "127.0.0.1", f)
	g := guardOf(t, forge.URL)
	for range 2 {
		for _, path := range []string{"/repos/a/b", "/repos/a/c", "/repos/a/b?page=2"} {
			for _, accept := range []string{"json", "html"} {
				if _, text := get(t, g, forge.URL+path, accept); text != "v1 for "+accept {
					t.Errorf("%s as %s = %q", path, accept, text)
				}
			}
		}
	}
	if f.counts() != "6 full, 6 not modified" {
		t.Errorf("the forge gave %s", f.counts())
	}
}

// swapped is a credential that is exchanged while the Guard runs.
type swapped struct{ token *string }

func (c swapped) ID() string { return "swapped" }
func (c swapped) Authorization(context.Context) (Secret, error) {
	return NewSecret("Bearer " + *c.token), nil
}
func (c swapped) Refused(context.Context, Secret) bool { return false }

func TestAnAnswerIsRememberedForItsCredentialAlone(t *testing.T) {
	f := &tagged{version: "v1"}
	var conditions record
	forge := serveOn(t, "127.0.0.1", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conditions.mu.Lock()
		conditions.lines = append(conditions.lines, r.Header.Get("If-None-Match"))
		conditions.mu.Unlock()
		f.ServeHTTP(w, r)
	}))
	token := "first-token"
	g := guardOf(t, forge.URL, func(c *GuardConfig) { c.Credential = swapped{&token} })
	get(t, g, forge.URL+"/repos/a/b", "json")
	token = "second-token"
	get(t, g, forge.URL+"/repos/a/b", "json")
	if conditions.all() != "; " || f.counts() != "2 full, 0 not modified" {
		t.Errorf("another credential asked for news of the first one's answer: %q", conditions.all())
	}
}

func TestOnlyWholeAnswersAreRemembered(t *testing.T) {
	f := &tagged{version: strings.Repeat("x", 5000)}
	forge := serveOn(t, "127.0.0.1", f)
	g := guardOf(t, forge.URL)
	resp, err := g.Client().Get(forge.URL + "/repos/a/b")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.CopyN(io.Discard, resp.Body, 100)
	_ = resp.Body.Close()
	if _, text := get(t, g, forge.URL+"/repos/a/b", ""); len(text) < 5000 || f.counts() != "2 full, 0 not modified" {
		t.Errorf("the answer has %d bytes after %s", len(text), f.counts())
	}
}

func TestConditionsOfACallersOwnAreLeftAlone(t *testing.T) {
	f := &tagged{version: "v1"}
	forge := serveOn(t, "127.0.0.1", f)
	g := guardOf(t, forge.URL)
	_, _ = get(t, g, forge.URL+"/repos/a/b", "json")
	req, _ := http.NewRequest("GET", forge.URL+"/repos/a/b", nil)
	req.Header.Set("Accept", "json")
	req.Header.Set("If-None-Match", etag("v1", "Bearer "+sentinel, "json"))
	resp, err := g.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusNotModified {
		t.Errorf("GET with a condition = %d, want the forge's own 304", resp.StatusCode)
	}
}

func TestMemoryOfAnswersIsBounded(t *testing.T) {
	s := newAnswers()
	body := make([]byte, maxAnswer)
	for i := range 100 {
		s.put(&keptAnswer{key: fmt.Sprint(i), etag: "x", body: body})
		s.put(&keptAnswer{key: fmt.Sprint(i), etag: "x", body: body})
	}
	if s.size > maxAnswers || len(s.by) != s.order.Len() || len(s.by) < 20 {
		t.Errorf("%d answers of %d bytes are kept, %d in order", len(s.by), s.size, s.order.Len())
	}
	if s.by["99"] == nil || s.by["0"] != nil {
		t.Error("it is not the oldest that went")
	}
	// What is asked for stays.
	ask := func() *asked {
		req, _ := http.NewRequest("GET", "http://x/", nil)
		return s.revalidate(req, "c")
	}
	wanted := ask().key
	s.put(&keptAnswer{key: wanted, etag: "x", body: body})
	for i := range 100 {
		s.put(&keptAnswer{key: fmt.Sprint("later", i), etag: "x", body: body})
		ask()
	}
	if s.by[wanted] == nil {
		t.Error("what was asked for all the time is gone")
	}
}

func TestAnswersThatAreTooLargeOrForbiddenAreNotRemembered(t *testing.T) {
	for name, change := range map[string]func(h http.Header) int{
		"too large": func(http.Header) int { return maxAnswer + 1 },
		"no-store": func(h http.Header) int {
			h.Set("Cache-Control", "private, No-Store")
			return 10
		},
	} {
		conditions := 0
		forge := serveOn(t, "127.0.0.1", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("If-None-Match") != "" {
				conditions++
			}
			w.Header().Set("ETag", `"x"`)
			_, _ = io.CopyN(w, zeros{}, int64(change(w.Header())))
		}))
		g := guardOf(t, forge.URL)
		for range 2 {
			get(t, g, forge.URL+"/repos/a/b", "json")
		}
		if conditions != 0 || len(g.answers.by) != 0 {
			t.Errorf("%s: %d answers are remembered", name, len(g.answers.by))
		}
	}
}
