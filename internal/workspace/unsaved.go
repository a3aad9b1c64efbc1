package workspace

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"fleet/internal/atlas"
)

// unsaved lists the work in id's checkout that exists nowhere else, in words. It ends within
// lookDeadline. Where there are nested repositories it lists no more: git would look into them.
func (m *Manager) unsaved(ctx context.Context, id atlas.ID) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookDeadline)
	defer cancel()
	dirs, err := m.gitDirs(id)
	if err != nil {
		return nil, err
	}
	sh, err := m.shadow(ctx, id, dirs)
	if err != nil {
		return nil, err
	}
	defer sh.close()
	nested, err := sh.nested(ctx)
	if err != nil {
		return nil, err
	}
	if nested != "" {
		return []string{nested}, nil
	}
	looks := []func(context.Context) (string, error){
		sh.uncommitted, sh.submodules, sh.unpushed, sh.otherRefs, sh.stashes, sh.worktrees,
	}
	var lost []string
	for _, look := range looks {
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
	filled, err := s.submodulePaths(ctx)
	if err != nil || len(filled) == 0 {
		return "", err
	}
	return count(len(filled), "checked out submodule") + " (not looked into)", nil
}

// submodulePaths gives where checked out submodules are.
func (s *shadow) submodulePaths(ctx context.Context) ([]string, error) {
	out, err := s.run(ctx, "ls-files", "-s", "-z")
	if err != nil {
		return nil, err
	}
	var filled []string
	for entry := range strings.SplitSeq(out, "\x00") {
		mode, path, ok := strings.Cut(entry, "\t")
		if !ok || !strings.HasPrefix(mode, "160000 ") {
			continue
		}
		if _, err := os.Lstat(filepath.Join(s.worktree, path, ".git")); err == nil {
			filled = append(filled, path)
		}
	}
	return filled, nil
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
	n, err := s.commits(ctx, append(args, "--not", "--remotes")...)
	if err != nil || n == 0 {
		return "", err
	}
	return onNoRemote(n), nil
}

func onNoRemote(n int) string { return count(n, "commit") + " that " + isOrAre(n) + " on no remote" }

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func (s *shadow) commits(ctx context.Context, args ...string) (int, error) {
	out, err := s.run(ctx, args...)
	if err != nil {
		return 0, err
	}
	return number(out)
}

func number(out string) (int, error) { return strconv.Atoi(strings.TrimSpace(out)) }

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
	root, err := openDir(s.dirs.common)
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
	entries, err := readDir(filepath.Join(s.dirs.common, "worktrees"))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	live := 0
	root, err := openDir(filepath.Join(s.dirs.common, "worktrees"))
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
