// Package adapter is the stdio end of a workspace's MCP server: it forwards each line of a
// harness to the ship's HTTP endpoint and each answer back, byte for byte, and adds what stdio
// has not: the address, the token and three headers. It knows no tool and keeps no state of the
// conversation but the protocol version and what is in flight.
package adapter

import (
	"context"
	"io"
	"os"
	"time"

	"fleet/internal/atlas"
	"fleet/internal/tmux"
)

// serverName is the name under which harnesses register Fleet's server.
const serverName = "fleet-agent"

// How a session ends.
const (
	drainTime   = 2 * time.Second        // for what is in flight when the input ends
	flushTime   = 300 * time.Millisecond // for the errors of what was cut off
	parentCheck = time.Second
)

// Config says where an adapter reads and writes. Only In, Out and Err must be set; all else has
// a default that is right for the program agent-mcp.
type Config struct {
	In  io.Reader // the harness's messages, one a line
	Out io.Writer // answers, one a line; nothing else is ever written here
	Err io.Writer // a few short lines for people

	// Version is what agent-mcp calls itself; "" means "dev".
	Version string

	// AnswerTimeout is how long a call may stay without an answer; 0 means 90 s.
	AnswerTimeout time.Duration
	// StartPatience and Patience are how long a ship that is away is waited for, by initialize
	// and server/discover together, whose harness may give up after 5 s, and by each other call.
	// 0 means 4 s and 30 s; less than 0 means not at all.
	StartPatience, Patience time.Duration

	// Locate finds the workspace; nil means atlas.Locate.
	Locate func() (atlas.Place, error)
	// LookupEnv reads the environment that the harness passed on; nil means os.LookupEnv.
	LookupEnv func(string) (string, bool)
	// SessionEnv reads variables of a tmux session; nil means tmux.SessionEnv.
	SessionEnv func(ctx context.Context, socket, session string, names ...string) (map[string]string, error)
	// Parent gives the parent's process id; nil means os.Getppid.
	Parent func() int
}

func (c Config) withDefaults() Config {
	if c.Version == "" {
		c.Version = "dev"
	}
	if c.AnswerTimeout == 0 {
		c.AnswerTimeout = 90 * time.Second
	}
	if c.StartPatience == 0 {
		c.StartPatience = 4 * time.Second
	}
	if c.Patience == 0 {
		c.Patience = 30 * time.Second
	}
	if c.Locate == nil {
		c.Locate = atlas.Locate
	}
	if c.LookupEnv == nil {
		c.LookupEnv = os.LookupEnv
	}
	if c.SessionEnv == nil {
		c.SessionEnv = tmux.SessionEnv
	}
	if c.Parent == nil {
		c.Parent = os.Getppid
	}
	return c
}

// Run forwards until the input ends, ctx ends, nobody reads the output any more, or the process
// that started us is gone, and gives the exit status. Of what is in flight at the end of input
// it waits two seconds for the answers; in the other cases it is cut off at once. In may still
// be read from after Run has returned.
func Run(ctx context.Context, c Config) int {
	c = c.withDefaults()
	parent := c.Parent()
	s := newSession(c)
	defer s.pool.close()
	defer s.transport.CloseIdleConnections()
	if place, err := c.Locate(); err != nil {
		s.outside = &outside{c.Version}
		s.log.say(outsideText(err))
	} else {
		s.link = newLink(c, place)
		// What must be fetched is fetched while the first line is awaited.
		if s.link.needsSession() {
			go func() { _, _ = s.link.target(s.root) }()
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.run(c.In)
	}()
	return s.untilEnd(ctx, ended, parent)
}

func outsideText(err error) string {
	return "no tools are served: " + err.Error() + whereToGo
}

// whereToGo is for people who are outside every workspace.
const whereToGo = "; next: cd into a workspace (ship ls lists them)"

// untilEnd waits for one of the ends that Run names.
func (s *session) untilEnd(ctx context.Context, ended <-chan struct{}, parent int) int {
	check := time.NewTicker(parentCheck)
	defer check.Stop()
	var idle <-chan struct{}
	var late <-chan time.Time
	for {
		select {
		case <-ended:
			ended = nil
			idle, late = s.drain(), time.After(drainTime)
			continue
		case <-check.C:
			if s.config.Parent() == parent {
				continue
			}
		case <-ctx.Done():
		case <-late:
		case <-s.out.broken:
			s.end(errEnding)
			s.log.say("standard output is closed")
			return 1
		case <-idle:
			return 0
		}
		break
	}
	s.end(errEnding)
	select {
	case <-s.drain():
	case <-time.After(flushTime):
	}
	return 0
}
