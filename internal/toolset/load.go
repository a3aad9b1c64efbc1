package toolset

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"fleet/internal/atlas"
)

// Of suspec's payloads more is held to the contract than its adapter's page promises: exit code,
// level and severities agree; ids, names and severities are those of 0.27.0; C002 stands only in
// the report on the set, which comes last; refusals are never beside reports; and
// reports repeat the paths byte for byte and in order, but for one that is the same file as an
// earlier one. What ties specs to tasks is left to the checker.
//
//go:embed builtin/*.json
var builtins embed.FS

const (
	builtinPrefix = "builtin:"
	maxFileBytes  = 1 << 20
)

// Host is what a toolset needs to know of the ship that serves it.
type Host struct {
	// Atlas is the root of the ship's atlas. No declaration, program or root may lie in it: it
	// holds what agents write. Empty means that there is no atlas, as for a mere look at a file.
	Atlas string
	// Getenv looks a variable up in the environment that the ship started with; nil is an empty
	// environment. PATH, HOME, LANG and what a declaration names come from here.
	Getenv func(name string) (value string, ok bool)
	// Limiter is shared by all toolsets of a ship; nil means one for this toolset alone.
	Limiter *Limiter
}

func (h Host) getenv(name string) string {
	if h.Getenv == nil {
		return ""
	}
	value, _ := h.Getenv(name)
	return value
}

// Faults is everything that is wrong with a declaration, each fault with its place in the file as
// a JSON path such as $.tools[0].args[2].
type Faults []string

// Error gives all faults in one line.
func (f Faults) Error() string { return strings.Join(f, "; ") }

// Builtins lists the declarations that are built in, as atlas.json names them. Both are the
// adapters of a program of their own, which is not part of Fleet.
func Builtins() []string {
	entries, _ := fs.ReadDir(builtins, "builtin") // embedded, so it cannot fail
	var names []string
	for _, e := range entries {
		names = append(names, builtinPrefix+strings.TrimSuffix(e.Name(), ".json"))
	}
	return names
}

// Load reads and checks one declaration and finds its command. It starts nothing: Verify does.
// Where the file is at fault, the error holds a Faults with all of them. The file must be a
// regular one of our user that nobody else can write, outside the atlas.
func Load(host Host, ref atlas.Toolset) (*Toolset, error) {
	t, err := load(host, ref)
	if err != nil {
		return nil, fmt.Errorf("toolset %s: %w", ref.Use, err)
	}
	return t, nil
}

func load(host Host, ref atlas.Toolset) (*Toolset, error) {
	raw, err := host.read(ref.Use)
	if err != nil {
		return nil, err
	}
	if host.Limiter == nil {
		host.Limiter = &Limiter{}
	}
	t := &Toolset{host: host, source: ref.Use}
	if t.declared, err = parse(raw); err != nil {
		return nil, err
	}
	if err := t.prepare(raw); err != nil {
		return nil, err
	}
	if t.command, err = host.command(ref.Command, t.declared); err != nil {
		return nil, err
	}
	if t.roots, err = host.roots(ref.Roots); err != nil {
		return nil, err
	}
	t.environ = host.environ(t.declared)
	return t, nil
}

// read gives the text of what use names.
func (h Host) read(use string) ([]byte, error) {
	if name, ok := strings.CutPrefix(use, builtinPrefix); ok {
		raw, err := builtins.ReadFile("builtin/" + name + ".json")
		if err != nil {
			return nil, fmt.Errorf("there is none; built in are %s", strings.Join(Builtins(), ", "))
		}
		return raw, nil
	}
	if !filepath.IsAbs(use) {
		return nil, errors.New("it must be builtin:NAME or an absolute path")
	}
	if h.inAtlas(use) {
		return nil, errors.New("it lies in the atlas, where agents write; keep it outside")
	}
	return readOwn(use)
}

// readOwn reads a regular file of our user that others cannot write, following no symlink at its
// end: what is checked is what is read.
func readOwn(path string) ([]byte, error) {
	// Without O_NONBLOCK, opening a FIFO would wait for a writer.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, errors.New("it is a symbolic link")
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && int(sys.Uid) != os.Getuid() {
		return nil, fmt.Errorf("it belongs to user %d, not to us", sys.Uid)
	}
	if st.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("others can write it (mode %#o); run chmod go-w on it", st.Mode().Perm())
	}
	raw, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err == nil && len(raw) > maxFileBytes {
		return nil, errors.New("it is larger than 1 MiB")
	}
	return raw, err
}

// roots checks the folders that absolute paths may name besides the workspace.
func (h Host) roots(given []string) ([]string, error) {
	for _, root := range given {
		if !filepath.IsAbs(root) {
			return nil, fmt.Errorf("the root %q is not an absolute path", root)
		}
		// Either way an agent could name its neighbours' files.
		if h.inAtlas(root) || h.Atlas != "" && within(realPath(h.Atlas), realPath(root)) {
			return nil, fmt.Errorf("the root %q lies in the atlas or holds it", root)
		}
	}
	return slices.Clone(given), nil
}

// inAtlas says whether path, as written or after its symlinks, lies in the atlas.
func (h Host) inAtlas(path string) bool {
	if h.Atlas == "" {
		return false
	}
	return within(filepath.Clean(path), filepath.Clean(h.Atlas)) || within(realPath(path), realPath(h.Atlas))
}

// realPath resolves symlinks as far as path exists: what is not there yet may be there once an agent
// has made it. A path that cannot be followed is left as it is.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if real, err := newWalk().follow(context.Background(), path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// within says whether path is folder or below it; both are clean.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}
