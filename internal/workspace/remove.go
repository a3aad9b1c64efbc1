package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fleet/api"
	"fleet/internal/atlas"
)

// Remove deletes id's directory. It fails with NotFound where there is no such workspace and
// Conflict where it is active. Without force it also fails with Conflict where work would be
// lost, and says which: changes that are not committed, commits that are on no remote, stashes,
// nested repositories; and where that cannot be told.
func (m *Manager) Remove(ctx context.Context, id atlas.ID, force bool) error {
	s, err := m.lock(ctx, id)
	if err != nil {
		return err
	}
	defer s.unlock()
	if m.Active(id) {
		return &api.Error{
			Code: api.Conflict, Reason: "active", Message: id.String() + " is active",
			Hint: command("ship deactivate", id),
		}
	}
	if err := atlas.CheckWorkspace(m.c.Root, id); err != nil {
		return noWorkspace(id, err)
	}
	if !force {
		if err := m.spare(ctx, id); err != nil {
			return err
		}
	}
	if err := m.remove(id); err != nil {
		return &api.Error{
			Code: api.Unavailable, Reason: "disk", Message: "the directory of " + id.String() + " cannot be removed completely",
			Hint: "look at who owns what below it; the ship removes the rest at its next start", Err: err,
		}
	}
	m.mu.Lock()
	s.reason = api.InactiveNeverActivated
	m.mu.Unlock()
	m.event(id, api.WorkspaceRemoved, "")
	return nil
}

// spare fails where removing id would lose work.
func (m *Manager) spare(ctx context.Context, id atlas.ID) error {
	lost, err := m.unsaved(ctx, id)
	hint := "save it, or lose it with: ship remove --force " + id.Shell()
	if err != nil {
		why := clean(err.Error())
		if errors.Is(err, context.DeadlineExceeded) {
			why = "to look took too long, and was given up after " + lookDeadline.String() + " or sooner"
		}
		return &api.Error{
			Code: api.Conflict, Reason: "unknown_work", Message: "it cannot be told whether " + id.String() + " holds work that is saved nowhere else: " + why,
			Hint: "look for yourself; to remove it all the same: ship remove --force " + id.Shell(), Err: err,
		}
	}
	if len(lost) > 0 {
		return &api.Error{
			Code: api.Conflict, Reason: "unsaved_work", Message: id.String() + " holds " + strings.Join(lost, ", "), Hint: hint,
		}
	}
	return nil
}

// remove renames the directory out of the way first, so that no half of a workspace is ever one.
func (m *Manager) remove(id atlas.ID) error {
	parent := filepath.Join(m.c.Root, id.Repo)
	away, err := os.MkdirTemp(parent, removing)
	if err != nil {
		return err
	}
	if err := os.Rename(id.Dir(m.c.Root), filepath.Join(away, "it")); err != nil {
		_ = os.Remove(away)
		return err
	}
	// Only what its own processes made: a tmux of the agent's, dead or soon so.
	return errors.Join(removeTree(away), removeTree(atlas.TempSockets(m.c.Root, id)))
}

// removeTree removes dir and what is below, without following a symlink. Directories that their
// owner made read-only, as Go's module cache is, are made writable first.
func removeTree(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	root, err := openDir(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() && err == nil {
			_ = root.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
