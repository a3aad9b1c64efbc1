package atlas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
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

var errPort = errors.New("port is missing or not a whole number from 0 to 65535")

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
	*Policy              // nil: the usual one
}

// Toolset names declared tools that the ship serves beside its own. Whether what it names is there
// and fit is found out when it is loaded, since a fault of one toolset must not stop a ship.
type Toolset struct {
	Use     string   `json:"use"`               // builtin:NAME or the absolute path of a declaration
	Command []string `json:"command,omitempty"` // empty: what the declaration says
	Roots   []string `json:"roots,omitempty"`   // which absolute paths may name besides the workspace
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
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f, err := Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Parse reads the text of an atlas.json strictly: unknown keys in any part, in any case but the
// documented one, are an error, as are keys given twice and nulls.
func Parse(raw []byte) (*File, error) {
	if _, err := probe(raw); err != nil {
		return nil, err
	}
	if !utf8.Valid(raw) {
		return nil, errors.New("it is not valid UTF-8")
	}
	if err := checkKeys(raw); err != nil {
		return nil, err
	}
	f := &File{}
	if err := json.Unmarshal(raw, f); err != nil {
		return nil, plain(err)
	}
	if f.Repos == nil {
		return nil, errors.New(`repos is missing; without repositories it is "repos": {}`)
	}
	return f, f.Check()
}

// plain words an error of encoding/json for people, without Go's types.
func plain(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s cannot hold a JSON %s", wrong.Field, wrong.Value)
	}
	return err
}

// faults are several errors in one line.
type faults []error

func (f faults) Error() string {
	texts := make([]string, len(f))
	for i, err := range f {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (f faults) Unwrap() []error { return f }

// Check says what is wrong with f, all of it at once and in one line.
func (f *File) Check() error {
	var found faults
	if f.Fleet != version {
		found = append(found, ErrForeign)
	}
	if f.Port < 0 || f.Port > 65535 {
		found = append(found, errPort)
	}
	for _, key := range slices.Sorted(maps.Keys(f.Repos)) {
		if err := CheckName(key); err != nil {
			found = append(found, fmt.Errorf("repos: %w", err))
		}
		for _, err := range f.Repos[key].faults() {
			found = append(found, fmt.Errorf("repos.%s: %w", key, err))
		}
	}
	for _, name := range f.Env {
		if err := CheckEnvName(name); err != nil {
			found = append(found, fmt.Errorf("env: %w", err))
		}
	}
	for i, t := range f.Toolsets {
		if t.Use == "" {
			found = append(found, fmt.Errorf("toolsets[%d]: use is empty", i))
		}
	}
	if found == nil {
		return nil
	}
	return found
}

func (r Repo) faults() []error {
	found := []error{CheckURL(r.URL), checkBranch(r.DefaultBranch)}
	if !slices.Contains(Forges(), r.Forge) {
		found = append(found, fmt.Errorf("forge %q is none of %s", r.Forge, strings.Join(Forges(), ", ")))
	}
	if r.APIURL != "" {
		found = append(found, checkAPIURL(r.APIURL))
	}
	found = append(found, r.Policy.faults()...)
	return slices.DeleteFunc(found, func(err error) bool { return err == nil })
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
	whole := *f
	if whole.Repos == nil {
		whole.Repos = map[string]Repo{}
	}
	var raw bytes.Buffer
	encoder := json.NewEncoder(&raw)
	encoder.SetEscapeHTML(false) // people read it
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(whole); err != nil {
		return err
	}
	if raw.Len() > maxFileBytes {
		return fmt.Errorf("write %s: it would be larger than 1 MiB", FileName)
	}
	return replaceOwn(path, raw.Bytes())
}

// probe reads the port, which is all that an adapter needs, and passes over keys that it does
// not know, so that neighbouring versions work together.
func probe(raw []byte) (port int, err error) {
	var fields map[string]json.RawMessage
	err = json.Unmarshal(raw, &fields)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		before := raw[:min(int(syntax.Offset), len(raw))]
		return 0, fmt.Errorf("it is not JSON: line %d: %w", 1+bytes.Count(before, []byte("\n")), err)
	}
	if err != nil || string(fields["fleet"]) != "1" {
		return 0, ErrForeign
	}
	port = -1
	if err := json.Unmarshal(fields["port"], &port); err != nil || port < 0 || port > 65535 {
		return 0, errPort
	}
	return port, nil
}
