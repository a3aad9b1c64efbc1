package atlas_test

import (
	"os"
	"path/filepath"
	"testing"

	"fleet/internal/atlas"
)

// BenchmarkLocate is what every start of agent-mcp does first, six directories below a workspace.
func BenchmarkLocate(b *testing.B) {
	root, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	if err := atlas.Write(root, atlas.New(4711)); err != nil {
		b.Fatal(err)
	}
	deep := filepath.Join(root, "r", "w", "a", "b", "c", "d", "e", "f")
	for _, dir := range []string{deep, filepath.Join(root, "r", "w", ".git")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
	}
	b.Chdir(deep)
	b.ReportAllocs()
	for b.Loop() {
		if place, err := atlas.Locate(); err != nil || place.ID != rw {
			b.Fatal(place, err)
		}
	}
}
