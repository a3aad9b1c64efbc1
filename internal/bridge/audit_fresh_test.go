package bridge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fleet/api"
)

func TestNothingIsWrittenWhileTheAuditIsNotInItsPlace(t *testing.T) {
	for name, take := range map[string]func(path string) error{
		"moved":    func(path string) error { return os.Rename(path, path+".old") },
		"deleted":  os.Remove,
		"replaced": func(path string) error { return replace(path, nil) },
		"a link to it": func(path string) error {
			if err := os.Rename(path, path+".old"); err != nil {
				return err
			}
			return os.Symlink(path+".old", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := openBench(t, "", &fakeForge{})
			if _, err := b.do(comment("one")); err != nil {
				t.Fatal(err)
			}
			if err := take(filepath.Join(b.dir, auditFile)); err != nil {
				t.Fatal(err)
			}
			_, err := b.do(comment("two"))
			expectError(t, err, "unavailable/audit_unwritable")
			if n := len(b.forge.posted()); n != 1 {
				t.Errorf("%d posts, want one", n)
			}
		})
	}
}

// replace puts a new file in the place of an old one.
func replace(path string, content []byte) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

func TestAFreshDatabaseBesideAnAuditIsNoticed(t *testing.T) {
	for name, take := range map[string]func(path string) error{
		"removed": os.Remove,
		"emptied": func(path string) error { return os.Truncate(path, 0) },
	} {
		for _, first := range []string{"a bridge", "an operator"} {
			t.Run(name+", opened by "+first, func(t *testing.T) {
				b := openBench(t, "", &fakeForge{})
				if _, err := b.do(comment("one")); err != nil {
					t.Fatal(err)
				}
				if err := b.Close(); err != nil {
					t.Fatal(err)
				}
				if err := take(filepath.Join(b.dir, storeFile)); err != nil {
					t.Fatal(err)
				}
				if first == "an operator" {
					look(t, b.dir)
				}
				again := openBench(t, b.dir, &fakeForge{})
				if !strings.Contains(again.log.String(), "bridge.db was gone or empty") {
					t.Errorf("the log does not say it: %s", again.log)
				}
				report, err := again.desk.verify()
				if err != nil || len(report.Faults) != 1 || !strings.Contains(report.Faults[0].What, "bridge.db was gone or empty") {
					t.Errorf("report %+v (%v), want a fault", report, err)
				}
				if _, err := again.do(Request{Op: OpInfo, Repo: "widgets"}); err != nil {
					t.Errorf("the embedded ship may not read: %v", err)
				}
				_, err = again.do(comment("two"))
				expectError(t, err, "forbidden/verb_not_granted")
				if _, err := again.desk.grant(api.GrantRequest{Ship: localShip, Repo: "widgets", Verbs: verbs()}); err != nil {
					t.Fatal(err)
				}
				if _, err := again.do(comment("three")); err != nil {
					t.Errorf("after a grant: %v", err)
				}
			})
		}
	}
}

// look opens the files as an operator does.
func look(t *testing.T, dir string) {
	t.Helper()
	a, err := OpenAdmin(t.Context(), AdminConfig{Dir: dir, Embedded: true})
	if err != nil {
		t.Fatal(err)
	}
	if report, err := a.VerifyAudit(t.Context()); err != nil || len(report.Faults) != 1 {
		t.Errorf("report %+v (%v), want a fault", report, err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
}
