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

// RefusedError says that the file at Path was not taken as an atlas.json: it cannot be read, others
// can write it, or it has faults. Nothing helps but to mend it.
type RefusedError struct {
	Path string
	Err  error
}

func (r *RefusedError) Error() string { return r.Path + ": " + r.Err.Error() }
func (r *RefusedError) Unwrap() error { return r.Err }

// Read reads and checks the atlas at root. The file must be a regular one of our user that
// nobody else can write. Every error is a *RefusedError; see Parse for what it says.
func Read(root string) (*File, error) {
	path := filepath.Join(root, FileName)
	raw, err := readOwn(path)
	if err != nil {
		return nil, &RefusedError{path, err}
	}
	f, err := Parse(raw)
	if err != nil {
		return nil, &RefusedError{path, err}
	}
	return f, nil
}

// Parse reads the text of an atlas.json strictly: unknown keys in any part, in any case but the
// documented one, are an error, as are keys given twice and nulls. The error names all faults at
// once, each with its path; only of a text that is not JSON or not Fleet's it says no more than that.
func Parse(raw []byte) (*File, error) {
	_, err := probe(raw)
	if err != nil && !errors.Is(err, errPort) {
		return nil, err
	}
	if !utf8.Valid(raw) {
		return nil, errors.New("it is not valid UTF-8")
	}
	found, scanErr := scanKeys(raw)
	if scanErr != nil {
		return nil, scanErr
	}
	if err != nil {
		found.add("port", err)
	}
	f := &File{}
	// It reads on after a value of another type, which found has then.
	if err := json.Unmarshal(raw, f); err != nil && len(found.wrong) == 0 {
		return nil, errors.New("it is not what api/atlas.schema.json says")
	}
	if f.Repos == nil && !found.tells("repos") {
		found.add("repos", errors.New(`repos is missing; without repositories it is "repos": {}`))
	}
	all := found.all()
	for _, one := range f.faults() {
		if !found.tells(one.path) {
			all = append(all, one)
		}
	}
	if all != nil {
		return nil, all
	}
	return f, nil
}

// fault is what is wrong with the value at path. Its text names the path itself.
type fault struct {
	path string
	error
}

func (f fault) Unwrap() error { return f.error }

// faults are several errors in one line.
type faults []error

func (f faults) Error() string {
	texts := make([]string, len(f))
	for i, err := range f {
		texts[i] = err.Error()
	}
	return some(texts, "; ")
}

func (f faults) Unwrap() []error { return f }

// Check says what is wrong with f, all of it at once and in one line.
func (f *File) Check() error {
	var all faults
	for _, one := range f.faults() {
		all = append(all, one)
	}
	if all == nil {
		return nil
	}
	return all
}

func (f *File) faults() []fault {
	var found []fault
	if f.Fleet != version {
		found = append(found, fault{"fleet", ErrForeign})
	}
	if f.Port < 0 || f.Port > 65535 {
		found = append(found, fault{"port", errPort})
	}
	for _, key := range slices.Sorted(maps.Keys(f.Repos)) {
		path := pathTo("repos", key)
		if err := CheckName(key); err != nil {
			found = append(found, fault{path, fmt.Errorf("repos: %w", err)})
		}
		for _, one := range f.Repos[key].faults() {
			found = append(found, fault{path + "." + one.path, fmt.Errorf("%s: %w", path, one.error)})
		}
	}
	for i, name := range f.Env {
		if err := CheckEnvName(name); err != nil {
			found = append(found, fault{fmt.Sprintf("env[%d]", i), fmt.Errorf("env: %w", err)})
		}
	}
	for i, t := range f.Toolsets {
		if t.Use == "" {
			found = append(found, fault{fmt.Sprintf("toolsets[%d].use", i), fmt.Errorf("toolsets[%d]: use is empty", i)})
		}
	}
	return found
}

// faults have paths from the repository on.
func (r Repo) faults() []fault {
	found := []fault{{"url", CheckURL(r.URL)}, {"default_branch", checkBranch(r.DefaultBranch)}}
	if !slices.Contains(Forges(), r.Forge) {
		found = append(found, fault{"forge", fmt.Errorf("forge %q is none of %s", r.Forge, strings.Join(Forges(), ", "))})
	}
	if r.APIURL != "" {
		found = append(found, fault{"api_url", checkAPIURL(r.APIURL)})
	}
	found = append(found, r.Policy.faults()...)
	return slices.DeleteFunc(found, func(one fault) bool { return one.error == nil })
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
