// Package workspace makes checkouts and the tmux sessions in which agents work on them. The
// directory is the state of a workspace and the session that of its activity: nothing else is
// recorded, so a new Manager reads everything back. It knows no HTTP and no forge.
package workspace

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"fleet/api"
	"fleet/internal/agent"
	"fleet/internal/atlas"
	"fleet/internal/tmux"
	"fleet/internal/token"
)

// Config is what a Manager works with. All fields but OnInactive are needed.
type Config struct {
	Root   string             // real path of the atlas's root; the caller holds its lock
	Atlas  func() *atlas.File // the current registry and env names; never nil
	Port   func() int         // the port really bound
	Tokens *token.Table[atlas.ID]
	Events agent.Log
	Logger *slog.Logger
	// LookupEnv gives the values of the names in the atlas's "env".
	LookupEnv func(string) (string, bool)
	// Environ is the daemon's environment; what tmux.Environ lets through reaches tmux and git.
	Environ []string
	// OnInactive is called after a workspace stopped being active, with no lock held.
	OnInactive func(atlas.ID)
}

// Manager holds an atlas's workspaces. It is safe for concurrent use; commands on one workspace
// wait for each other.
type Manager struct {
	c    Config
	tmux *tmux.Server
	book *agent.Book
	owed owed

	mu     sync.RWMutex
	states map[atlas.ID]*state
	turn   uint64 // counts activations
	away   bool   // tmux did not answer when it was last asked
	// foreign are sessions named like ours that belong to no workspace, until the next look.
	foreign map[string]bool
}

// state is what the Manager knows of one workspace. All but op and the atomics is guarded by
// Manager.mu.
type state struct {
	id atlas.ID
	op chan struct{} // holds one token while a command is at work

	active    bool
	turn      uint64 // of the activation; a look at tmux that began before it proves nothing
	reason    string // why it is not active
	conflict  bool   // its token stands in another session too
	pane      *tmux.Pane
	seenSaved bool // @fleet_seen is written

	seen     atomic.Bool
	lastCall atomic.Int64 // in nanoseconds since 1970; 0: none since the ship's start
}

// Open finds tmux, starts its server where none runs, and adopts the sessions of an earlier
// ship. It fails with Unavailable and says how to install tmux where there is none, or one
// older than 3.2. Run starts the work in the background.
func Open(ctx context.Context, c Config) (*Manager, error) {
	sockets, err := atlas.MakeSockets(c.Root)
	if err != nil {
		return nil, err
	}
	m := &Manager{c: c, states: map[atlas.ID]*state{}}
	m.book = agent.NewBook(m, c.Events, c.Logger)
	m.tmux, err = tmux.Open(ctx, tmux.Config{
		Socket:  filepath.Join(sockets, atlas.TmuxSocket),
		PIDFile: filepath.Join(atlas.StateDir(c.Root), "tmux.pid"),
		Environ: c.Environ,
		Logger:  c.Logger,
	})
	if err != nil {
		return nil, unavailable("", err)
	}
	if err := m.sweep(); err != nil {
		c.Logger.Warn("remove leftovers of interrupted commands", "err", err)
	}
	if err := m.tmux.Start(ctx); err != nil {
		return nil, unavailable("tmux did not start", err)
	}
	if err := m.adopt(ctx); err != nil {
		return nil, unavailable("tmux's sessions cannot be read", err)
	}
	return m, nil
}

// Close ends the tmux server where no session lives on it; sessions live on without a Manager.
func (m *Manager) Close(ctx context.Context) error { return m.tmux.EndIfEmpty(ctx) }

// Agents is the book of what agents say of themselves; their records live in the sessions.
func (m *Manager) Agents() *agent.Book { return m.book }

// Active says that id's session exists, as far as was last seen: a session that ended is noticed
// within about a second.
func (m *Manager) Active(id atlas.ID) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.states[id]
	return s != nil && s.active
}

// MarkSeen notes that an MCP client came to id with a valid token. That it came at all is also
// written into the session, by Run, so that a later ship knows.
func (m *Manager) MarkSeen(_ context.Context, id atlas.ID) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if s := m.states[id]; s != nil && s.active {
		s.lastCall.Store(time.Now().UnixNano())
		if !s.seen.Load() {
			s.seen.Store(true)
		}
	}
}

// SaveAgent writes an agent's record into id's session; an empty one removes it. It makes the
// Manager the store of its own Book.
func (m *Manager) SaveAgent(ctx context.Context, id atlas.ID, record string) error {
	if !m.Active(id) {
		return agent.ErrInactive
	}
	err := m.tmux.Set(ctx, tmux.Change{
		Session: id.SessionName(), Options: []tmux.Option{{Name: agentOption, Value: record}},
	})
	if tmux.Is(err, tmux.NoSession) || tmux.Is(err, tmux.NoServer) {
		return errors.Join(agent.ErrInactive, err)
	}
	return err
}

// Ready says why workspaces cannot be served: tmux does not answer.
func (m *Manager) Ready(ctx context.Context) error {
	err := m.tmux.Ping(ctx)
	if err == nil || tmux.Is(err, tmux.NoServer) { // the next activation starts one
		return nil
	}
	return unavailable("tmux does not answer", err)
}

// state finds or makes id's.
func (m *Manager) state(id atlas.ID) *state {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.states[id]
	if s == nil {
		s = &state{id: id, op: make(chan struct{}, 1), reason: api.InactiveNeverActivated}
		m.states[id] = s
	}
	return s
}

// lock waits for the command that is at work on id, if any.
func (m *Manager) lock(ctx context.Context, id atlas.ID) (*state, error) {
	s := m.state(id)
	select {
	case s.op <- struct{}{}:
		return s, nil
	case <-ctx.Done():
		return nil, &api.Error{
			Code: api.Unavailable, Reason: "busy", Message: "another command is at work on " + id.String(),
			Hint: "wait for it, then try again", Err: ctx.Err(),
		}
	}
}

func (s *state) unlock() { <-s.op }

func (s *state) tryLock() bool {
	select {
	case s.op <- struct{}{}:
		return true
	default:
		return false
	}
}
