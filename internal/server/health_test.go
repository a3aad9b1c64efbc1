package server

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// probed is a Server without sockets, for a bubble's time.
func probed(t *testing.T, ready func(context.Context) error) (*memory, func() (int, finding)) {
	t.Helper()
	m := newMemory()
	s, err := New(Config{Workspaces: m, Tokens: &m.tokens, Events: &recorder{}, Logger: slog.New(slog.DiscardHandler), Ready: map[string]func(context.Context) error{"storage": ready}})
	if err != nil {
		t.Fatal(err)
	}
	h := s.Handler()
	return m, func() (int, finding) {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "/readyz", nil)
		r.Host = "localhost"
		h.ServeHTTP(w, r)
		var state finding
		if err := json.Unmarshal(w.Body.Bytes(), &state); err != nil || state.Broken == nil {
			t.Errorf("%d %q: %v", w.Code, w.Body, err)
		}
		return w.Code, state
	}
}

func TestReadinessNamesWhatIsBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var full error
		m, ready := probed(t, func(context.Context) error { return full })
		if status, s := ready(); status != 200 || !s.Ready || len(s.Broken) != 0 {
			t.Errorf("%d %+v, want ready", status, s)
		}
		full = errors.New("no space left on device")
		time.Sleep(readyFor)
		if status, s := ready(); status != 503 || s.Ready || len(s.Broken) != 1 || s.Broken[0] != (brokenPart{"storage", full.Error()}) {
			t.Errorf("%d %+v, want the disk", status, s)
		}
		m.broken = errors.New("tmux does not answer")
		time.Sleep(readyFor)
		if status, s := ready(); status != 503 || len(s.Broken) != 2 || s.Broken[0] != (brokenPart{"workspaces", "tmux does not answer"}) {
			t.Errorf("%d %+v, want tmux and the disk", status, s)
		}
	})
}

// Anybody on the machine may ask, as often as he likes.
func TestReadinessIsCheckedOnceASecondHoweverManyAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var checks atomic.Int32
		_, ready := probed(t, func(context.Context) error {
			checks.Add(1)
			time.Sleep(readyFor / 2)
			return nil
		})
		for second := range int32(3) {
			for range 2 { // while it is checked, and after
				var all sync.WaitGroup
				for range 100 {
					all.Go(func() {
						if status, _ := ready(); status != 200 {
							t.Errorf("%d, want 200", status)
						}
					})
				}
				all.Wait()
			}
			if n := checks.Load(); n != second+1 {
				t.Errorf("%d checks, want %d", n, second+1)
			}
			time.Sleep(readyFor)
		}
	})
}

func TestAReadinessCheckThatHangsIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		_, ready := probed(t, func(context.Context) error { <-free; return nil })
		for range 3 {
			start := time.Now()
			if status, s := ready(); status != 503 || len(s.Broken) != 1 || !strings.Contains(s.Broken[0].Error, "hangs") {
				t.Errorf("%d %+v, want that the check hangs", status, s)
			}
			if took := time.Since(start); took > 2*readyTimeout {
				t.Errorf("answered after %s", took)
			}
		}
		close(free)
		synctest.Wait()
		if status, s := ready(); status != 200 {
			t.Errorf("%d %+v after it has ended, want ready", status, s)
		}
	})
}

func TestAReadinessCheckThatPanicsIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := true
		_, ready := probed(t, func(context.Context) error {
			if bad {
				panic("secret")
			}
			return nil
		})
		if status, s := ready(); status != 503 || len(s.Broken) != 1 || strings.Contains(s.Broken[0].Error, "secret") {
			t.Errorf("%d %+v, want a fault without its text", status, s)
		}
		bad = false
		time.Sleep(readyFor)
		if status, s := ready(); status != 200 {
			t.Errorf("%d %+v, want ready again", status, s)
		}
	})
}

func TestHealthIsServedWhileSomethingIsBroken(t *testing.T) {
	p := open(t)
	p.workspaces.mu.Lock()
	p.workspaces.broken = errors.New("tmux does not answer")
	p.workspaces.mu.Unlock()
	if g := p.do(p.request("GET", "/readyz", nil)); g.status != http.StatusServiceUnavailable {
		t.Errorf("readyz %d, want 503", g.status)
	}
	if g := p.do(p.request("GET", "/healthz", nil)); g.status != http.StatusOK {
		t.Errorf("healthz %d, want 200", g.status)
	}
}
