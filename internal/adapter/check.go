package adapter

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"

	"fleet/internal/atlas"
)

const checkRequest = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"agent-mcp --check","version":"1"}}}`

// checkHeader marks the request of a check: the ship answers it as any other, and does not take
// it for a sign that a harness came.
const checkHeader = "Fleet-Check"

// Check writes to c.Err what Run would find here and what a call to the ship answers, never the
// token, and gives the exit status: 0 if a harness started here would be served, else 1. It
// waits for no ship that is away.
func Check(c Config) int {
	c.StartPatience = -1
	c = c.withDefaults()
	say := func(name, format string, args ...any) {
		_, _ = io.WriteString(c.Err, printable(fmt.Sprintf("%-10s %s", name+":", fmt.Sprintf(format, args...)))+"\n")
	}
	place, err := c.Locate()
	if err != nil {
		say("workspace", "%v%s", err, whereToGo)
		return 1
	}
	say("atlas", "%s", filepath.Join(place.Root, atlas.FileName))
	say("workspace", "%s", place.ID)
	say("port", "%d", place.Port)

	var answer bytes.Buffer
	c.Out = &answer
	s := newSession(c)
	s.checking = true
	defer s.end(errEnding)
	s.link = newLink(c, place)
	t, err := s.link.target(context.Background())
	switch {
	case err != nil:
		say("token", "none is sent: %v", err)
		return 1
	case t.bearer == nil:
		say("token", "none, neither in the environment nor in the workspace's tmux session")
	default:
		say("token", "from %s", t.source)
	}
	say("address", "%s", t.url)
	return s.checkShip(&answer, say)
}

func (s *session) checkShip(answer *bytes.Buffer, say func(name, format string, args ...any)) int {
	c := newCall([]byte(checkRequest))
	c.message = parse(c.line)
	c.ask(c.message.id)
	c.begin(s.root)
	s.serve(c)
	m := parse(bytes.TrimSpace(answer.Bytes()))
	if m.result == nil {
		say("ship", "%s", unquote(field(m.fault, "message")))
		return 1
	}
	info := field(m.result, "serverInfo")
	name, version := unquote(field(info, "name")), unquote(field(info, "version"))
	say("ship", "answers as %s %s", name, version)
	if now := s.link.now.Load(); now != nil {
		say("token", "accepted, from %s", now.source)
	}
	if version != s.config.Version {
		say("versions", "ship %s and agent-mcp %s differ; neighbouring versions work together", version, s.config.Version)
	}
	if name != serverName {
		say("ship", "this is not %s; another program answers on the port", serverName)
		return 1
	}
	return 0
}
