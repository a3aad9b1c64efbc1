package bridge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"fleet/api"
	"fleet/internal/e2e/talk"
)

// counts gives how many entries each bucket of writes has.
func counts(t *testing.T, s *store) (n [3]int) {
	t.Helper()
	err := s.db.View(func(tx *bolt.Tx) error {
		for i, name := range []string{bucketIntents, bucketKeys, bucketContents} {
			n[i] = tx.Bucket([]byte(name)).Stats().KeyN
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAWritesTextIsForgottenOnceItIsDone(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	r := comment("done")
	if _, err := b.do(r); err != nil {
		t.Fatal(err)
	}
	i, err := b.desk.store.intentBy(bucketKeys, hashOf(localShip, "widgets", r.Key))
	if err != nil || i == nil || i.State != intentDone || i.Write.Body != "" || i.BodySHA256 != hashLine([]byte("done")) {
		t.Errorf("stored %+v (%v), want the outcome without the text", i, err)
	}
}

func TestWritesAreForgottenAfterADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openBench(t, "", &fakeForge{})
		first := comment("one")
		for _, r := range []Request{first, comment("two"), comment("three"), comment("three")} {
			if _, err := b.do(r); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(23 * time.Hour)
		raw, err := b.do(first)
		again := decode[map[string]any](t, raw, err)
		if again["id"] != 1.0 || counts(t, b.desk.store) != [3]int{3, 4, 3} {
			t.Errorf("after 23 hours: %v, entries %v", again, counts(t, b.desk.store))
		}
		time.Sleep(2 * time.Hour)
		if _, err := b.do(comment("one")); err != nil {
			t.Fatal(err)
		}
		if n := counts(t, b.desk.store); n != [3]int{1, 1, 1} {
			t.Errorf("after 25 hours %v entries, want those of the new write alone", n)
		}
	})
}

func TestAnOldWriteTakesNothingOfANewerOneAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openBench(t, "", &fakeForge{})
		for _, step := range []struct {
			body string
			wait time.Duration
		}{{"one", 24*time.Hour - 2*time.Minute}, {"one", 4 * time.Minute}, {"other", 0}} {
			if _, err := b.do(comment(step.body)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(step.wait)
		}
		raw, err := b.do(comment("one"))
		if w := decode[api.Written](t, raw, err); w.DuplicateOf == "" {
			t.Errorf("%+v, want a duplicate of what was posted four minutes ago", w)
		}
	})
}

func TestADamagedDatabaseIsAnErrorAndNoPanic(t *testing.T) {
	page := os.Getpagesize()
	cases := map[string]func(raw []byte) []byte{
		"no database":       func([]byte) []byte { return []byte(strings.Repeat("not a database. ", page)) },
		"cut off":           func(raw []byte) []byte { return raw[:2*page] },
		"no pages at all":   func(raw []byte) []byte { return fill(raw, 2*page, len(raw)) },
		"buckets elsewhere": func(raw []byte) []byte { return fill(raw, 3*page, len(raw)) },
	}
	for name, damage := range cases {
		t.Run(name, func(t *testing.T) {
			f := &fakeForge{}
			b := openBench(t, "", f)
			if _, err := b.do(comment("done")); err != nil {
				t.Fatal(err)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(b.dir, storeFile)
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, damage(raw), 0o600); err != nil {
				t.Fatal(err)
			}
			broken, err := Open(t.Context(), configOf(t, b.dir, f, &talk.Words{}))
			if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "move it away") {
				t.Errorf("Open = %v, want an error that names the file and what to do", err)
			}
			if broken != nil {
				_ = broken.Close()
			}
		})
	}
}

func fill(raw []byte, from, to int) []byte {
	for i := from; i < to; i++ {
		raw[i] = 0xA5
	}
	return raw
}
