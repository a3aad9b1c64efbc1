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
	ours, foreign := m.ours(sessions)
	var changes []tmux.Change
	var adopted []atlas.ID
	for id, f := range ours {
		if m.take(id, f, turn, &changes) {
			adopted = append(adopted, id)
		}
	}
	m.mu.Lock()
	m.foreign = foreign
	m.mu.Unlock()
	m.markConflicts(ours)
	if err := m.tmux.Set(ctx, changes...); err != nil {
		m.c.Logger.Error("write to adopted sessions", "err", err)
	}
	for _, id := range adopted {
		m.event(id, api.WorkspaceAdopted, "")
	}
	return nil
}

// ours tells the sessions that belong to workspaces from those that only look so. A session
// whose workspace is not there is ours if it is tagged so: someone removed the directory under it.
func (m *Manager) ours(sessions []found) (ours map[atlas.ID]found, foreign map[string]bool) {
	byName := map[string]atlas.ID{}
	for _, id := range m.scan() {
		byName[id.SessionName()] = id
	}
	ours, foreign = map[atlas.ID]found{}, map[string]bool{}
	for _, f := range sessions {
		if id, ok := byName[f.name]; ok {
			ours[id] = f
		} else if id, err := atlas.ParseTag(f.tag); err == nil && id.SessionName() == f.name {
			ours[id] = f
		} else {
			foreign[f.name] = true
		}
	}
	return ours, foreign
}

func (m *Manager) sessions(ctx context.Context) ([]found, error) {
	// The record comes last: it may hold the separator.
	list, err := m.tmux.Sessions(ctx, atlas.TokenVariable, atlas.URLVariable, tagOption, seenOption, agentOption)
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
		change.Env = append(change.Env, tmux.Variable{Name: atlas.TokenVariable, Value: tok.Reveal()})
	}
	m.c.Tokens.Add(tok, id)
	if url := m.url(id); f.url != url {
		change.Env = append(change.Env, tmux.Variable{Name: atlas.URLVariable, Value: url})
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
func (m *Manager) markConflicts(ours map[atlas.ID]found) {
	count := map[token.Hash]int{}
	for _, f := range ours {
		if tok, err := token.Parse(f.token); err == nil {
			count[tok.Hash()]++
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, f := range ours {
		if tok, err := token.Parse(f.token); err == nil && count[tok.Hash()] > 1 {
			m.states[id].conflict = true
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
