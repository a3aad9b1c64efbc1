package workspace

import (
	"strings"

	"fleet/api"
	"fleet/internal/atlas"
)

// Position is what a checkout stands on.
type Position struct {
	Branch string // what the work is on; the one being rebased while a rebase is under way
	Commit string // of the branch in this checkout, in hex; "" on a branch without commits
}

// Position reads the branch from id's files, in a clone and in a worktree of one, and never
// runs git. During a rebase HEAD is detached, and the branch is the one that git will move when
// it is done. It fails with Conflict (detached_head) on a HEAD that is detached otherwise, and
// with NotFound where there is no workspace.
func (m *Manager) Position(id atlas.ID) (Position, error) {
	if err := atlas.CheckWorkspace(m.c.Root, id); err != nil {
		return Position{}, noWorkspace(id, err)
	}
	branch, commit := m.head(id)
	if branch != nil {
		return Position{*branch, text(commit)}, nil
	}
	if p, ok := m.rebased(id); ok {
		return p, nil
	}
	message := "the workspace's HEAD cannot be read"
	if commit != nil {
		message = "the workspace's HEAD is detached, at " + *commit
	}
	return Position{}, &api.Error{
		Code: api.Conflict, Reason: "detached_head", Message: message,
		Hint: "give pr or ref" + withCommit(commit),
	}
}

func withCommit(commit *string) string {
	if commit == nil {
		return ""
	}
	return ", such as ref " + *commit
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// rebased reads what "git rebase" (rebase-merge) or "git am" and "git rebase --apply"
// (rebase-apply) left of the branch at work: its ref in head-name and where it was in orig-head.
func (m *Manager) rebased(id atlas.ID) (Position, bool) {
	dirs, err := m.gitDirs(id)
	if err != nil {
		return Position{}, false
	}
	own, err := openDir(dirs.own)
	if err != nil {
		return Position{}, false
	}
	defer own.Close()
	for _, dir := range []string{"rebase-merge", "rebase-apply"} {
		ref, err := readSmall(own, dir+"/head-name")
		if err != nil {
			continue
		}
		name, ok := strings.CutPrefix(ref, "refs/heads/")
		if !ok || !goodBranch(name) {
			continue // a rebase of a detached HEAD says "detached HEAD"
		}
		commit, err := readSmall(own, dir+"/orig-head")
		if err != nil {
			commit = ""
		}
		return Position{name, text(hexID(commit))}, true
	}
	return Position{}, false
}
