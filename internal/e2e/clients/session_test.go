//go:build e2e

package clients

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fleet/internal/e2e/shipyard"
)

// runTime bounds one client's whole run, which takes a second or some.
const runTime = 2 * time.Minute

// session is a script that runs in a workspace's session.
type session struct {
	f    *fleet
	name string
	out  string // directory
}

// prelude gives a script its words: `keep NAME COMMAND…` runs a command and keeps what it printed
// and its status as files.
const prelude = `keep() { name=$1; shift; "$@" >"$OUT/$name.out" 2>"$OUT/$name.err"; echo $? >"$OUT/$name.rc"; }
`

// start makes and activates the workspace widgets/NAME with a shell script as its command. In the
// script's environment are the session's own variables, NODE, AGENT_MCP, and OUT, a directory.
func (f *fleet) start(t *testing.T, name, script string) *session {
	t.Helper()
	s := &session{f: f, name: "widgets/" + name, out: f.mkdir(t, "out", name)}
	f.ship(t, "create", s.name)
	f.ship(t, "activate", s.name, "--", "env", "OUT="+s.out, "NODE="+node(t), "AGENT_MCP="+shipyard.Built("agent-mcp"),
		"sh", "-c", prelude+script+"\n: >\"$OUT/over\"; exec sleep 600")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s:\n%s", s.name, f.ship(t, "logs", s.name, "-n", "200"))
		}
		f.ship(t, "deactivate", s.name)
	})
	return s
}

// wait returns when the script has run to its end.
func (s *session) wait(t *testing.T) {
	t.Helper()
	over := filepath.Join(s.out, "over")
	for deadline := time.Now().Add(runTime); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(over); err == nil {
			return
		}
	}
	t.Fatalf("the script in %s did not end within %s", s.name, runTime)
}

// sign makes a file in OUT; appears waits for one.
func (s *session) sign(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.out, name), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s *session) appears(name string) bool {
	return shipyard.Poll(func() bool {
		_, err := os.Stat(filepath.Join(s.out, name))
		return err == nil
	})
}

// calls counts the calls of a tool that have ended, as the ship's events tell.
func (s *session) calls(t *testing.T, tool string) int {
	t.Helper()
	var list struct{ Events []struct{ Tool string } }
	out := s.f.ship(t, "events", "--json", "--type", "tool.call", "--workspace", s.name)
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatalf("ship events: %v\n%s", err, out)
	}
	n := 0
	for _, e := range list.Events {
		if e.Tool == tool {
			n++
		}
	}
	return n
}

// kept is what `keep NAME` kept.
type kept struct{ out, err, code string }

func (s *session) kept(t *testing.T, name string) kept {
	t.Helper()
	read := func(end string) string {
		text, err := os.ReadFile(filepath.Join(s.out, name+end))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	return kept{read(".out"), read(".err"), strings.TrimSpace(read(".rc"))}
}
