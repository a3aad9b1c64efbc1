package adapter_test

import (
	"strings"
	"testing"
	"time"
)

// startPatience is how long a harness's first request waits for the ship: the shortest limit of a
// harness is 5 s.
const startPatience = 4 * time.Second

// opening is how a harness begins in one era: the request, and the answer that a sound ship gives.
type opening struct{ request, says string }

func openings() map[string]opening {
	return map[string]opening{
		"initialize":      {initialize(`"open"`), `"serverInfo"`},
		"server/discover": {modern(`"open"`, "server/discover"), `"ok":true`},
	}
}

func modern(id, method string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
}

// TestAShipThatComesWithinTheStartPatienceAnswersAtOnce, be it in the last tenth of a second, and
// gets the request once. The lines behind the request need no other waiting.
func TestAShipThatComesWithinTheStartPatienceAnswersAtOnce(t *testing.T) {
	t.Parallel()
	for era, o := range openings() {
		for _, after := range []time.Duration{200 * time.Millisecond, 2 * time.Second, 3900 * time.Millisecond} {
			t.Run(era+" "+after.String(), func(t *testing.T) {
				t.Parallel()
				for range 5 {
					if comesAfter(t, o, after) {
						return
					}
				}
				t.Fatalf("five times the ship did not come after %v, but after more than %v: the machine is too slow", after, startPatience)
			})
		}
	}
}

// comesAfter reports false where the machine was too slow for its test.
func comesAfter(t *testing.T, o opening, after time.Duration) bool {
	t.Helper()
	f := newFar(t, nil)
	h := newWorkspace(t, f.port()).start(t)
	var asked, there time.Time
	f.restart(t, func() {
		asked = time.Now()
		h.sendLine(o.request)
		time.Sleep(after) // the ship is away
	})
	if there = time.Now(); there.Sub(asked) >= startPatience {
		return false
	}
	line := h.line()
	if !strings.Contains(line, `"id":"open"`) || !strings.Contains(line, o.says) {
		t.Fatalf("the ship came after %v, and the answer is %s", there.Sub(asked), line)
	}
	if late := time.Since(there); late > startPatience/2 {
		t.Errorf("the answer came %v after the ship", late)
	}
	h.alive()
	h.end()
	if n := len(f.posts()); n != 2 {
		t.Errorf("the far end got %d requests for two", n)
	}
	return true
}

// TestAfterTheStartPatienceTheErrorNamesTheRemedyAndTheProcessServesOn: whatever the harness sends
// once the ship is there, its opening anew too, is answered by the same process.
func TestAfterTheStartPatienceTheErrorNamesTheRemedyAndTheProcessServesOn(t *testing.T) {
	t.Parallel()
	for era, o := range openings() {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			f := newFar(t, nil)
			h := newWorkspace(t, f.port()).start(t)
			f.restart(t, func() {
				asked := time.Now()
				h.sendLine(o.request)
				h.fault(`"open"`, -32603, "run: ship up (or ship serve), then call again")
				if waited := time.Since(asked); waited < startPatience {
					t.Errorf("it gave up after %v", waited)
				}
			})
			h.sendLine(o.request)
			if line := h.line(); !strings.Contains(line, o.says) {
				t.Errorf("a later opening is answered with %s", line)
			}
			h.alive()
			h.end()
		})
	}
}

// TestAHarnessThatFallsBackToTheOtherOpeningWaitsOnce, not once for each: its limit is for the
// whole start. An opening after an answer of the ship's has a patience of its own again.
func TestAHarnessThatFallsBackToTheOtherOpeningWaitsOnce(t *testing.T) {
	t.Parallel()
	f := newFar(t, nil)
	h := newWorkspace(t, f.port()).start(t)
	refused := func(request string) time.Duration {
		began := time.Now()
		h.sendLine(request)
		h.fault(`"open"`, -32603, "run: ship up")
		return time.Since(began)
	}
	discover, begin := openings()["server/discover"].request, openings()["initialize"].request
	f.restart(t, func() {
		first := refused(discover)
		for range 2 {
			if second := refused(begin); second > first/2 {
				t.Errorf("no ship was waited for %v, and then for %v more", first, second)
			}
		}
	})
	h.alive()
	f.restart(t, func() {
		if again := refused(discover); again < startPatience {
			t.Errorf("an opening after the ship had answered was waited for %v, want %v", again, startPatience)
		}
	})
	h.end()
}
