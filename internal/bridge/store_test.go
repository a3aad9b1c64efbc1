package bridge

import (
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"fleet/api"
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
	i, err := b.desk.store.intentBy(bucketKeys, hashOf(LocalShip, "widgets", r.Key))
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
