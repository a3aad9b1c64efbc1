package atlas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/google/renameio/v2"
)

const (
	// FileName is the name of an atlas's file, at its root.
	FileName = "atlas.json"
	// DefaultPort is the port of a ship whose atlas was made without naming one.
	DefaultPort = 4700

	version      = 1
	maxFileBytes = 1 << 20
)

// ErrForeign says that an atlas.json is not one of Fleet's: it has no "fleet": 1.
var ErrForeign = errors.New(`it has no "fleet": 1, so it belongs to another program`)

// File is atlas.json. The zero File is not valid; New makes one.
type File struct {
	Fleet    int             `json:"fleet"` // always 1
	Port     int             `json:"port"`  // 0: the system chooses at the next start
	Repos    map[string]Repo `json:"repos"`
	Env      []string        `json:"env,omitempty"` // names that reach every pane, values from the daemon
	Toolsets []Toolset       `json:"toolsets,omitempty"`
}

// Repo is a registered repository. A file path as URL goes with forge "none".
type Repo struct {
	URL           string `json:"url"`
	Forge         string `json:"forge"` // one of Forges
	DefaultBranch string `json:"default_branch,omitempty"`
	APIURL        string `json:"api_url,omitempty"`
}

// Toolset names declared tools that the ship serves beside its own.
type Toolset struct {
	Use     string   `json:"use"` // builtin:NAME or the path of a declaration
	Command []string `json:"command,omitempty"`
	Roots   []string `json:"roots,omitempty"`
}

// Forges lists the values of Repo.Forge.
func Forges() []string { return []string{"github", "gitlab", "gitea", "none"} }

// New is an atlas without repositories.
func New(port int) *File { return &File{Fleet: version, Port: port, Repos: map[string]Repo{}} }

// Read reads and checks the atlas at root. The file must be a regular one of our user that
// nobody else can write; unknown keys are an error that names them all.
func Read(root string) (*File, error) {
	path := filepath.Join(root, FileName)
	raw, err := readOwn(path)
	if err != nil {
		return nil, err
	}
	f, err := Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Parse reads the text of an atlas.json strictly.
func Parse(raw []byte) (*File, error) {
	if _, err := probe(raw); err != nil {
		return nil, err
	}
	if err := checkKeys(raw); err != nil {
		return nil, err
	}
	f := &File{}
	if err := json.Unmarshal(raw, f); err != nil {
		return nil, err
	}
	if f.Repos == nil {
		f.Repos = map[string]Repo{}
	}
	return f, f.Check()
}

// Check says what is wrong with f, all of it at once.
func (f *File) Check() error {
	var faults []error
	if f.Fleet != version {
		faults = append(faults, ErrForeign)
	}
	if f.Port < 0 || f.Port > 65535 {
		faults = append(faults, fmt.Errorf("port %d is not between 0 and 65535", f.Port))
	}
	for key, r := range f.Repos {
		if err := CheckName(key); err != nil {
			faults = append(faults, fmt.Errorf("repos: %w", err))
		}
		if err := r.check(); err != nil {
			faults = append(faults, fmt.Errorf("repos.%s: %w", key, err))
		}
	}
	for _, name := range f.Env {
		if err := CheckEnvName(name); err != nil {
			faults = append(faults, fmt.Errorf("env: %w", err))
		}
	}
	for i, t := range f.Toolsets {
		if t.Use == "" {
			faults = append(faults, fmt.Errorf("toolsets[%d]: use is empty", i))
		}
	}
	return errors.Join(faults...)
}

func (r Repo) check() error {
	if err := CheckURL(r.URL); err != nil {
		return err
	}
	if !slices.Contains(Forges(), r.Forge) {
		return fmt.Errorf("forge %q is none of %s", r.Forge, strings.Join(Forges(), ", "))
	}
	if r.APIURL != "" {
		u, err := url.Parse(r.APIURL)
		if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil {
			return errors.New("api_url is not an http(s) address without a user name")
		}
	}
	return nil
}

// CheckURL says why s cannot be cloned from: it is empty, looks like an option, names a remote
// helper that runs a command, or holds a credential. The error never repeats a credential.
func CheckURL(s string) error {
	switch {
	case s == "":
		return errors.New("url is empty")
	case strings.HasPrefix(s, "-"):
		return errors.New("url starts with a dash")
	case strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return errors.New("url holds a control character")
	case strings.Contains(strings.SplitN(s, "/", 2)[0], "::"):
		return errors.New("url names a git remote helper (NAME::…), which could run a command")
	}
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return nil
	}
	authority, _, _ := strings.Cut(rest, "/")
	user, _, hasUser := cutLast(authority, "@")
	if !hasUser {
		return nil
	}
	// A bare user name in http(s) is, on every forge, a token.
	if strings.Contains(user, ":") || strings.HasPrefix(strings.ToLower(scheme), "http") {
		return errors.New("url holds a user name or password; remove it and let git's credential helper or ssh supply it")
	}
	return nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+len(sep):], true
}

// Write checks f and puts it in place of root's atlas.json, mode 0600, by renaming a temporary
// file. It refuses to replace anything but a regular file.
func Write(root string, f *File) error {
	if err := f.Check(); err != nil {
		return fmt.Errorf("write %s: %w", FileName, err)
	}
	path := filepath.Join(root, FileName)
	if st, err := os.Lstat(path); err == nil && !st.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file; move it away first", path)
	}
	raw, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return renameio.WriteFile(path, append(raw, '\n'), 0o600, renameio.IgnoreUmask())
}

// readOwn reads a regular file of our user that others cannot write, following no symlink.
func readOwn(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%s is a symbolic link", path)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if err := checkOwn(st); err != nil {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	raw, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err == nil && len(raw) > maxFileBytes {
		return nil, fmt.Errorf("%s is larger than 1 MiB", path)
	}
	return raw, err
}

func checkOwn(st fs.FileInfo) error {
	if !st.Mode().IsRegular() {
		return errors.New("is not a regular file")
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && int(sys.Uid) != os.Getuid() {
		return fmt.Errorf("belongs to user %d, not to us", sys.Uid)
	}
	if st.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("can be written by others (mode %#o)", st.Mode().Perm())
	}
	return nil
}

type essentials struct {
	Fleet int `json:"fleet"`
	Port  int `json:"port"`
}

// probe reads what an adapter needs and passes over keys that it does not know, so that
// neighbouring versions work together.
func probe(raw []byte) (essentials, error) {
	var any map[string]json.RawMessage
	if err := json.Unmarshal(raw, &any); err != nil || !bytes.Equal(bytes.TrimSpace(any["fleet"]), []byte("1")) {
		return essentials{}, ErrForeign
	}
	e := essentials{Fleet: version}
	if err := json.Unmarshal(any["port"], &e.Port); err != nil || e.Port < 0 || e.Port > 65535 {
		return essentials{}, errors.New("port is missing or not between 0 and 65535")
	}
	return e, nil
}
