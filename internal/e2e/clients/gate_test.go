//go:build e2e

package clients

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// gate stands before the forge and holds back chosen requests.
type gate struct {
	url string

	mu   sync.Mutex
	held map[string]*hold
}

// hold is what is held back of one path.
type hold struct {
	asked    chan struct{} // closed once it was asked for
	released chan struct{} // closed once it may be answered
	release  func()
}

func newGate(t *testing.T, forge string) *gate {
	t.Helper()
	target, err := url.Parse(forge)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{held: map[string]*hold{}}
	proxy := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.wait(r)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	g.url = server.URL
	return g
}

// issue holds back everything about an issue until the test ends or it is released.
func (g *gate) issue(t *testing.T, number int) *hold {
	t.Helper()
	h := &hold{asked: make(chan struct{}), released: make(chan struct{})}
	h.release = sync.OnceFunc(func() { close(h.released) })
	t.Cleanup(h.release)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held[fmt.Sprintf("/issues/%d", number)] = h
	return h
}

// wait holds r back if it is to be. It was asked for from then on.
func (g *gate) wait(r *http.Request) {
	h := g.find(r.URL.Path)
	if h == nil {
		return
	}
	select {
	case <-h.released:
	case <-r.Context().Done():
	}
}

func (g *gate) find(path string) *hold {
	g.mu.Lock()
	defer g.mu.Unlock()
	for end, h := range g.held {
		if !strings.HasSuffix(path, end) && !strings.Contains(path, end+"/") {
			continue
		}
		select {
		case <-h.asked:
		default:
			close(h.asked)
		}
		return h
	}
	return nil
}
