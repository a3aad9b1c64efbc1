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
	// maxCopiedBytes bounds all that is copied for one look. The Linux kernel's index has 10 MB.
	maxCopiedBytes = 256 << 20
	// lookDeadline bounds all of one look.
	lookDeadline = 30 * time.Second

	// looking begins the names of shadows, so that the next ship finds those of one that was killed.
	looking = "look-"
)

// shadow is a git directory of ours that looks at a workspace's files and objects, but has a
// configuration of its own: no hook, filter, file system monitor, include or alias that an
// agent put into the workspace's can run.
type shadow struct {
	dir, worktree string
	dirs          gitDirs
	linked        bool // the workspace is a worktree of another clone
	env           []string
	left          int64 // bytes that may still be copied
	remoteTags    func(context.Context) string
}

func (m *Manager) shadow(ctx context.Context, id atlas.ID, dirs gitDirs) (*shadow, error) {
	temp, err := atlas.MakeTemp(m.c.Root)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(temp, looking)
	if err != nil {
		return nil, err
	}
	s := &shadow{dir: dir, worktree: id.Dir(m.c.Root), dirs: dirs, linked: dirs.own != dirs.common, left: maxCopiedBytes}
	s.remoteTags = func(ctx context.Context) string { return m.remoteTags(ctx, id) }
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
	g := &git{dir: s.worktree, stdin: stdin, env: s.env, config: []string{"core.hooksPath=/dev/null", "core.fsmonitor=false", "protocol.allow=never"}}
	out, err := g.run(ctx, args...)
	if ctx.Err() != nil { // git says no more than that it was killed
		return "", ctx.Err()
	}
	var failed *gitError
	if errors.As(err, &failed) && failed.words() != "" {
		return "", fmt.Errorf("git %s: %s", args[0], failed.words())
	}
	return out, err
}

// fill copies what is read as data and links what is only ever read.
func (s *shadow) fill(ctx context.Context) error {
	own, err := openDir(s.dirs.own)
	if err != nil {
		return err
	}
	defer own.Close()
	common, err := openDir(s.dirs.common)
	if err != nil {
		return err
	}
	defer common.Close()
	if err := s.configure(ctx, common); err != nil {
		return err
	}
	for _, d := range []string{"objects", "refs"} {
		if err := plain(ctx, common, d); err != nil {
			return err
		}
		if err := os.Symlink(filepath.Join(s.dirs.common, d), filepath.Join(s.dir, d)); err != nil {
			return err
		}
	}
	if err := os.Mkdir(filepath.Join(s.dir, "info"), 0o700); err != nil {
		return err
	}
	err = errors.Join(
		s.copy(ctx, own, "HEAD", maxRefBytes, true), s.copy(ctx, own, "index", maxCopiedBytes, false),
		s.copy(ctx, common, "packed-refs", maxPackedRefsBytes, false), s.copy(ctx, common, "shallow", maxConfigBytes, false),
		s.copy(ctx, common, "info/exclude", maxConfigBytes, false),
	)
	if err == nil {
		err = s.copyShared(ctx, own)
	}
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
	config, err := readConfig(common)
	if err != nil {
		return err
	}
	settings := []string{"[core]", "\tbare = false", "\tfilemode = true", "\tsparseCheckout = true"}
	format, refs := s.setting(ctx, config, "extensions.objectFormat"), s.setting(ctx, config, "extensions.refStorage")
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

// readConfig gives the workspace's configuration as it is. It stays in memory: an address in it
// may hold a credential.
func readConfig(common *os.Root) (string, error) {
	file, err := openRegular(common, "config")
	if err != nil {
		return "", err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxConfigBytes+1))
	if err == nil && len(raw) > maxConfigBytes {
		err = fmt.Errorf("its config has more than %d bytes", maxConfigBytes)
	}
	return string(raw), err
}

// setting reads one value of a configuration. With --file, git takes it for data: it follows no
// include and acts on nothing in it.
func (s *shadow) setting(ctx context.Context, config, name string) string {
	g := &git{dir: "/", stdin: config, env: []string{"HOME=" + s.dir, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CEILING_DIRECTORIES=/"}}
	out, err := g.run(ctx, "config", "--file", "-", "--no-includes", "--get", name)
	if err != nil {
		return ""
	}
	return strings.ToLower(strings.TrimSpace(out))
}
