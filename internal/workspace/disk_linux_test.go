package workspace_test

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"fleet/api"
	"fleet/internal/workspace"
)

func TestAFullDiskIsTold(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	noise := make([]byte, 2<<20)
	rand.Read(noise)
	f.commit(t, f.origin, "big", string(noise))
	dir := filepath.Join(f.root, "r")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("no small file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	_, err := f.Create(t.Context(), id(t, "r/a"), workspace.CreateOptions{}, nil)
	wantError(t, "Create on a full disk", err, api.Unavailable, "disk_full", "make room")
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
