package tmux_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"fleet/internal/tmux"
)

// fill mounts a small file system at dir; the function that it gives leaves no room on it.
func fill(t *testing.T, dir string) func() {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k,mode=700"); err != nil {
		t.Skipf("no small file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return func() {
		if err := os.WriteFile(filepath.Join(dir, "full"), make([]byte, 1<<20), 0o600); err == nil {
			t.Fatal("the disk is not full")
		}
	}
}

func TestOnAFullDiskAServerThatRunsIsFoundAgain(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(s *testServer){
		"as it was":                   func(*testServer) {},
		"without its configuration":   func(s *testServer) { os.Remove(filepath.Join(s.dir, "tmux.conf")) },
		"without its process id":      func(s *testServer) { os.Remove(s.socket + ".pid") },
		"with another's process id":   func(s *testServer) { os.WriteFile(s.socket+".pid", []byte("1 1\n"), 0o600) },
		"with an older configuration": func(s *testServer) { os.WriteFile(filepath.Join(s.dir, "tmux.conf"), []byte("#\n"), 0o600) },
	} {
		t.Run(what, func(t *testing.T) {
			s := open(t)
			full := fill(t, s.dir)
			t.Cleanup(func() { s.try("kill-server") })
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.make(t, tmux.NewSession{Command: []string{"sleep", "60"}})
			change(s)
			full()
			s.reopen(t)
			if err := s.Start(t.Context()); err != nil {
				t.Errorf("Start: %v", err)
			}
			if got, err := s.Sessions(t.Context()); err != nil || len(got) != 1 {
				t.Errorf("Sessions = %v, %v; want the one that lives", got, err)
			}
		})
	}
}

func TestOnAFullDiskNoServerStartsWithoutItsConfiguration(t *testing.T) {
	t.Parallel()
	s := open(t)
	fill(t, s.dir)()
	if err := s.Start(context.Background()); err == nil {
		t.Error("Start went on without the configuration")
	}
	if _, err := s.try("list-sessions"); err == nil {
		t.Error("a server runs")
	}
}
