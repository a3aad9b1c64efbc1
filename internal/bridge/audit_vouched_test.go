package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fleet/api"
	"fleet/internal/e2e/talk"
)

// A forge whose answer has a long address gets it into the audit, and the bridge never starts again.
func TestALongAddressInAForgesAnswerDoesNotKeepTheBridgeFromStarting(t *testing.T) {
	dir := t.TempDir() + "/bridge"
	f := &fakeForge{}
	f.write = func(_ context.Context, w Write, post func() *api.Written) (*api.Written, error) {
		done := post()
		done.URL = "https://github.com/" + strings.Repeat("x", 70_000)
		return done, nil
	}
	c := configOf(t, dir, f, &talk.Words{})
	b, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = b.As(b.Local()).Do(t.Context(), comment("done"))
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b, err = Open(t.Context(), c)
	if err != nil {
		t.Fatalf("the bridge does not start any more: %v", err)
	}
	_ = b.Close()
}

// What was refused stands in the audit's last lines, and they can be taken away unseen.
func TestRefusedLinesAtTheEndOfTheAuditCannotBeTakenAwayUnseen(t *testing.T) {
	dir := t.TempDir() + "/bridge"
	c := configOf(t, dir, &fakeForge{}, &talk.Words{})
	b, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	do := b.As(b.Local()).Do
	_, _ = do(t.Context(), comment("done"))
	_, err = do(t.Context(), comment("ghp_"+strings.Repeat("aB3", 12)))
	expectError(t, err, "forbidden/holds_credential")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, auditFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(raw), "\n")
	if !strings.Contains(lines[len(lines)-2], "refused") {
		t.Fatalf("last line is %s", lines[len(lines)-2])
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines[:len(lines)-2], "")), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err = Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	report, err := b.desk.verify()
	if err != nil || len(report.Faults) == 0 {
		t.Errorf("verify says %+v (%v): a line was removed", report, err)
	}
}

// A crash right after the database was made anew, or a database of another bridge that never wrote,
// in the place of the one that narrowed the embedded ship.
func TestAnEmptyDatabaseBesideAnAuditGivesNobodyEverything(t *testing.T) {
	for name, swap := range map[string]func(t *testing.T, dir string){
		"killed between making the database and noting that it is new": func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, storeFile)); err != nil {
				t.Fatal(err)
			}
			s, err := openStore(dir, time.Second) // what desk.open does before bereave
			if err != nil {
				t.Fatal(err)
			}
			_ = s.close()
		},
		"another bridge's": func(t *testing.T, dir string) {
			elsewhere := t.TempDir() + "/other"
			b, err := Open(t.Context(), configOf(t, elsewhere, &fakeForge{}, &talk.Words{}))
			if err != nil {
				t.Fatal(err)
			}
			_ = b.Close()
			raw, _ := os.ReadFile(filepath.Join(elsewhere, storeFile))
			if err := os.WriteFile(filepath.Join(dir, storeFile), raw, 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir() + "/bridge"
			f := &fakeForge{}
			c := configOf(t, dir, f, &talk.Words{})
			b, err := Open(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(b.desk.revoke(localShip), b.Close()); err != nil {
				t.Fatal(err)
			}
			swap(t, dir)
			b, err = Open(t.Context(), c)
			if err != nil {
				return
			}
			defer b.Close()
			if _, err := b.As(b.Local()).Do(t.Context(), comment("done")); err == nil {
				t.Errorf("the ship that was revoked comments")
			}
			if report, err := b.desk.verify(); err != nil || len(report.Faults) == 0 {
				t.Errorf("verify says %+v (%v)", report, err)
			}
		})
	}
}

// forgeLine adds a line to an audit as somebody does who has read how lines are chained.
func forgeLine(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, auditFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	last := lines[len(lines)-1]
	before, err := decodeAudit([]byte(last))
	if err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(auditLine{Seq: before.Seq + 1, Prev: hashLine([]byte(last)), Time: time.Now().UTC(), Event: auditDone})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(raw, append(line, '\n')...), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAForgedLineAtTheEndOfTheAuditIsAFault(t *testing.T) {
	for name, again := range map[string]func(b *bench) *desk{
		"while the bridge runs": func(b *bench) *desk {
			forgeLine(t, b.dir)
			return b.desk
		},
		"seen by an operator once it has ended": func(b *bench) *desk {
			_ = b.Close()
			forgeLine(t, b.dir)
			d := &desk{embedded: true}
			if err := d.open(b.dir, time.Second); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = d.close() })
			return d
		},
		"seen by the next bridge": func(b *bench) *desk {
			_ = b.Close()
			forgeLine(t, b.dir)
			return openBench(t, b.dir, &fakeForge{}).desk
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := openBench(t, "", &fakeForge{})
			if _, err := b.do(comment("done")); err != nil {
				t.Fatal(err)
			}
			if report, err := b.desk.verify(); err != nil || len(report.Faults)+len(report.Notes) > 0 {
				t.Fatalf("before: %+v (%v)", report, err)
			}
			report, err := again(b).verify()
			if err != nil || len(report.Faults) == 0 || report.Faults[0].Line != 3 {
				t.Errorf("verify says %+v (%v), want a fault at line 3", report, err)
			}
		})
	}
}

func TestALineThatACrashLeftIsNotedAndNoFault(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	if _, err := b.do(comment("done")); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(filepath.Join(b.dir, storeFile)) // as it is when the bridge is killed now
	if err != nil {
		t.Fatal(err)
	}
	_ = b.Close()
	forgeLine(t, b.dir)
	if err := os.WriteFile(filepath.Join(b.dir, storeFile), kept, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		again := openBench(t, b.dir, &fakeForge{})
		report, err := again.desk.verify()
		if err != nil || len(report.Faults) != 0 || len(report.Notes) != 1 || !strings.Contains(report.Notes[0], "line 3") {
			t.Errorf("verify says %+v (%v), want a note about line 3", report, err)
		}
		_ = again.Close()
	}
}
