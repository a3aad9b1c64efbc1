package promises_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fleet/internal/e2e/shipyard"
)

// frozen stops the ship while send hands it requests, so that all are in flight before the first
// is answered.
func (f *fleet) frozen(t *testing.T, send func()) {
	t.Helper()
	f.daemon.Signal(t, syscall.SIGSTOP)
	defer f.daemon.Signal(t, syscall.SIGCONT)
	if !shipyard.Poll(func() bool { return stopped(f.daemon.PID()) }) {
		t.Fatal("the ship does not stop")
	}
	send()
}

// stopped says that no thread of a process runs any more; the signal alone does not.
func stopped(pid int) bool {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, file := range files {
		raw, err := os.ReadFile(file)
		_, state, found := strings.Cut(string(raw), ") ")
		if err != nil || !found || state[0] != 'T' {
			return false
		}
	}
	return len(files) > 0
}

const cancelSeven = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`

func TestACancelTouchesNoOtherClientsCall(t *testing.T) {
	needsProc(t)
	t.Parallel()
	f := serving(t)
	f.activate(t, "one", "two")
	for what, names := range map[string][2]string{"in one workspace": {"one", "one"}, "in two": {"one", "two"}} {
		a, b := f.harness(t, names[0]), f.harness(t, names[1])
		for range 5 {
			f.frozen(t, func() {
				a.send(t, call("7", "agent_status_get", "{}"))
				b.send(t, call("7", "agent_status_get", "{}"))
				a.send(t, cancelSeven)
				// Answered by the adapter itself, so the cancel before it has been read.
				if m := a.ask(t, `[]`); m.Error == nil {
					t.Fatalf("an empty batch = %s, want an error", m.raw)
				}
			})
			if m := b.answer(t); string(m.ID) != "7" || m.ok(t) != "null" {
				t.Errorf("%s: the other client's call 7 = %s, want its result", what, m.raw)
			}
			if m := a.ask(t, call("8", "agent_status_get", "{}")); string(m.ID) != "8" {
				t.Errorf("%s: after the cancel came %s, want the answer to 8 and none to 7", what, m.raw)
			}
		}
	}
}

// Over HTTP a cancel by message is taken and dropped, since an id says nothing about the client.
func TestACancelOverHTTPEndsNothing(t *testing.T) {
	needsProc(t)
	t.Parallel()
	f := serving(t)
	f.activate(t, "one")
	tok, port := f.token(t, "one"), f.port(t)
	calls, cancels := make(chan reply, 5), make(chan reply, 5)
	f.frozen(t, func() {
		for range 5 {
			go func() {
				calls <- request(t, port, ask{path: mcpPath("one"), token: tok, body: call("7", "agent_status_get", "{}")})
			}()
			go func() { cancels <- request(t, port, ask{path: mcpPath("one"), token: tok, body: cancelSeven}) }()
		}
	})
	for range 5 {
		if r := within(t, calls, "a call"); parse(t, r.body).ok(t) != "null" {
			t.Errorf("a call beside cancels of its id = %d %s, want its result", r.status, r.body)
		}
		if r := within(t, cancels, "a cancel"); r.status != 202 || r.body != "" {
			t.Errorf("a cancel = %d %q, want 202 and no body", r.status, r.body)
		}
	}
}

func TestClientsWithTheSameIDsGetTheirOwnAnswers(t *testing.T) {
	needsProc(t)
	t.Parallel()
	f := serving(t)
	names := []string{"one", "two", "three"}
	f.activate(t, names...)
	clients := map[string]*adapter{}
	for _, name := range names {
		clients[name] = f.harness(t, name)
		clients[name].register(t, "I am "+name)
	}
	f.frozen(t, func() {
		for id := range 10 {
			for _, name := range names {
				clients[name].send(t, call(fmt.Sprint(id), "agent_status_get", "{}"))
			}
		}
	})
	for _, name := range names {
		seen := map[string]bool{}
		for range 10 {
			m := clients[name].answer(t)
			if got := statusOf(t, m.ok(t)); got.Workspace != name || got.Description != "I am "+name || seen[string(m.ID)] {
				t.Errorf("the client in %s got %s, or that twice", name, m.raw)
			}
			seen[string(m.ID)] = true
		}
	}
}
