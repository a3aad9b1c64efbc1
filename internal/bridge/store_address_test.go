package bridge

import (
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"
)

// damage puts into the store what no look may stumble over.
func damage(t *testing.T, s *store, change func(tx *bolt.Tx) error) {
	t.Helper()
	if err := s.db.Update(change); err != nil {
		t.Fatal(err)
	}
}

func expectClaimed(t *testing.T, s *store, i *intent, url string, want bool) {
	t.Helper()
	if got, err := s.claimed(i, url); got != want || err != nil {
		t.Errorf("claimed(%s, %s) = %v, %v; want %v", i.ID, url, got, err, want)
	}
}

func TestWhoseAPostIsTakesNoLookAtOtherWrites(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	r := comment("done")
	if _, err := b.do(r); err != nil {
		t.Fatal(err)
	}
	own, err := b.desk.store.intentBy(bucketKeys, hashOf(localShip, "widgets", r.Key))
	if err != nil {
		t.Fatal(err)
	}
	// Whoever reads every write meets this one.
	damage(t, b.desk.store, func(tx *bolt.Tx) error {
		return tx.Bucket([]byte(bucketIntents)).Put([]byte("0"), []byte("{"))
	})
	expectClaimed(t, b.desk.store, own, written(1).URL, false)
	expectClaimed(t, b.desk.store, &intent{ID: "another"}, written(1).URL, true)
	expectClaimed(t, b.desk.store, &intent{ID: "another"}, written(2).URL, false)
	damage(t, b.desk.store, func(tx *bolt.Tx) error { return tx.Bucket([]byte(bucketIntents)).Delete([]byte("0")) })
}

func TestAnOlderDatabaseLearnsWhosePostsAre(t *testing.T) {
	f := &fakeForge{}
	b := openBench(t, "", f)
	if _, err := b.do(comment("done")); err != nil {
		t.Fatal(err)
	}
	damage(t, b.desk.store, func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte(bucketAddresses)) })
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	expectClaimed(t, openBench(t, b.dir, f).desk.store, &intent{ID: "another"}, written(1).URL, true)
}

func TestWhosePostsAreIsForgottenWithTheWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openBench(t, "", &fakeForge{})
		if _, err := b.do(comment("one")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(intentLife + time.Hour)
		if _, err := b.do(comment("two")); err != nil {
			t.Fatal(err)
		}
		expectClaimed(t, b.desk.store, &intent{ID: "another"}, written(1).URL, false)
		expectClaimed(t, b.desk.store, &intent{ID: "another"}, written(2).URL, true)
	})
}
