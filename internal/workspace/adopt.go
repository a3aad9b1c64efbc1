package workspace

import (
	"context"
	"strconv"
	"strings"
	"time"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/tmux"
	"fleet/internal/token"
)

// What a session holds for us, besides the values that the operator passed on.
const (
	tokenVariable  = "FLEET_AGENT_MCP_TOKEN"
	urlVariable    = "FLEET_AGENT_MCP_URL"
	tmpdirVariable = "TMUX_TMPDIR"

	tagOption   = "@fleet_workspace"
	seenOption  = "@fleet_seen"
	agentOption = "@fleet_agent"
)

// found is a session as tmux shows it.
type found struct {
	name, token, url, tag, seen, agent string
}

// adopt takes over the sessions that are ours and that nobody here made: those of an earlier
// ship, and those that someone made by hand. It takes two calls of tmux, however many there are.
// Other sessions are left alone, and nothing is ended.
func (m *Manager) adopt(ctx context.Context) error {
	m.mu.RLock()
	turn := m.turn
	m.mu.RUnlock()
	sessions, err := m.sessions(ctx)
	if err != nil {
		return err
	}
	ids := m.byName()
	var changes []tmux.Change
	var adopted []atlas.ID
	foreign := map[string]bool{}
	for _, f := range sessions {
		id, ours := ids[f.name]
		if !ours {
			id, ours = tagged(f)
		}
		switch {
		case !ours:
			foreign[f.name] = true
		case m.take(id, f, turn, &changes):
			adopted = append(adopted, id)
		}
	}
	m.mu.Lock()
	m.foreign = foreign
	m.mu.Unlock()
	m.markConflicts(sessions, ids)
	if err := m.tmux.Set(ctx, changes...); err != nil {
		m.c.Logger.Error("write to adopted sessions", "err", err)
	}
	for _, id := range adopted {
		m.event(id, api.WorkspaceAdopted, "")
	}
	return nil
}

func (m *Manager) sessions(ctx context.Context) ([]found, error) {
	// The record comes last: it may hold the separator.
	list, err := m.tmux.Sessions(ctx, tokenVariable, urlVariable, tagOption, seenOption, agentOption)
	if err != nil {
		return nil, err
	}
	var sessions []found
	for _, s := range list {
		if ourName(s.Name) {
			v := s.Values
			sessions = append(sessions, found{s.Name, v[0], v[1], v[2], v[3], v[4]})
		}
	}
	return sessions, nil
}

// ourName says that a session may be ours. What else runs on the server is the operator's.
func ourName(session string) bool {
	hex, ok := strings.CutPrefix(session, "ws-")
	return ok && len(hex) == 64
}

// byName maps session names to the workspaces that exist.
func (m *Manager) byName() map[string]atlas.ID {
	ids := map[string]atlas.ID{}
	for _, id := range m.scan() {
		ids[id.SessionName()] = id
	}
	return ids
}

// tagged reads the tag of a session whose workspace is not there: someone removed the directory
// under it.
func tagged(f found) (atlas.ID, bool) {
	id, err := atlas.ParseTag(f.tag)
	return id, err == nil && id.SessionName() == f.name
}

// take makes f id's active session, and adds what it lacks to changes. It reports false where id
// is active, or a command is at work on it or was since turn.
func (m *Manager) take(id atlas.ID, f found, turn uint64, changes *[]tmux.Change) bool {
	s := m.state(id)
	if !s.tryLock() {
		return false
	}
	defer s.unlock()
	m.mu.RLock()
	skip := s.active || s.turn > turn
	m.mu.RUnlock()
	if skip {
		return false
	}
	change := tmux.Change{Session: f.name}
	tok, err := token.Parse(f.token)
	if err != nil {
		tok = token.Mint()
		change.Env = append(change.Env, tmux.Variable{Name: tokenVariable, Value: tok.Reveal()})
	}
	m.c.Tokens.Add(tok, id)
	if url := m.url(id); f.url != url {
		change.Env = append(change.Env, tmux.Variable{Name: urlVariable, Value: url})
	}
	if f.tag != id.Tag() {
		change.Options = append(change.Options, tmux.Option{Name: tagOption, Value: id.Tag()})
	}
	*changes = append(*changes, change)
	if f.agent != "" {
		if err := m.book.Restore(id, f.agent); err != nil {
			m.c.Logger.Warn("pass over an agent's record", "repo", id.Repo, "workspace", id.Name, "err", err)
		}
	}
	m.begin(s, f.seen != "")
	return true
}

// markConflicts notes the sessions whose token stands in another one too. The table refuses such
// a token in both.
func (m *Manager) markConflicts(sessions []found, ids map[string]atlas.ID) {
	count := map[string]int{}
	for _, f := range sessions {
		count[f.token]++
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range sessions {
		if s := m.states[ids[f.name]]; s != nil && f.token != "" && count[f.token] > 1 {
			s.conflict = true
		}
	}
}

// begin makes s active from now on. The caller holds its lock.
func (m *Manager) begin(s *state, seen bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turn++
	s.turn, s.active, s.reason, s.conflict, s.pane = m.turn, true, "", false, nil
	s.lastCall.Store(0)
	s.seen.Store(seen)
	s.seenSaved = seen
}

// url is where id's MCP server is. It is 127.0.0.1 and not localhost: some systems resolve that
// to an address on which somebody else may listen.
func (m *Manager) url(id atlas.ID) string {
	return "http://127.0.0.1:" + strconv.Itoa(m.c.Port()) + id.MCPPath()
}

// PortChanged writes the new address into every session. It fails with Unavailable where tmux
// does not answer.
func (m *Manager) PortChanged(ctx context.Context) error {
	var changes []tmux.Change
	for _, id := range m.active() {
		changes = append(changes, tmux.Change{
			Session: id.SessionName(), Env: []tmux.Variable{{Name: urlVariable, Value: m.url(id)}},
		})
	}
	err := m.tmux.Set(ctx, changes...)
	if err == nil || tmux.Is(err, tmux.NoSession) || tmux.Is(err, tmux.NoServer) {
		return nil
	}
	return unavailable("the new address could not be written into the sessions", err)
}

func (m *Manager) active() []atlas.ID {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var ids []atlas.ID
	for id, s := range m.states {
		if s.active {
			ids = append(ids, id)
		}
	}
	return ids
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
