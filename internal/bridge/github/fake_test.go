package github

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"fleet/api"
	"fleet/internal/bridge"
)

const (
	headSHA = "1111111111111111111111111111111111111111"
	oldSHA  = "2222222222222222222222222222222222222222"
)

// forge is a far end that answers what a test tells it to, by method and path.
type forge struct {
	t      testing.TB
	server *httptest.Server
	repo   bridge.Repo

	mu       sync.Mutex
	routes   map[string]http.HandlerFunc
	requests []string // method, escaped path and query
}

// newForge begins with a repository acme/widgets that is there.
func newForge(t testing.TB) (*forge, *Provider) {
	t.Helper()
	f := &forge{t: t, routes: map[string]http.HandlerFunc{}}
	f.server = httptest.NewServer(f)
	t.Cleanup(f.server.Close)
	base, err := url.Parse(f.server.URL + "/api/v3")
	if err != nil {
		t.Fatal(err)
	}
	guard, err := bridge.NewGuard(bridge.GuardConfig{API: base, Credential: fixed{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(guard.Close)
	f.repo = bridge.Repo{Name: "widgets", Path: "acme/widgets", APIURL: base}
	f.json("GET", "", `{"id":42,"full_name":"acme/widgets","private":true,"archived":false,"open_issues_count":3}`)
	return f, New(guard, nil)
}

type fixed struct{}

func (fixed) ID() string { return "fixed" }
func (fixed) Authorization(context.Context) (bridge.Secret, error) {
	return bridge.NewSecret("Bearer ghp_fixedfixedfixedfixedfixedfixedfixed1"), nil
}
func (fixed) Refused(context.Context, bridge.Secret) bool { return false }

func (f *forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/api/v3")
	// Answered before it is read, a long request may end in a reset.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	f.mu.Lock()
	f.requests = append(f.requests, r.Method+" "+path+"?"+r.URL.RawQuery)
	route := f.routes[r.Method+" "+path+"?"+r.URL.RawQuery]
	if route == nil {
		route = f.routes[r.Method+" "+path]
	}
	if own, ok := strings.CutPrefix(path, "/repositories/42"); ok && route == nil {
		route = f.routes[r.Method+" /repos/acme/widgets"+own]
	}
	f.mu.Unlock()
	if route == nil {
		w.WriteHeader(404)
		fmt.Fprint(w, `{"message":"Not Found"}`)
		return
	}
	route(w, r)
}

// on routes what is below the repository, or an absolute path that begins with "//".
func (f *forge) on(method, path string, h http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if own, ok := strings.CutPrefix(path, "//"); ok {
		f.routes[method+" /"+own] = h
		return
	}
	f.routes[strings.TrimSuffix(method+" /repos/acme/widgets/"+path, "/")] = h
}

func (f *forge) json(method, path, body string) {
	f.on(method, path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if method == "POST" {
			w.WriteHeader(201)
		}
		fmt.Fprint(w, body)
	})
}

// refuse answers with a status, headers as "Name: value", and a body.
func (f *forge) refuse(method, path string, status int, body string, headers ...string) {
	f.on(method, path, func(w http.ResponseWriter, _ *http.Request) {
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	})
}

// pages serves a list in pages that are linked as the forge does it: by the repository's number,
// with a token in place of page numbers.
func (f *forge) pages(path string, pages ...string) {
	address := func(n int) string {
		return fmt.Sprintf("%s/api/v3/repositories/42/%s?cursor=c%d&per_page=100", f.server.URL, path, n)
	}
	serve := func(n int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			var l []string
			if n < len(pages)-1 {
				l = append(l, "<"+address(n+1)+`>; rel="next"`, "<"+address(len(pages)-1)+`>; rel="last"`)
			}
			if n > 0 {
				l = append(l, "<"+address(n-1)+`>; rel="prev"`, "<"+address(0)+`>; rel="first"`)
			}
			w.Header().Set("Link", strings.Join(l, ", "))
			fmt.Fprint(w, pages[n])
		}
	}
	f.on("GET", path, serve(0))
	for n := range pages {
		f.on("GET", fmt.Sprintf("//repositories/42/%s?cursor=c%d&per_page=100", path, n), serve(n))
	}
}

// forwardOnly takes all links but the next from every answer.
func (f *forge) forwardOnly() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, route := range f.routes {
		f.routes[name] = func(w http.ResponseWriter, r *http.Request) {
			answer := httptest.NewRecorder()
			route(answer, r)
			for l := range strings.SplitSeq(answer.Header().Get("Link"), ", ") {
				if strings.Contains(l, `rel="next"`) {
					w.Header().Set("Link", l)
				}
			}
			w.WriteHeader(answer.Code)
			_, _ = answer.Body.WriteTo(w)
		}
	}
}

func (f *forge) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}

// count says how often something was asked that begins so.
func (f *forge) count(prefix string) int {
	n := 0
	for _, r := range f.asked() {
		if strings.HasPrefix(r, prefix) {
			n++
		}
	}
	return n
}

func encoded(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// refusedWith checks an error's code and reason, and gives it.
func refusedWith(t *testing.T, err error, code api.Code, reason string) *api.Error {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) || e.Code != code || e.Reason != reason {
		t.Fatalf("got error %v (%+v), want %s/%s", err, e, code, reason)
	}
	return e
}
