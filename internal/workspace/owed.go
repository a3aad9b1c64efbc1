package workspace

import (
	"sync"
	"time"

	"fleet/api"
	"fleet/internal/atlas"
)

// mostOwed bounds what waits for a log that cannot be written.
const mostOwed = 1000

// owed are the events that the log has still to take: on a full disk a token must be rotated all
// the same, and what happened to it is written once there is room. A ship that is killed before
// leaves them in its own log alone.
type owed struct {
	mu  sync.Mutex
	all []api.Event
}

// event writes to the event log. What happened to a session has happened, so a log that cannot
// be written undoes nothing: it is the operator's to see, and the event is written later.
func (m *Manager) event(id atlas.ID, kind, reason string) {
	m.owed.mu.Lock()
	defer m.owed.mu.Unlock()
	e := api.Event{Type: kind, Repo: id.Repo, Workspace: id.Name, Reason: reason, Time: time.Now().UTC()}
	m.owed.all = append(m.owed.all, e)
	err := m.payLocked()
	if err == nil {
		return
	}
	m.c.Logger.Error("write an event; it is kept until there is room", "type", kind, "repo", id.Repo, "workspace", id.Name, "err", err)
	if len(m.owed.all) > mostOwed {
		m.owed.all = m.owed.all[1:]
	}
}

// pay writes what is owed, if the log can be written again.
func (m *Manager) pay() {
	m.owed.mu.Lock()
	defer m.owed.mu.Unlock()
	_ = m.payLocked() // event has logged why, and the log itself says that it fails
}

func (m *Manager) payLocked() error {
	for len(m.owed.all) > 0 {
		if err := m.c.Events.Append(m.owed.all[0]); err != nil {
			return err
		}
		m.owed.all = m.owed.all[1:]
	}
	return nil
}
