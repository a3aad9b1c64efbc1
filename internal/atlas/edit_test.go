package atlas_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"fleet/internal/atlas"
)

func TestConcurrentEditsLoseNothing(t *testing.T) {
	root := newAtlas(t)
	const edits = 20
	var wg sync.WaitGroup
	for i := range edits {
		wg.Go(func() {
			err := atlas.Edit(root, func(f *atlas.File) error {
				f.Repos[fmt.Sprint("repo", i)] = atlas.Repo{URL: "/srv/x", Forge: "none"}
				return nil
			})
			if err != nil {
				t.Errorf("Edit = %v", err)
			}
		})
	}
	wg.Wait()
	if f, err := atlas.Read(root); err != nil || len(f.Repos) != edits {
		t.Errorf("after %d edits the atlas has %d repositories (%v)", edits, len(f.Repos), err)
	}
}

func TestAFailedEditChangesNothing(t *testing.T) {
	root := newAtlas(t)
	before, err := os.ReadFile(filepath.Join(root, atlas.FileName))
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	if err := atlas.Edit(root, func(f *atlas.File) error { f.Port = 1; return stop }); !errors.Is(err, stop) {
		t.Errorf("Edit = %v, want the change's own error", err)
	}
	if err := atlas.Edit(root, func(f *atlas.File) error { f.Port = -1; return nil }); err == nil {
		t.Error("Edit to an illegal port = nil, want an error")
	}
	after, err := os.ReadFile(filepath.Join(root, atlas.FileName))
	if err != nil || string(after) != string(before) {
		t.Errorf("a failed Edit left %s (%v), want %s", after, err, before)
	}
	// Neither holds the lock any longer.
	if err := atlas.Edit(root, func(f *atlas.File) error { f.Port = 2; return nil }); err != nil {
		t.Errorf("Edit after failed ones = %v", err)
	}
}

func TestInitMakesAnEmptyAtlas(t *testing.T) {
	dir := filepath.Join(tempDir(t), "new/fleet")
	t.Chdir(filepath.Dir(filepath.Dir(dir)))
	root, err := atlas.Init("new/fleet", 4711)
	if root != dir || err != nil {
		t.Fatalf("Init = %q, %v; want %q", root, err, dir)
	}
	if f, err := atlas.Read(root); err != nil || f.Port != 4711 || len(f.Repos) != 0 {
		t.Errorf("Read = %+v, %v; want an empty atlas at port 4711", f, err)
	}
	if st, err := os.Stat(atlas.StateDir(root)); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%s: %v, want mode 0700", atlas.StateDir(root), err)
	}
	if got, err := atlas.FindRoot(root); got != root || err != nil {
		t.Errorf("FindRoot = %q, %v; want %q", got, err, root)
	}
}

func TestInitRefusesAnExistingAtlas(t *testing.T) {
	root := newAtlas(t)
	if _, err := atlas.Init(root, 1); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("Init of an atlas = %v, want that it is one already", err)
	}
	if f, err := atlas.Read(root); err != nil || f.Port != 4711 {
		t.Errorf("Read = %+v, %v; want the atlas that was there", f, err)
	}
	// Whatever is called so stays.
	foreign := tempDir(t)
	write(t, filepath.Join(foreign, atlas.FileName), `{"frames":{}}`)
	if _, err := atlas.Init(foreign, 1); err == nil {
		t.Error("Init over another program's file = nil, want an error")
	}
}

func TestInitRefusesACheckoutAndLeavesNothing(t *testing.T) {
	checkout := tempDir(t)
	mkdir(t, checkout, ".git")
	link := filepath.Join(tempDir(t), "link")
	symlink(t, checkout, link)
	for _, dir := range []string{checkout, filepath.Join(checkout, "a/b"), filepath.Join(link, "a/b")} {
		if _, err := atlas.Init(dir, 1); err == nil || !strings.Contains(err.Error(), "checkout "+checkout) {
			t.Errorf("Init(%s) = %v, want that it lies in the checkout %s", dir, err, checkout)
		}
	}
	entries, err := os.ReadDir(checkout)
	if err != nil || len(entries) != 1 {
		t.Errorf("refused Inits left %v (%v), want only .git", entries, err)
	}
}

func TestConcurrentInitsMakeOneAtlas(t *testing.T) {
	root := tempDir(t)
	var made sync.Map
	var wg sync.WaitGroup
	for port := 1; port <= 8; port++ {
		wg.Go(func() {
			if _, err := atlas.Init(root, port); err == nil {
				made.Store(port, true)
			}
		})
	}
	wg.Wait()
	var ports []any
	made.Range(func(port, _ any) bool { ports = append(ports, port); return true })
	f, err := atlas.Read(root)
	if err != nil || len(ports) != 1 || ports[0] != f.Port {
		t.Errorf("Inits at ports %v succeeded and the atlas is %+v (%v), want one", ports, f, err)
	}
}
