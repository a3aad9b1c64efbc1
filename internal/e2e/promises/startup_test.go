package promises_test

import (
	"strings"
	"testing"
	"time"
)

// startPatience is how long agent-mcp waits for a ship that is away when a harness begins.
const startPatience = 4 * time.Second

// era is how a harness begins and goes on.
type era struct{ opening, call string }

func eras() map[string]era {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	return map[string]era{
		"initialize": {
			`{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"promises","version":"1"}}}`,
			call(`"next"`, "agent_status_get", "{}"),
		},
		"server/discover": {
			`{"jsonrpc":"2.0","id":"open","method":"server/discover","params":{` + meta + `}}`,
			`{"jsonrpc":"2.0","id":"next","method":"tools/call","params":{"name":"agent_status_get","arguments":{},` + meta + `}}`,
		},
	}
}

// beginning is a harness of each era that has just sent its opening, while no ship runs.
type beginning struct {
	adapters map[string]*adapter
	asked    time.Time
}

func (f *fleet) begin(t *testing.T, env []string) beginning {
	t.Helper()
	b := beginning{map[string]*adapter{}, time.Now()}
	for name, e := range eras() {
		b.adapters[name] = startAdapter(t, f.path("one"), env)
		b.adapters[name].send(t, e.opening)
	}
	return b
}

// served holds each harness to get the answers to its opening and to a call, and to end well.
func (b beginning) served(t *testing.T) {
	t.Helper()
	for name, e := range eras() {
		a := b.adapters[name]
		if m := a.answer(t); string(m.ID) != `"open"` || m.Result == nil {
			t.Errorf("%s was answered with %s", name, m.raw)
		}
		if m := a.ask(t, e.call); string(m.ID) != `"next"` || !strings.Contains(m.raw, `"text":"null"`) {
			t.Errorf("the call after %s was answered with %s", name, m.raw)
		}
		if code, rest := a.end(t); code != 0 || len(rest) > 0 {
			t.Errorf("after %s agent-mcp ended with %d and %q more, want 0 and nothing", name, code, rest)
		}
	}
}

// away gives a fleet with an active workspace "one" whose ship has just been stopped, the
// environment of that workspace's harness, and how long its ship takes to become ready.
func away(t *testing.T) (f *fleet, env []string, start time.Duration) {
	t.Helper()
	f = serving(t)
	f.activate(t, "one")
	env = f.paneEnv(t, "one")
	f.daemon.Stop(t)
	began := time.Now()
	f.serve(t)
	start = time.Since(began)
	f.daemon.Stop(t)
	return f, env, start
}

// A ship that comes 3.9 s after the harness began is in time; one that takes so long to start that
// it comes after the 4 s does not count, and is tried again.
func TestAHarnessThatStartsBeforeTheShipIsAnsweredWhenItComes(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{200 * time.Millisecond, 2 * time.Second, 3900 * time.Millisecond} {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			f, env, start := away(t)
			for range 8 {
				b := f.begin(t, env)
				time.Sleep(after - start) // no ship runs
				f.serve(t)
				came := time.Since(b.asked)
				if came < startPatience {
					b.served(t)
					return
				}
				f.daemon.Stop(t)
				start += came - after // it took longer than the last time
			}
			t.Fatal("the ship never came in time: the machine is too slow")
		})
	}
}

// TestAHarnessThatStartsLongBeforeTheShipIsToldWhatToDoAndServedLater: an opening that failed costs
// no more than itself.
func TestAHarnessThatStartsLongBeforeTheShipIsToldWhatToDoAndServedLater(t *testing.T) {
	t.Parallel()
	f, env, _ := away(t)
	b := f.begin(t, env)
	for name, a := range b.adapters {
		if m := a.answer(t); string(m.ID) != `"open"` || m.Error == nil || !strings.Contains(m.Error.Message, "run: ship up (or ship serve)") {
			t.Errorf("%s was answered with %s", name, m.raw)
		}
	}
	time.Sleep(time.Until(b.asked.Add(6 * time.Second))) // nobody asks
	f.serve(t)
	for name, e := range eras() {
		b.adapters[name].send(t, e.opening)
	}
	b.served(t)
}
