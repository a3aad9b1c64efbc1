package bridge

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"fleet/internal/e2e/talk"
)

// A database that a crash or a full disk has damaged is said to be damaged, wherever it was hit. A
// page that isn't in use may be lost unseen.
func TestADatabaseIsFoundDamagedWhereverItIs(t *testing.T) {
	dir := t.TempDir() + "/bridge"
	c := configOf(t, dir, &fakeForge{}, &talk.Words{})
	b, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = b.As(b.Local()).Do(t.Context(), comment("done"))
	_ = b.Close()
	path := filepath.Join(dir, storeFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	open := func(raw []byte) error {
		t.Helper()
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := Open(t.Context(), c)
		if err == nil {
			err = b.Close()
		}
		return err
	}
	for size := page; size < len(whole); size += page / 2 {
		if err := open(whole[:size]); !errors.Is(err, errDamaged) && size < len(whole)/2 {
			t.Errorf("cut to %d of %d bytes: %v", size, len(whole), err)
		}
	}
	found := 0
	for n := 2; n*page < len(whole); n++ {
		raw := append([]byte(nil), whole...)
		clear(raw[n*page : (n+1)*page])
		if err := open(raw); errors.Is(err, errDamaged) {
			found++
		} else if err != nil {
			t.Errorf("page %d cleared: %v", n, err)
		}
	}
	if found == 0 {
		t.Error("no cleared page was noticed")
	}
}
