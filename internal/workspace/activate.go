package workspace

import (
	"context"
	"errors"
	"os"
	"time"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/tmux"
	"fleet/internal/token"
)

// ActivateOptions says what an activation passes on.
type ActivateOptions struct {
	// Env reaches the session's processes beside what the atlas names; it wins over that.
	Env map[string]string
	// Command runs in the first window, word for word; empty: the user's shell.
	Command []string
}

// Activate makes id's session, with a token of its own. It fails with NotFound where there is
// no such workspace, Conflict where it is active, Invalid for what cannot be passed on, and
// Unavailable where tmux will not; no session and no valid token is left then.
func (m *Manager) Activate(ctx context.Context, id atlas.ID, o ActivateOptions) (api.Workspace, error) {
	s, err := m.lock(ctx, id)
	if err != nil {
		return api.Workspace{}, err
	}
	defer s.unlock()
	if err := atlas.CheckWorkspace(m.c.Root, id); err != nil {
		return api.Workspace{}, noWorkspace(id, err)
	}
	if m.Active(id) {
		return api.Workspace{}, alreadyActive(id)
	}
	tok := token.Mint()
	session, err := m.session(id, o, tok)
	if err != nil {
		return api.Workspace{}, err
	}
	m.mu.RLock()
	reason := s.reason
	m.mu.RUnlock()
	// Both before the session: its first process may call at once.
	m.c.Tokens.Add(tok, id)
	m.begin(s, false)
	if err := m.start(ctx, session); err != nil {
		m.c.Tokens.RevokeAll(id)
		m.undo(s, reason)
		return api.Workspace{}, m.unstarted(ctx, id, err)
	}
	m.began(s)
	m.event(id, api.WorkspaceActivated, "")
	return m.describe(id), nil
}

// began makes a look at tmux that was under way until now prove nothing about s: it may have
// missed the session.
func (m *Manager) began(s *state) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turn++
	s.turn = m.turn
}

// undo takes back begin: nothing happened.
func (m *Manager) undo(s *state, reason string) {
	m.mu.Lock()
	s.active, s.reason = false, reason
	m.mu.Unlock()
	m.book.Drop(s.id)
}

// start makes the session and sees that it stands where it should. Nothing is left of one that
// does not.
func (m *Manager) start(ctx context.Context, session tmux.NewSession) error {
	before, err := os.Stat(session.Dir)
	if err != nil {
		return err
	}
	err = m.tmux.New(ctx, session)
	if tmux.Is(err, tmux.NoServer) || tmux.Is(err, tmux.NoSocket) || tmux.Is(err, tmux.Leaving) {
		// Nobody is there any more, nor is a session, so it is safe to ask again.
		if err = m.tmux.Start(ctx); err == nil {
			err = m.tmux.New(ctx, session)
		}
	}
	if tmux.Is(err, tmux.Duplicate) {
		return err
	}
	if err == nil {
		err = m.settled(ctx, session, before)
	}
	if err != nil {
		if kill := m.tmux.Kill(context.WithoutCancel(ctx), session.Name); kill != nil && !tmux.Is(kill, tmux.NoSession) {
			m.c.Logger.Error("end a session that did not start well", "session", session.Name, "err", kill)
		}
	}
	return err
}

var (
	errElsewhere = errors.New("the session did not start in the workspace's directory")
	errEnded     = errors.New("the command ended at once and its session with it")
)

// settled checks that the first pane stands in the workspace: tmux goes elsewhere without a word
// when it cannot. A pane that left by itself meanwhile looks the same, so in doubt it counts
// that the directory was there all along.
func (m *Manager) settled(ctx context.Context, session tmux.NewSession, before os.FileInfo) error {
	for range 20 {
		pane, err := m.tmux.FirstPane(ctx, session.Name)
		if tmux.Is(err, tmux.NoSession) {
			return errEnded
		}
		if err != nil {
			return err
		}
		// Until it is known how a dead pane ended, its window, and with it the session, may still go.
		unknown := pane.Dead && pane.DeadStatus == "" && pane.DeadSignal == ""
		if !unknown && (pane.Dead || pane.Dir == session.Dir) {
			break
		}
		time.Sleep(5 * time.Millisecond) // between fork and chdir
	}
	after, err := os.Stat(session.Dir)
	if err != nil || !os.SameFile(before, after) {
		return errElsewhere
	}
	return nil
}

