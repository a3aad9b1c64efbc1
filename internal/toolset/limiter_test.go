package toolset_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
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

	// Its arguments are wrong, but nobody has looked: that is work for an agent as well.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	failed(t, b.set.Call(ctx, b.place(), "text", json.RawMessage(`{"unknown":1}`)), "before its turn came")
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

func TestACallWhoseCallerHasGoneSaysSoAndRunsNothing(t *testing.T) {
	b := serve(t, "builtin:fairlead")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range []string{`{"paths":["src"]}`, `{"paths":["/etc/passwd"]}`, `{"unknown":1}`} {
		got := b.set.Call(ctx, b.place(), "brief", json.RawMessage(args))
		if !got.IsError || got.Outcome() != "error" || !strings.Contains(got.Text[0], "given up") || strings.Contains(got.Text[0], "other calls") {
			t.Errorf("brief %s, given up before = %+v, want an error that says no more than that", args, got)
		}
	}
	if s := b.started(); s != nil {
		t.Errorf("a process was started with %q", s.Args)
	}
}
