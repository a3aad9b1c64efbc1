package promises_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fleet/internal/atlas"
	"fleet/internal/e2e/shipyard"
)

// pipeline sends n calls of agent_status_get without waiting for the answers.
func (a *adapter) pipeline(t *testing.T, n int) (ids map[string]bool) {
	t.Helper()
	ids = map[string]bool{}
	for range n {
		a.next++
		id := fmt.Sprint(a.next)
		ids[id] = true
		a.send(t, call(id, "agent_status_get", "{}"))
	}
	return ids
}

// collect takes one answer to each of ids, which must be good and hold text.
func (a *adapter) collect(t *testing.T, ids map[string]bool, text string) {
	t.Helper()
	for len(ids) > 0 {
		m := a.answer(t)
		if !ids[string(m.ID)] || !strings.Contains(m.ok(t), text) {
			t.Errorf("%s answers none of the calls, or the same twice, or not with %q", m.raw, text)
		}
		delete(ids, string(m.ID))
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// TestAChangedPortIsInvisibleToRunningAdapters edits atlas.json under a running ship, as an
// operator does, and restarts it with calls in flight.
func TestAChangedPortIsInvisibleToRunningAdapters(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.activate(t, "one", "two")
	inherits, scrubs := f.harness(t, "one"), startAdapter(t, f.path("two"), scrubbed(f))
	scrubs.open(t)
	both := []*adapter{inherits, scrubs}
	for _, a := range both {
		a.register(t, "moving")
	}
	for range 3 {
		port := freePort(t)
		if err := atlas.Edit(f.root, func(file *atlas.File) error { file.Port = port; return nil }); err != nil {
			t.Fatal(err)
		}
		var before, during []map[string]bool
		for _, a := range both {
			before = append(before, a.pipeline(t, 20))
		}
		f.daemon.Stop(t)
		for _, a := range both {
			during = append(during, a.pipeline(t, 20))
		}
		f.serve(t)
		if got := f.port(t); got != port {
			t.Fatalf("the ship serves port %d, want %d as atlas.json says", got, port)
		}
		for i, a := range both {
			for id := range during[i] {
				before[i][id] = true
			}
			a.collect(t, before[i], "moving")
		}
	}
	// What starts in the session from now on is told the new port.
	f.harness(t, "one").call(t, "agent_status_get", "{}").ok(t)
}

func TestATokenRotatedUnderCallsInFlightIsInvisible(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.activate(t, "one")
	inherits, scrubs := f.harness(t, "one"), startAdapter(t, f.path("one"), scrubbed(f))
	scrubs.open(t)
	inherits.register(t, "rotating")
	for range 5 {
		old := f.token(t, "one")
		first, second := inherits.pipeline(t, 30), scrubs.pipeline(t, 30)
		f.must(t, "token", "rotate", "r/one")
		inherits.collect(t, first, "rotating")
		scrubs.collect(t, second, "rotating")
		inherits.collect(t, inherits.pipeline(t, 10), "rotating")
		scrubs.collect(t, scrubs.pipeline(t, 10), "rotating")
		if f.opens(t, "one", old) {
			t.Error("the token from before a rotation opens the workspace")
		}
	}
}

// TestAnAdapterOutsideTheSessionOutlivesIt is a harness in an editor's terminal: the session that
// is deactivated does not end it, and the next session is the one that it works in.
func TestAnAdapterOutsideTheSessionOutlivesIt(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.activate(t, "one", "two")
	inherits, scrubs := f.harness(t, "one"), startAdapter(t, f.path("one"), scrubbed(f))
	scrubs.open(t)
	both := []*adapter{inherits, scrubs}
	for i := range 3 {
		inherits.register(t, "first life")
		var flying []map[string]bool
		for _, a := range both {
			flying = append(flying, a.pipeline(t, 20))
		}
		f.must(t, "deactivate", "r/one")
		for n, a := range both {
			for range 20 { // each is answered once, as it was when it arrived
				m := a.answer(t)
				if !flying[n][string(m.ID)] || m.Error != nil && !strings.Contains(m.Error.Message, "ship activate r/one") {
					t.Errorf("while r/one was deactivated an adapter answered %s", m.raw)
				}
				delete(flying[n], string(m.ID))
			}
			if m := a.ask(t, call("1", "agent_status_get", "{}")); m.Error == nil || !strings.Contains(m.Error.Message, "ship activate r/one") {
				t.Errorf("the adapter of an inactive workspace answers %s, want an error that says ship activate r/one", m.raw)
			}
		}
		if i == 1 { // the ship may be another one by then
			f.daemon.Stop(t)
			f.serve(t)
		}
		f.must(t, "activate", "r/one", "--", "sleep", "1000")
		for _, a := range both {
			if got := a.call(t, "agent_status_get", "{}").ok(t); got != "null" {
				t.Errorf("agent_status_get in the new session = %s, want null", got)
			}
		}
	}
	f.becomes(t, "two", "active")
}

// TestALostTmuxServerCostsItsSessionsAndNothingElse kills it without warning, with its socket in
// place and with the socket gone too.
func TestALostTmuxServerCostsItsSessionsAndNothingElse(t *testing.T) {
	for name, lose := range map[string]func(t *testing.T, socket string, server int){
		"killed": func(t *testing.T, _ string, server int) { _ = syscall.Kill(server, syscall.SIGKILL) },
		"killed, and its socket removed": func(t *testing.T, socket string, server int) {
			_ = syscall.Kill(server, syscall.SIGKILL)
			_ = os.Remove(socket)
		},
		"killed, its socket and configuration removed": func(t *testing.T, socket string, server int) {
			_ = syscall.Kill(server, syscall.SIGKILL)
			for _, path := range []string{socket, filepath.Join(filepath.Dir(socket), "tmux.conf")} {
				_ = os.Remove(path)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, tokens := populated(t, "one", "two")
			a := f.harness(t, "one")
			socket, server := f.tmuxServer(t)
			f.shell(t, f.path("one"), "echo work >unsaved.txt")
			ids := a.pipeline(t, 20)
			lose(t, socket, server)
			for range ids {
				if m := a.answer(t); m.Error != nil && !strings.Contains(m.Error.Message, "ship activate r/one") {
					t.Errorf("while tmux was lost the adapter answered %s", m.raw)
				}
			}
			for name, token := range tokens {
				if !shipyard.Poll(func() bool { return !f.opens(t, name, token) }) {
					t.Errorf("the token of r/%s opens it, though its session is gone", name)
				}
				f.becomes(t, name, "session_ended")
				if got := f.deactivations(t, name); len(got) != 1 || got[0] != "session_ended" {
					t.Errorf("r/%s has workspace.deactivated for %q, want session_ended once", name, got)
				}
			}
			for name := range tokens {
				f.must(t, "activate", "r/"+name, "--", "sleep", "1000")
				f.becomes(t, name, "active")
			}
			a.register(t, "back again")
			if got := f.shell(t, f.path("one"), "cat unsaved.txt"); got != "work\n" {
				t.Errorf("the checkout's file holds %q", got)
			}
			if f.daemon.Over() {
				t.Error("the ship has ended")
			}
		})
	}
}
