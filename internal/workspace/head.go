package workspace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"fleet/internal/atlas"
)

const (
	maxRefBytes        = 4096
	maxPackedRefsBytes = 64 << 20
)

// gitDirs are the places of a checkout's own state (HEAD, index) and of what clones and their
// worktrees share (refs, objects). For a clone they are one.
type gitDirs struct{ own, common string }

// head reads branch and commit as files: git would run what the checkout's configuration says.
// Either is nil where it cannot be told.
func (m *Manager) head(id atlas.ID) (branch, commit *string) {
	dirs, err := m.gitDirs(id)
	if err != nil {
		return nil, nil
	}
	own, err := openDir(dirs.own)
	if err != nil {
		return nil, nil
	}
	defer own.Close()
	text, err := readSmall(own, "HEAD")
	if err != nil {
		return nil, nil
	}
	ref, symbolic := strings.CutPrefix(text, "ref: ")
	if !symbolic {
		return nil, hexID(text)
	}
	// Where refs are not kept in files, git puts refs/heads/.invalid here.
	name, ok := strings.CutPrefix(ref, "refs/heads/")
	if !ok || !goodBranch(name) {
		return nil, nil
	}
	common := own
	if dirs.common != dirs.own {
		if common, err = openDir(dirs.common); err != nil {
			return &name, nil
		}
		defer common.Close()
	}
	return &name, lookUp(common, ref)
}

// gitDirs resolves a workspace's .git. A file in its place may point only to a worktree of a
// clone of the same repo in this atlas.
func (m *Manager) gitDirs(id atlas.ID) (gitDirs, error) {
	path := filepath.Join(id.Dir(m.c.Root), ".git")
	st, err := os.Lstat(path)
	if err != nil {
		return gitDirs{}, err
	}
	if st.IsDir() {
		return gitDirs{path, path}, nil
	}
	root, err := openDir(id.Dir(m.c.Root))
	if err != nil {
		return gitDirs{}, err
	}
	defer root.Close()
	text, err := readSmall(root, ".git")
	if err != nil {
		return gitDirs{}, err
	}
	target, ok := strings.CutPrefix(text, "gitdir: ")
	if !ok {
		return gitDirs{}, errors.New(".git is a file without a gitdir line")
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(id.Dir(m.c.Root), target)
	}
	return m.worktree(id, target)
}

// worktree checks that target is <atlas>/<repo>/<clone>/.git/worktrees/<x>, by its real path.
func (m *Manager) worktree(id atlas.ID, target string) (gitDirs, error) {
	own, err := filepath.EvalSymlinks(target)
	if err != nil {
		return gitDirs{}, err
	}
	rel, err := filepath.Rel(filepath.Join(m.c.Root, id.Repo), own)
	parts := strings.Split(rel, string(filepath.Separator))
	if err != nil || len(parts) != 4 || parts[1] != ".git" || parts[2] != "worktrees" {
		return gitDirs{}, fmt.Errorf("the .git file of %s points outside the clones of %s", id, id.Repo)
	}
	clone, err := atlas.NewID(id.Repo, parts[0])
	if err != nil {
		return gitDirs{}, err
	}
	if err := atlas.CheckWorkspace(m.c.Root, clone); err != nil {
		return gitDirs{}, err
	}
	return gitDirs{own, filepath.Join(clone.Dir(m.c.Root), ".git")}, nil
}

func lookUp(common *os.Root, ref string) *string {
	if text, err := readSmall(common, ref); err == nil {
		return hexID(text)
	}
	file, err := openRegular(common, "packed-refs")
	if err != nil {
		return nil
	}
	defer file.Close()
	lines := bufio.NewScanner(io.LimitReader(file, maxPackedRefsBytes))
	for lines.Scan() {
		if commit, name, ok := strings.Cut(lines.Text(), " "); ok && name == ref {
			return hexID(commit)
		}
	}
	return nil
}

// hexID gives s where it is an object's name, and nil for anything else: a ref can be a link to
// a file of another kind.
func hexID(s string) *string {
	if len(s) != 40 && len(s) != 64 || strings.Trim(s, "0123456789abcdef") != "" {
		return nil
	}
	return &s
}

// goodBranch holds a name to what git allows (git-check-ref-format(1)), as far as it concerns
// paths and terminals.
func goodBranch(name string) bool {
	return name != "" && utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl) &&
		!strings.ContainsAny(name, " ~^:?*[\\") && !strings.Contains(name, "..") && !strings.Contains(name, "//") &&
		!strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "/") && !strings.Contains(name, "/.") && !strings.HasSuffix(name, "/")
}

// readSmall reads a file of one line. It is bounded, never waits for a pipe, and never leaves
// root by a symlink.
func readSmall(root *os.Root, name string) (string, error) {
	file, err := openRegular(root, name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxRefBytes+1))
	if err != nil {
		return "", err
	}
	if len(raw) > maxRefBytes {
		return "", fmt.Errorf("%s is larger than %d bytes", name, maxRefBytes)
	}
	return strings.TrimRight(string(raw), "\r\n"), nil
}

func openRegular(root *os.Root, name string) (*os.File, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	st, err := file.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}
