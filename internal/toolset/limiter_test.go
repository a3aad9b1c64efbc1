package toolset_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"fleet/internal/atlas"
	"fleet/internal/toolset"
)

func inside(t *testing.T, dir string) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "in-*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

func TestAtMostFourCallsRunAtOnceInAWorkspace(t *testing.T) {
	gate := t.TempDir()
	b := newBed(t)
	shared := toolset.Host{Limiter: &toolset.Limiter{}}
	b.load(shared, atlas.Toolset{Use: plain(t, ""), Command: command(t, "gate", gate)})
	// Another toolset of the same ship shares the bound.
	other := (&bed{t: t, atlas: b.atlas, dir: b.dir}).load(shared, atlas.Toolset{Use: plain(t, ""), Command: command(t, "gate", gate)})
	var calls sync.WaitGroup
	for i := range 6 {
		set := []*toolset.Toolset{b.set, other.set}[i%2]
		calls.Go(func() {
			if got := set.Call(t.Context(), b.place(), "text", nil); got.IsError {
				t.Errorf("a call that waited for its turn ended with %+v", got)
			}
		})
	}
	until(t, "four calls run", func() bool { return inside(t, gate) == 4 })

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got := b.set.Call(ctx, b.place(), "text", nil); !got.IsError || got.Outcome() != "error" {
		t.Errorf("a call without a turn ended with %+v", got)
	}
	neighbour := toolset.Place{Dir: filepath.Join(b.atlas, "widgets", "other")}
	calls.Go(func() { b.set.Call(t.Context(), neighbour, "text", nil) })
	until(t, "a neighbour's call runs", func() bool { return inside(t, gate) == 5 })

	if err := os.WriteFile(filepath.Join(gate, "open"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	calls.Wait()
	if n := inside(t, gate); n != 7 {
		t.Errorf("%d calls ran in all, want 7: one had no turn", n)
	}
}
