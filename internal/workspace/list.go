package workspace

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fleet/api"
	"fleet/internal/atlas"
)

// List gives every workspace, sorted by repo and name: the directories two below the atlas that
// hold .git, and active sessions whose directory is gone. It calls neither tmux nor git.
func (m *Manager) List(ctx context.Context) ([]api.Workspace, error) {
	ids := m.scan()
	known := map[atlas.ID]bool{}
	for _, id := range ids {
		known[id] = true
	}
	for _, id := range m.active() {
		if !known[id] {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b atlas.ID) int {
		if c := strings.Compare(a.Repo, b.Repo); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	list := make([]api.Workspace, 0, len(ids))
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		list = append(list, m.describe(id))
	}
	return list, nil
}

// Get gives one workspace, and fails with NotFound where there is none.
func (m *Manager) Get(_ context.Context, id atlas.ID) (api.Workspace, error) {
	if err := atlas.CheckWorkspace(m.c.Root, id); err != nil && !m.Active(id) {
		return api.Workspace{}, noWorkspace(id, err)
	}
	return m.describe(id), nil
}

// scan finds the workspaces by their directories.
func (m *Manager) scan() []atlas.ID {
	var ids []atlas.ID
	for _, repo := range subdirs(m.c.Root) {
		for _, name := range subdirs(filepath.Join(m.c.Root, repo)) {
			id, err := atlas.NewID(repo, name)
			if err == nil && atlas.CheckWorkspace(m.c.Root, id) == nil {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// subdirs gives the real directories in dir whose names can be names of ours. Hidden ones
// cannot: what a command has half made is one.
func subdirs(dir string) []string {
	entries, err := readDir(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && atlas.CheckName(e.Name()) == nil {
			names = append(names, e.Name())
		}
	}
	return names
}

func (m *Manager) describe(id atlas.ID) api.Workspace {
	w := api.Workspace{Repo: id.Repo, Name: id.Name, Path: id.Dir(m.c.Root)}
	gone := atlas.CheckWorkspace(m.c.Root, id) != nil
	if !gone {
		w.Branch, w.Head = m.head(id)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.states[id]
	if s == nil {
		w.InactiveReason = ptr(api.InactiveNeverActivated)
		return w
	}
	w.Active = s.active
	w.InactiveReason = m.reason(s, gone)
	if s.active {
		w.Agent = m.book.Get(id)
		w.Observed = s.observed()
	}
	return w
}

// reason says why s is not active, or what keeps an active one from working.
func (m *Manager) reason(s *state, gone bool) *string {
	switch {
	case !s.active:
		return ptr(s.reason)
	case gone:
		return ptr(api.InactiveDirectoryGone)
	case s.conflict:
		return ptr(api.InactiveTokenConflict)
	case m.away:
		return ptr(api.InactiveTmuxAway)
	}
	return nil
}

func (s *state) observed() api.Observed {
	o := api.Observed{MCPSeen: ptr(s.seen.Load())}
	if at := s.lastCall.Load(); at != 0 {
		o.LastCallAt = ptr(time.Unix(0, at).UTC())
	}
	if s.pane == nil {
		return o
	}
	o.PaneActivityAt = ptr(s.pane.ActivityAt)
	switch {
	case !s.pane.Dead:
		o.PaneCommand = ptr(s.pane.Command)
	case s.pane.DeadStatus != "":
		o.PaneCommand = ptr("exited with status " + s.pane.DeadStatus)
	case s.pane.DeadSignal != "":
		o.PaneCommand = ptr("ended by signal " + s.pane.DeadSignal)
	default:
		o.PaneCommand = ptr("ended")
	}
	return o
}

func ptr[T any](v T) *T { return &v }
