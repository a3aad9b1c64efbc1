package workspace

import (
	"context"
	"os"
	"time"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/tmux"
)

const (
	tickEvery = time.Second
	// A session named like ours that belonged to no workspace is looked at again after this.
	foreignTicks = 30
)

// Run looks at tmux about once a second, with one call: it notices sessions that ended and
// sessions that others made, and notes what runs in each. It ends with ctx.
func (m *Manager) Run(ctx context.Context) {
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-ticker.C:
			if n%foreignTicks == 0 {
				m.forgetForeign()
			}
			m.tick(ctx)
			m.pay()
		case <-ctx.Done():
			m.pay()
			m.saveSeen(context.WithoutCancel(ctx))
			return
		}
	}
}

func (m *Manager) forgetForeign() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.foreign = nil
}

func (m *Manager) tick(ctx context.Context) {
	m.mu.RLock()
	turn := m.turn
	m.mu.RUnlock()
	panes, err := m.tmux.Panes(ctx)
	if tmux.Is(err, tmux.NoSocket) {
		// The server cannot make its socket anew where the folder is gone too.
		if _, made := atlas.MakeSockets(m.c.Root); made == nil {
			panes, err = m.tmux.Panes(ctx)
		}
	}
	if ctx.Err() != nil {
		return
	}
	// A server that does not answer proves nothing about its sessions; one that is gone does.
	gone := tmux.Is(err, tmux.NoServer)
	m.noteAway(err, err != nil && !gone)
	if err != nil && !gone {
		return
	}
	ended, unknown := m.compare(first(panes), turn)
	for _, id := range ended {
		m.end(id, turn)
	}
	if unknown {
		if err := m.adopt(ctx); err != nil {
			m.c.Logger.Warn("read tmux's sessions", "err", err)
		}
	}
	m.saveSeen(ctx)
	m.keepFolders()
}

// first gives each session's oldest pane. It is the one that was made with the session, unless
// somebody closed that; the others are the operator's.
func first(panes []tmux.Pane) map[string]*tmux.Pane {
	oldest := map[string]*tmux.Pane{}
	for i := range panes {
		p := &panes[i]
		if o := oldest[p.Session]; o == nil || p.ID < o.ID {
			oldest[p.Session] = p
		}
	}
	return oldest
}

// compare notes what runs in each session, and tells which workspaces lost theirs and whether
// there are sessions that may be ours and that nobody knows.
func (m *Manager) compare(panes map[string]*tmux.Pane, turn uint64) (ended []atlas.ID, unknown bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, s := range m.states {
		if !s.active {
			continue
		}
		name := id.SessionName()
		pane := panes[name]
		delete(panes, name)
		switch {
		case pane != nil:
			s.pane = pane
		case s.turn <= turn:
			ended = append(ended, id)
		}
	}
	for name := range panes {
		unknown = unknown || ourName(name) && !m.foreign[name]
	}
	return ended, unknown
}

// end notes that id's session ended without a command, unless one is at work on it or was since
// the look at turn.
func (m *Manager) end(id atlas.ID, turn uint64) {
	s := m.state(id)
	if !s.tryLock() {
		return
	}
	m.mu.RLock()
	stale := !s.active || s.turn > turn
	m.mu.RUnlock()
	if !stale {
		m.c.Tokens.RevokeAll(id)
		m.finish(s, api.InactiveSessionEnded)
	}
	s.unlock()
	if !stale {
		m.inactive(id)
	}
}

// finish makes s inactive. The caller holds its lock and revoked its tokens.
func (m *Manager) finish(s *state, reason string) {
	m.mu.Lock()
	s.active, s.reason, s.conflict, s.pane = false, reason, false, nil
	m.mu.Unlock()
	m.book.Drop(s.id)
	m.event(s.id, api.WorkspaceDeactivated, reason)
}

func (m *Manager) inactive(id atlas.ID) {
	if m.c.OnInactive != nil {
		m.c.OnInactive(id)
	}
}

func (m *Manager) noteAway(err error, away bool) {
	m.mu.Lock()
	changed := m.away != away
	m.away = away
	m.mu.Unlock()
	switch {
	case changed && away:
		m.c.Logger.Warn("tmux does not answer", "err", err)
	case changed:
		m.c.Logger.Info("tmux answers again")
	}
}

// saveSeen writes into the sessions, in one call, which of them a client came to.
func (m *Manager) saveSeen(ctx context.Context) {
	var changes []tmux.Change
	var saved []*state
	m.mu.Lock()
	for id, s := range m.states {
		if s.active && s.seen.Load() && !s.seenSaved {
			s.seenSaved = true
			saved = append(saved, s)
			changes = append(changes, tmux.Change{
				Session: id.SessionName(),
				Options: []tmux.Option{{Name: seenOption, Value: stamp(time.Unix(0, s.lastCall.Load()))}},
			})
		}
	}
	m.mu.Unlock()
	err := m.tmux.Set(ctx, changes...)
	if err == nil || tmux.Is(err, tmux.NoSession) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range saved {
		s.seenSaved = false
	}
}

// keepFolders makes the private socket folders of running sessions again where something tidied
// /tmp: without its folder, a tmux that an agent starts would go for the operator's own.
func (m *Manager) keepFolders() {
	for _, id := range m.active() {
		if _, err := os.Lstat(atlas.TempSockets(m.c.Root, id)); err == nil {
			continue
		}
		if _, err := atlas.MakeTempSockets(m.c.Root, id); err != nil {
			m.c.Logger.Warn("make a session's socket folder", "repo", id.Repo, "workspace", id.Name, "err", err)
		}
	}
}
