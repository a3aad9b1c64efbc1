package workspace

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"fleet/api"
	"fleet/internal/atlas"
)

const (
	// Hidden, so that what is half made or half removed is never a workspace.
	creating = ".create-"
	removing = ".remove-"

	cloneDeadline = time.Hour
)

// CreateOptions says what a new checkout stands on.
type CreateOptions struct {
	Branch string // made where the remote lacks it; empty: the default branch
	From   string // what a new branch starts from: a branch, tag or commit; empty: the default branch
}

// Create clones id's repository. Lines on how it goes are written to progress, which may be nil.
// It fails with NotFound where the repo is not registered, Conflict where the workspace exists,
// Unauthenticated where git wants a password, and Unavailable where the remote or the disk will
// not; nothing is left behind then. It never asks anybody anything.
func (m *Manager) Create(ctx context.Context, id atlas.ID, o CreateOptions, progress io.Writer) (api.Workspace, error) {
	repo, ok := m.c.Atlas().Repos[id.Repo]
	if !ok {
		return api.Workspace{}, &api.Error{
			Code: api.NotFound, Reason: "no_repo", Message: "no repository " + id.Repo + " is registered",
			Hint: "ship repo add " + atlas.Quote(id.Repo) + " URL, or see: ship repo list",
		}
	}
	if err := checkCreate(id, repo, o); err != nil {
		return api.Workspace{}, err
	}
	s, err := m.lock(ctx, id)
	if err != nil {
		return api.Workspace{}, err
	}
	defer s.unlock()
	if err := m.create(ctx, id, repo, o, progress); err != nil {
		return api.Workspace{}, err
	}
	m.forgetForeign()
	m.event(id, api.WorkspaceCreated, "")
	return m.describe(id), nil
}

func checkCreate(id atlas.ID, repo atlas.Repo, o CreateOptions) error {
	if err := atlas.CheckURL(repo.URL); err != nil {
		return invalid("bad_url", "the address of "+id.Repo+" cannot be cloned: "+err.Error(),
			"register it anew: ship repo remove "+atlas.Quote(id.Repo)+", then ship repo add "+atlas.Quote(id.Repo)+" URL", err)
	}
	if o.From != "" && o.Branch == "" {
		return invalid("from_without_branch", "--from names the start of a new branch, and no branch is named", "add --branch NAME", nil)
	}
	for _, ref := range []string{o.Branch, o.From} {
		if ref != "" && (!goodBranch(ref) || ref[0] == '-' || ref == "HEAD") {
			return invalid("bad_ref", strconv.Quote(ref)+" is no name of a branch, tag or commit", "git help check-ref-format says what is", nil)
		}
	}
	return nil
}

func (m *Manager) create(ctx context.Context, id atlas.ID, repo atlas.Repo, o CreateOptions, progress io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, cloneDeadline)
	defer cancel()
	dir := id.Dir(m.c.Root)
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		return exists(id, err)
	}
	parent, made, err := m.repoDir(id.Repo)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp(parent, creating)
	if err == nil {
		err = os.Chmod(temp, 0o755)
	}
	if err == nil {
		err = m.clone(ctx, id, repo, o, temp, progress)
	}
	if err == nil {
		err = os.Rename(temp, dir)
	}
	if err != nil {
		m.discard(temp, parent, made)
		return m.uncloned(ctx, id, repo, err)
	}
	return nil
}

func exists(id atlas.ID, err error) error {
	return &api.Error{
		Code: api.Conflict, Reason: "exists", Message: id.String() + " exists already",
		Hint: command("ship activate", id) + ", or choose another name", Err: err,
	}
}

// repoDir makes <atlas>/<repo> where it is missing; it must be a real directory.
func (m *Manager) repoDir(repo string) (dir string, made bool, err error) {
	dir = filepath.Join(m.c.Root, repo)
	err = os.Mkdir(dir, 0o755)
	if err == nil {
		return dir, true, nil
	}
	if !errors.Is(err, os.ErrExist) {
		return "", false, &api.Error{Code: api.Unavailable, Reason: "disk", Message: "the directory of " + repo + " cannot be made", Hint: "look at the disk of the atlas", Err: err}
	}
	if st, err := os.Lstat(dir); err != nil || !st.IsDir() {
		return "", false, &api.Error{
			Code: api.Conflict, Reason: "not_a_directory", Message: dir + " is not a real directory",
			Hint: "move it away; the atlas keeps the workspaces of " + repo + " there", Err: err,
		}
	}
	return dir, false, nil
}

func (m *Manager) discard(temp, parent string, made bool) {
	if temp != "" {
		if err := removeTree(temp); err != nil {
			m.c.Logger.Warn("remove a half made clone", "err", err)
		}
	}
	if made {
		_ = os.Remove(parent) // only while it is empty
	}
}

// sweep removes what commands that were cut off left behind. The atlas's lock is ours, so
// nobody is still at work on it.
func (m *Manager) sweep() error {
	faults := []error{m.sweepLooks()}
	for _, repo := range subdirs(m.c.Root) {
		faults = append(faults, sweepDir(filepath.Join(m.c.Root, repo), creating, removing))
	}
	return errors.Join(faults...)
}

// sweepLooks leaves a folder that is not ours alone to its owner.
func (m *Manager) sweepLooks() error {
	if _, err := os.Lstat(atlas.Temp(m.c.Root)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	dir, err := atlas.MakeTemp(m.c.Root)
	if err != nil {
		return err
	}
	return sweepDir(dir, looking)
}

func sweepDir(dir string, prefixes ...string) error {
	list, err := readDir(dir)
	faults := []error{err}
	for _, e := range list {
		for _, p := range prefixes {
			if strings.HasPrefix(e.Name(), p) {
				faults = append(faults, removeTree(filepath.Join(dir, e.Name())))
			}
		}
	}
	return errors.Join(faults...)
}