// unstarted says why there is no session.
func (m *Manager) unstarted(ctx context.Context, id atlas.ID, err error) error {
	switch {
	case tmux.Is(err, tmux.Duplicate):
		// Somebody made it by hand a moment ago; it is ours by its name.
		m.forgetForeign()
		return alreadyActive(id)
	case errors.Is(err, errEnded):
		return &api.Error{
			Code: api.Unavailable, Reason: "command_ended", Message: "the command ended at once, and its session with it",
			Hint: "activate with a command that stays, or without one for a shell: " + command("ship activate", id), Err: err,
		}
	case errors.Is(err, errElsewhere), errors.Is(err, os.ErrNotExist):
		return &api.Error{
			Code: api.Conflict, Reason: "directory_gone", Message: "the directory of " + id.String() + " vanished meanwhile",
			Hint: "see: ship ls", Err: err,
		}
	case errors.Is(err, tmux.ErrUnfit):
		return invalid("unfit_value", "a value or a word of the command holds a NUL byte or is not valid UTF-8", "correct it and try again", err)
	case ctx.Err() != nil:
		return &api.Error{Code: api.Unavailable, Reason: "cancelled", Message: "the activation was broken off", Hint: command("ship activate", id), Err: err}
	}
	return unavailable("tmux could not make the session", err)
}

// Deactivate revokes id's token, then ends its session. It fails with Conflict where id is not
// active, and Unavailable where tmux does not answer: the token is revoked then, the session
// lives, and another Deactivate finishes the work.
func (m *Manager) Deactivate(ctx context.Context, id atlas.ID) (api.Workspace, error) {
	s, err := m.lock(ctx, id)
	if err != nil {
		return api.Workspace{}, err
	}
	err = m.deactivate(ctx, s)
	s.unlock()
	if err != nil {
		return api.Workspace{}, err
	}
	m.inactive(id)
	return m.describe(id), nil
}

func (m *Manager) deactivate(ctx context.Context, s *state) error {
	id := s.id
	if !m.Active(id) {
		if err := atlas.CheckWorkspace(m.c.Root, id); err != nil {
			return noWorkspace(id, err)
		}
		return notActive(id)
	}
	m.c.Tokens.RevokeAll(id)
	err := m.tmux.Kill(ctx, id.SessionName())
	if err != nil && !tmux.Is(err, tmux.NoSession) && !tmux.Is(err, tmux.NoServer) {
		return unavailable("the token of "+id.String()+" is revoked, but tmux did not end the session", err)
	}
	m.finish(s, api.InactiveCommand)
	return nil
}

// Rotate gives id's session another token in place of the one it has. It fails with Conflict
// where id is not active, and Unavailable where the session cannot be written to; the old token
// stays valid then.
func (m *Manager) Rotate(ctx context.Context, id atlas.ID) error {
	s, err := m.lock(ctx, id)
	if err != nil {
		return err
	}
	defer s.unlock()
	if !m.Active(id) {
		return m.notActive(id)
	}
	tok := token.Mint()
	m.c.Tokens.Add(tok, id)
	err = m.tmux.Set(ctx, tmux.Change{
		Session: id.SessionName(), Env: []tmux.Variable{{Name: atlas.TokenVariable, Value: tok.Reveal()}},
	})
	if err != nil {
		// Without an answer the session may hold either, so both stay valid until the next time.
		if !tmux.Is(err, tmux.Unanswered) {
			m.c.Tokens.Revoke(tok)
		}
		if tmux.Is(err, tmux.NoSession) || tmux.Is(err, tmux.NoServer) {
			return notActive(id)
		}
		return unavailable("the new token could not be written into the session; the old one is still valid", err)
	}
	m.c.Tokens.Keep(tok, id)
	m.mu.Lock()
	s.conflict = false
	m.mu.Unlock()
	m.event(id, api.TokenRotated, "")
	return nil
}
