// Package server is the ship as its clients see it: the MCP endpoint of each workspace on the
// loopback port, the tools behind it, and the operator API. It never names a forge or a
// credential; what reaches a forge stands behind the Repository seam.
package server

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"fleet/internal/agent"
	"fleet/internal/atlas"
	"fleet/internal/token"
)

const (
	defaultMaxBody = 1 << 20
	// bodyTimeout ends a request that trickles in, from its first byte to the last of its body.
	bodyTimeout = 60 * time.Second
	toolTimeout = 60 * time.Second
)

// Workspaces is what the endpoint asks of the workspaces of an atlas. All of it must be safe for
// concurrent use; Active and MarkSeen are called on every request and must not block.
type Workspaces interface {
	Agents() *agent.Book
	Active(id atlas.ID) bool
	// MarkSeen notes that a client came with a valid token.
	MarkSeen(ctx context.Context, id atlas.ID)
	// Ready says what keeps workspaces from working, or nil.
	Ready(ctx context.Context) error
}

// Repository is the seam to the bridge: it answers the ten repo_* tools. An *api.Error reaches
// the agent with code, message and hint; any other error as "internal", its text in the log only.
//
// A write is called with a context that outlives the client's request, since a comment half
// posted is a comment posted twice; a read's context ends with the request. Both end by 60 s.
type Repository interface {
	Call(ctx context.Context, inv Invocation) (Result, error)
}

// Config says what a Server serves. Workspaces, Tokens, Events and Logger are required.
type Config struct {
	Version    string // of this program, for serverInfo; "" means "unknown"
	Workspaces Workspaces
	Tokens     *token.Table[atlas.ID]
	Events     agent.Log // takes tool.call and auth.refused
	Logger     *slog.Logger
	// Ready are further conditions for /readyz, such as room on the disk, by the part that it
	// names; may be nil.
	Ready map[string]func(context.Context) error
	// Repository answers the repo_* tools; nil: they answer unavailable.
	Repository Repository
	// Tools stand beside Fleet's own, behind the same door. A name must not be taken.
	Tools []Tool
	// MaxBodyBytes bounds one request; 0 means 1 MiB. There is no "unlimited".
	MaxBodyBytes int64
}

// Server is the port of one ship. It is safe for concurrent use.
type Server struct {
	config      Config
	own         *catalog // Fleet's tools
	tools       atomic.Pointer[catalog]
	toolsets    toolsets
	identity    string // serverInfo, as a member of a modern result's _meta
	mounts      mounts
	limits      limits
	statusTexts sync.Map // atlas.ID to statusText
	refusals    throttle // auth.refused events of requests without a valid token
	trespasses  throttle // auth.refused events of a valid token on another's path
	callLog     quietly
	readiness   readiness
	bodyTimeout time.Duration
	toolTimeout time.Duration

	maxConnections int
}

// New checks the configuration and reads the tools' definitions; it does no I/O. Tools whose
// definition or schema is unfit are an error that names them.
func New(c Config) (*Server, error) {
	if c.Workspaces == nil || c.Tokens == nil || c.Events == nil || c.Logger == nil {
		return nil, errors.New("a server needs Workspaces, Tokens, Events and Logger")
	}
	if c.MaxBodyBytes <= 0 {
		c.MaxBodyBytes = defaultMaxBody
	}
	if c.Version == "" {
		c.Version = "unknown"
	}
	s := &Server{config: c, bodyTimeout: bodyTimeout, toolTimeout: toolTimeout, maxConnections: connectionLimit()}
	own, err := s.ownTools()
	if err != nil {
		return nil, err
	}
	if s.own, err = newCatalog(append(own, c.Tools...)); err != nil {
		return nil, err
	}
	s.tools.Store(s.own)
	info, err := json.Marshal(mcp.Implementation{Name: serverName, Version: c.Version})
	if err != nil {
		return nil, err
	}
	s.identity = strconv.Quote(mcp.MetaKeyServerInfo) + ":" + string(info)
	s.callLog.logger = c.Logger
	return s, nil
}

// Handler is everything that the port serves.
func (s *Server) Handler() http.Handler { return s.routes() }

// Drop forgets what the server keeps for a workspace that is no longer active. Calls that are in
// flight end undisturbed.
func (s *Server) Drop(id atlas.ID) {
	s.mounts.drop(id)
	s.limits.drop(id)
	s.statusTexts.Delete(id)
}

// Call calls a tool as id's agent would, with the same checks and the same event, and gives the
// text that the agent would read. A tool's failure is isError; err is an *api.Error where the
// tool cannot be called at all: it is unknown, or the workspace is not active.
func (s *Server) Call(ctx context.Context, id atlas.ID, tool string, arguments json.RawMessage) (text string, isError bool, err error) {
	if !s.config.Workspaces.Active(id) {
		return "", false, inactive(id)
	}
	t, err := s.callable(tool, arguments)
	if err != nil {
		return "", false, err
	}
	key, err := newKey()
	if err != nil {
		return "", false, err
	}
	done := s.run(ctx, t, Invocation{Workspace: id, Tool: tool, Arguments: arguments, Key: key})
	return done.text, done.isError, nil
}
