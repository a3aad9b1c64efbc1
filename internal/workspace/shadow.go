package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fleet/internal/atlas"
)

const (
	maxConfigBytes = 1 << 20
	maxIndexBytes  = 1 << 30
	shadowDeadline = 2 * time.Minute
)

// shadow is a git directory of ours that looks at a workspace's files and objects, but has a
// configuration of its own: no hook, filter, file system monitor, include or alias that an
// agent put into the workspace's can run.
type shadow struct {
	dir, worktree string
	dirs          gitDirs
	linked        bool // the workspace is a worktree of another clone
	env           []string
}

func (m *Manager) shadow(ctx context.Context, id atlas.ID, dirs gitDirs) (*shadow, error) {
	dir, err := os.MkdirTemp("", "fleet-look-")
	if err != nil {
		return nil, err
	}
	s := &shadow{dir: dir, worktree: id.Dir(m.c.Root), dirs: dirs, linked: dirs.own != dirs.common}
	path := m.searchPath(nil)
	s.env = []string{
		"PATH=" + path, "HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "LC_ALL=C",
		"GIT_DIR=" + dir, "GIT_WORK_TREE=" + s.worktree,
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1",
		"GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_TERMINAL_PROMPT=0",
	}
	if err := s.fill(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *shadow) close() { _ = os.RemoveAll(s.dir) }

// run executes a git command that reads, or writes to the shadow's own index.
func (s *shadow) run(ctx context.Context, args ...string) (string, error) {
	return s.runWith(ctx, "", args...)
}

func (s *shadow) runWith(ctx context.Context, stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, shadowDeadline)
	defer cancel()
	g := &git{dir: s.worktree, stdin: stdin, env: s.env, config: []string{"core.hooksPath=/dev/null", "core.fsmonitor=false", "protocol.allow=never"}}
	out, err := g.run(ctx, args...)
	var failed *gitError
	if errors.As(err, &failed) && failed.words() != "" {
		return "", fmt.Errorf("git %s: %s", args[0], failed.words())
	}
	return out, err
}

// fill copies what is read as data and links what is only ever read.
func (s *shadow) fill(ctx context.Context) error {
	own, err := os.OpenRoot(s.dirs.own)
	if err != nil {
		return err
	}
	defer own.Close()
	common, err := os.OpenRoot(s.dirs.common)
	if err != nil {
		return err
	}
	defer common.Close()
	if err := s.configure(ctx, common); err != nil {
		return err
	}
	for _, d := range []string{"objects", "refs"} {
		if st, err := common.Lstat(d); err != nil || !st.IsDir() {
			return fmt.Errorf("its %s are not in the usual place", d)
		}
		if err := os.Symlink(filepath.Join(s.dirs.common, d), filepath.Join(s.dir, d)); err != nil {
			return err
		}
	}
	if err := os.Mkdir(filepath.Join(s.dir, "info"), 0o700); err != nil {
		return err
	}
	err = errors.Join(
		s.copy(own, "HEAD", maxRefBytes, true), s.copy(own, "index", maxIndexBytes, false), s.copyShared(own),
		s.copy(common, "packed-refs", maxPackedRefsBytes, false), s.copy(common, "shallow", maxConfigBytes, false),
		s.copy(common, "info/exclude", maxConfigBytes, false),
	)
	if err != nil {
		return err
	}
	return s.unhide(ctx)
}

// unhide clears the marks under which git does not look at files, in the shadow's index.
// core.sparseCheckout does the same for files that a sparse checkout left out and that are there.
func (s *shadow) unhide(ctx context.Context) error {
	out, err := s.run(ctx, "ls-files", "-v", "-z")
	if err != nil {
		return err
	}
	var hidden strings.Builder
	for entry := range strings.SplitSeq(out, "\x00") {
		if tag, path, ok := strings.Cut(entry, " "); ok && tag != strings.ToUpper(tag) {
			hidden.WriteString(path + "\x00")
		}
	}
	if hidden.Len() == 0 {
		return nil
	}
	_, err = s.runWith(ctx, hidden.String(), "update-index", "--no-assume-unchanged", "-z", "--stdin")
	return err
}

// configure writes the shadow's configuration: the format of the workspace's objects and
// nothing else of it.
func (s *shadow) configure(ctx context.Context, common *os.Root) error {
	if err := s.copyAs(common, "config", "untrusted", maxConfigBytes, true); err != nil {
		return err
	}
	settings := []string{"[core]", "\tbare = false", "\tfilemode = true", "\tsparseCheckout = true"}
	format, refs := s.setting(ctx, "extensions.objectFormat"), s.setting(ctx, "extensions.refStorage")
	if refs != "" && refs != "files" {
		return fmt.Errorf("its refs are kept as %q", refs)
	}
	switch format {
	case "":
		settings = append(settings, "\trepositoryformatversion = 0")
	case "sha1", "sha256":
		settings = append(settings, "\trepositoryformatversion = 1", "[extensions]", "\tobjectformat = "+format)
	default:
		return errors.New("its objects have an unknown format")
	}
	return os.WriteFile(filepath.Join(s.dir, "config"), []byte(strings.Join(settings, "\n")+"\n"), 0o600)
}

// setting reads one value of the copied configuration. With --file, git takes it for data: it
// follows no include and acts on nothing in it.
func (s *shadow) setting(ctx context.Context, name string) string {
	g := &git{dir: "/", env: []string{"HOME=" + s.dir, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CEILING_DIRECTORIES=/"}}
	out, err := g.run(ctx, "config", "--file", filepath.Join(s.dir, "untrusted"), "--no-includes", "--get", name)
	if err != nil {
		return ""
	}
	return strings.ToLower(strings.TrimSpace(out))
}

// copyShared copies the parts of a split index.
func (s *shadow) copyShared(own *os.Root) error {
	dir, err := own.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	for _, name := range names {
		if strings.HasPrefix(name, "sharedindex.") {
			err = errors.Join(err, s.copy(own, name, maxIndexBytes, false))
		}
	}
	return err
}

func (s *shadow) copy(from *os.Root, name string, limit int64, needed bool) error {
	return s.copyAs(from, name, name, limit, needed)
}

// copyAs copies a regular file and its time of change: git takes a file that is as new as the
// index for one that may have changed since.
func (s *shadow) copyAs(from *os.Root, name, as string, limit int64, needed bool) error {
	in, err := openRegular(from, name)
	if errors.Is(err, os.ErrNotExist) && !needed {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	st, err := in.Stat()
	if err != nil {
		return err
	}
	if st.Size() > limit {
		return fmt.Errorf("its %s has more than %d bytes", name, limit)
	}
	path := filepath.Join(s.dir, as)
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, limit))
	return errors.Join(err, out.Close(), os.Chtimes(path, st.ModTime(), st.ModTime()))
}
