package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A harness saved between our last look at its file and the rename, and its save was lost.
func TestASaveInTheLastMomentIsNotLost(t *testing.T) {
	m := newMachine(t)
	path := filepath.Join(m.home, "x.json")
	for name, save := range map[string]func(){
		"anew":     func() { m.put("x.new", `{"b":2}`); _ = os.Rename(filepath.Join(m.home, "x.new"), path) },
		"in place": func() { m.put("x.json", `{"b":2}`) },
	} {
		t.Run(name, func(t *testing.T) {
			_ = os.Remove(path)
			m.put("x.json", `{"a":1}`)
			f, err := open(path)
			if err != nil {
				t.Fatal(err)
			}
			save()
			fresh, err := f.prepare([]byte("ours"), 0o600)
			if err != nil {
				t.Fatal(err)
			}
			if err := f.exchange(fresh); err == nil || !strings.Contains(err.Error(), "was changed by another program") {
				t.Errorf("exchange: %v, want that it was changed", err)
			}
			m.is("x.json", `{"b":2}`)
			if err := f.moveOut(); err == nil || !strings.Contains(err.Error(), "was changed by another program") {
				t.Errorf("moveOut: %v, want that it was changed", err)
			}
			m.is("x.json", `{"b":2}`)
			if left, err := os.ReadDir(m.home); err != nil || len(left) != 1 {
				t.Errorf("the folder holds %v, %v; want the file alone", left, err)
			}
		})
	}
}

func TestANewFileReplacesNoneThatCameMeanwhile(t *testing.T) {
	m := newMachine(t)
	f, err := open(filepath.Join(m.home, "x.json"))
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := f.prepare([]byte("ours"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	m.put("x.json", "theirs")
	if err := f.exchange(fresh); err == nil {
		t.Error("exchange did not mind")
	}
	m.is("x.json", "theirs")
}

// The user moved the file that install made to another folder, and linked it.
func TestUninstallLeavesNoDanglingLink(t *testing.T) {
	m := newMachine(t)
	m.install("cursor")
	at, kept := filepath.Join(m.home, ".cursor", "mcp.json"), filepath.Join(m.home, "dotfiles", "mcp.json")
	if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(at, kept); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(kept, at); err != nil {
		t.Fatal(err)
	}
	m.uninstall("cursor")
	m.is(".cursor/mcp.json", "{}\n")
	m.install("cursor")
}

func TestAFileWithOtherNamesIsRefused(t *testing.T) {
	m := newMachine(t)
	m.put(".cursor/mcp.json", "{}\n")
	if err := os.Link(filepath.Join(m.home, ".cursor/mcp.json"), filepath.Join(m.home, "backup.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := m.installer(adapter).Install("cursor", false); err == nil || !strings.Contains(err.Error(), "hard links") {
		t.Errorf("Install: %v, want a refusal that names hard links", err)
	}
	m.is(".cursor/mcp.json", "{}\n")
}

// JSON and TOML put U+FFFD into the place of such a byte, and name another program by that.
func TestAnAdapterWhosePathIsNotUTF8IsRefused(t *testing.T) {
	for _, name := range Names() {
		m := newMachine(t)
		if _, err := m.installer("/a\xff/agent-mcp").Install(name, false); err == nil || !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("Install(%s): %v, want a refusal that names UTF-8", name, err)
		}
	}
}
