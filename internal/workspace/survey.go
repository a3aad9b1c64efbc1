package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// maxDepth bounds how deep directories nest; each holds a file descriptor while it is walked.
const maxDepth = 256

// errDeep is a tree that nobody made by hand.
var errDeep = fmt.Errorf("its directories nest deeper than %d", maxDepth)

// walk shows visit the entries of dir and of the directories below that it wants to go into. It
// follows no symlink, waits for no pipe, and ends with ctx. Paths are relative to dir.
func walk(ctx context.Context, dir *os.Root, visit func(at string, list []fs.DirEntry) (into bool, err error)) error {
	return walkAt(ctx, dir, ".", maxDepth, visit)
}

func walkAt(ctx context.Context, dir *os.Root, at string, depth int, visit func(string, []fs.DirEntry) (bool, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if depth == 0 {
		return errDeep
	}
	list, err := entries(dir)
	if err != nil {
		return err
	}
	into, err := visit(at, list)
	if err != nil || !into {
		return err
	}
	for _, e := range list {
		if !e.IsDir() || at == "." && e.Name() == ".git" {
			continue
		}
		sub, err := openDirIn(dir, e.Name())
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		err = walkAt(ctx, sub, path.Join(at, e.Name()), depth-1, visit)
		_ = sub.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// plain fails where something below dir/name is neither a file nor a directory: git would wait
// for a pipe's writer, and follow a symlink to one.
func plain(ctx context.Context, dir *os.Root, name string) error {
	sub, err := openDirIn(dir, name)
	if err != nil {
		return fmt.Errorf("its %s are not in the usual place", name)
	}
	defer sub.Close()
	return walk(ctx, sub, func(at string, list []fs.DirEntry) (bool, error) {
		for _, e := range list {
			if !e.IsDir() && !e.Type().IsRegular() {
				return false, fmt.Errorf("its %s is neither a file nor a directory", path.Join(name, at, e.Name()))
			}
		}
		return true, nil
	})
}

// nested lists the repositories below the workspace, ignored or not, and those that submodules
// left in its own: their commits would go with it. It does not list checked out submodules. It
// fails on what git reads of a checkout and would wait for.
func (s *shadow) nested(ctx context.Context) (string, error) {
	subs, err := s.submodulePaths(ctx)
	if err != nil {
		return "", err
	}
	found, err := repositories(ctx, s.worktree, "")
	if err != nil {
		return "", err
	}
	found = slices.DeleteFunc(found, func(at string) bool { return slices.Contains(subs, at) })
	if !s.linked && len(subs) == 0 {
		kept, err := repositories(ctx, path.Join(s.dirs.own, "modules"), ".git/modules")
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		found = append(found, kept...)
	}
	if len(found) == 0 {
		return "", nil
	}
	slices.Sort(found)
	const named = 3
	words := "the repository " + strings.Join(found[:min(len(found), named)], ", the repository ")
	if more := len(found) - named; more > 0 {
		words += fmt.Sprintf(" and %d more", more)
	}
	return words, nil
}

// repositories gives where below dir a repository begins, under the name prefix.
func repositories(ctx context.Context, dir, prefix string) ([]string, error) {
	root, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var found []string
	err = walk(ctx, root, func(at string, list []fs.DirEntry) (bool, error) {
		kinds := map[string]fs.FileMode{}
		for _, e := range list {
			switch e.Name() {
			case ".gitignore", ".gitattributes", ".gitmodules":
				// git does not follow symlinks in place of the first two.
				link := e.Type() == fs.ModeSymlink && e.Name() != ".gitmodules"
				if !e.IsDir() && !e.Type().IsRegular() && !link {
					return false, fmt.Errorf("%s is not a regular file", clean(path.Join(at, e.Name())))
				}
			case ".git", "HEAD", "objects", "refs":
				kinds[e.Name()] = e.Type() | 1 // not zero, even for a regular file
			}
		}
		bare := kinds["HEAD"] != 0 && kinds["objects"].IsDir() && kinds["refs"].IsDir()
		if at != "." && (kinds[".git"] != 0 || bare) {
			found = append(found, clean(path.Join(prefix, at)))
			return false, nil
		}
		return true, nil
	})
	return found, err
}
