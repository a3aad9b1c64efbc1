package harness

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// machine is a user's home with an Installer for it. No program of a harness is on its PATH.
type machine struct {
	*testing.T
	home string
	env  map[string]string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	return &machine{t, t.TempDir(), map[string]string{}}
}

func (m *machine) installer(adapter string) *Installer {
	return New(Config{
		Home: m.home, Getenv: func(name string) string { return m.env[name] },
		LookPath: func(string) (string, error) { return "", errors.New("not on PATH") }, Adapter: adapter,
	})
}

const adapter = "/opt/fleet/bin/agent-mcp"

// put writes a file of the home.
func (m *machine) put(name, text string) {
	m.Helper()
	path := filepath.Join(m.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		m.Fatal(err)
	}
}

// get reads a file of the home; "" and false: there is none.
func (m *machine) get(name string) (string, bool) {
	m.Helper()
	raw, err := os.ReadFile(filepath.Join(m.home, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", false
	}
	if err != nil {
		m.Fatal(err)
	}
	return string(raw), true
}

func (m *machine) install(name string) Outcome {
	m.Helper()
	out, err := m.installer(adapter).Install(name, false)
	if err != nil {
		m.Fatalf("Install(%s): %v", name, err)
	}
	return out
}

func (m *machine) uninstall(name string) Outcome {
	m.Helper()
	out, err := m.installer(adapter).Uninstall(name, false)
	if err != nil {
		m.Fatalf("Uninstall(%s): %v", name, err)
	}
	return out
}

func (m *machine) state(name string) Status {
	m.Helper()
	list, err := m.installer(adapter).List()
	if err != nil {
		m.Fatal(err)
	}
	for _, s := range list {
		if s.Name == name {
			return s
		}
	}
	m.Fatalf("List has no %s", name)
	return Status{}
}

// is holds the file called name to text.
func (m *machine) is(name, text string) {
	m.Helper()
	if got, _ := m.get(name); got != text {
		m.Errorf("%s =\n%s\nwant\n%s", name, got, text)
	}
}
