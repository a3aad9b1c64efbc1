package workspace

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"fleet/internal/atlas"
)

// unsaved lists the work in id's checkout that exists nowhere else, in words.
func (m *Manager) unsaved(ctx context.Context, id atlas.ID) ([]string, error) {
	dirs, err := m.gitDirs(id)
	if err != nil {
		return nil, err
	}
	sh, err := m.shadow(ctx, id, dirs)
	if err != nil {
		return nil, err
	}
	defer sh.close()
	var lost []string
	for _, look := range []func(context.Context) (string, error){sh.uncommitted, sh.submodules, sh.unpushed, sh.stashes, sh.worktrees} {
		found, err := look(ctx)
		if err != nil {
			return nil, err
		}
		if found != "" {
			lost = append(lost, found)
		}
	}
	return lost, nil
}

func (s *shadow) uncommitted(ctx context.Context) (string, error) {
	out, err := s.run(ctx, "status", "--porcelain=v1", "-z", "--untracked-files=normal", "--ignore-submodules=all", "--no-renames")
	if err != nil {
		return "", err
	}
	entries := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	if entries[0] == "" {
		return "", nil
	}
	changed, untracked := 0, 0
	for _, e := range entries {
		if strings.HasPrefix(e, "??") {
			untracked++
		} else {
			changed++
		}
	}
	var parts []string
	if changed > 0 {
		parts = append(parts, count(changed, "uncommitted change"))
	}
	if untracked > 0 {
		parts = append(parts, count(untracked, "untracked file"))
	}
	return strings.Join(parts, " and "), nil
}

// submodules that are filled are checkouts of their own, with their own configuration; they are
// not looked into.
func (s *shadow) submodules(ctx context.Context) (string, error) {
	out, err := s.run(ctx, "ls-files", "-s", "-z")
	if err != nil {
		return "", err
	}
	filled := 0
	for entry := range strings.SplitSeq(out, "\x00") {
		mode, path, ok := strings.Cut(entry, "\t")
		if !ok || !strings.HasPrefix(mode, "160000 ") {
			continue
		}
		if _, err := os.Lstat(filepath.Join(s.worktree, path, ".git")); err == nil {
			filled++
		}
	}
	if filled == 0 {
		return "", nil
	}
	return count(filled, "checked out submodule") + " (not looked into)", nil
}

func (s *shadow) unpushed(ctx context.Context) (string, error) {
	args := []string{"rev-list", "--count"}
	if _, err := s.run(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err == nil {
		args = append(args, "HEAD")
	}
	if !s.linked { // a worktree's branches stay behind in its clone
		args = append(args, "--branches")
	}
	if len(args) == 2 {
		return "", nil
	}
	out, err := s.run(ctx, append(args, "--not", "--remotes")...)
	if err != nil {
		return "", err
	}
	n := strings.TrimSpace(out)
	switch n {
	case "0":
		return "", nil
	case "1":
		return "1 commit that is on no remote", nil
	}
	return n + " commits that are on no remote", nil
}

func (s *shadow) stashes(ctx context.Context) (string, error) {
	if s.linked { // stashes belong to the clone
		return "", nil
	}
	out, err := s.run(ctx, "for-each-ref", "--format=%(refname)", "refs/stash")
	if err != nil || strings.TrimSpace(out) == "" {
		return "", err
	}
	return count(max(1, s.stashCount()), "stash"), nil
}

func (s *shadow) stashCount() int {
	root, err := os.OpenRoot(s.dirs.common)
	if err != nil {
		return 0
	}
	defer root.Close()
	file, err := openRegular(root, "logs/refs/stash")
	if err != nil {
		return 0
	}
	defer file.Close()
	n := 0
	for lines := bufio.NewScanner(io.LimitReader(file, 1<<20)); lines.Scan(); {
		n++
	}
	return n
}

// worktrees of a clone lose their repository with it.
func (s *shadow) worktrees(context.Context) (string, error) {
	if s.linked {
		return "", nil
	}
	entries, err := os.ReadDir(filepath.Join(s.dirs.common, "worktrees"))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	live := 0
	root, err := os.OpenRoot(filepath.Join(s.dirs.common, "worktrees"))
	if err != nil {
		return "", err
	}
	defer root.Close()
	for _, e := range entries {
		file, err := readSmall(root, filepath.Join(e.Name(), "gitdir"))
		if err != nil {
			continue
		}
		if _, err := os.Lstat(file); err == nil {
			live++
		}
	}
	if live == 0 {
		return "", nil
	}
	return "the repository of " + count(live, "worktree"), nil
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "sh") {
		what += "e"
	}
	return fmt.Sprintf("%d %ss", n, what)
}
