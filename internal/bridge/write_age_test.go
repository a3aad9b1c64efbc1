package bridge

import (
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"fleet/api"
)

// setClock has our clock, since the write with r's key, been set by so much: the write moves, as
// nothing here can set a clock.
func (b *bench) setClock(t *testing.T, r Request, by time.Duration) {
	t.Helper()
	s := b.desk.store
	i, err := s.intentBy(bucketKeys, hashOf(localShip, r.Repo, r.Key))
	if err != nil || i == nil {
		t.Fatal(i, err)
	}
	i.StartedAt = i.StartedAt.Add(-by)
	if !i.NoticedAt.IsZero() {
		i.NoticedAt = i.NoticedAt.Add(-by)
	}
	if err := s.db.Update(func(tx *bolt.Tx) error { return keepIn(tx, bucketIntents, i.ID, i) }); err != nil {
		t.Fatal(err)
	}
}

func TestAClockSetBackKeepsTheSameWordsBackForTenMinutesAndNoLonger(t *testing.T) {
	for name, by := range map[string]time.Duration{"a second": time.Second, "an hour": time.Hour, "a year": 365 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := openBench(t, "", &fakeForge{})
				first := comment("done")
				raw, err := b.do(first)
				posted := decode[api.Written](t, raw, err)
				b.setClock(t, first, -by)
				for _, wait := range []time.Duration{0, duplicateTime - time.Second} {
					time.Sleep(wait)
					raw, err = b.do(comment("done"))
					if w := decode[api.Written](t, raw, err); w.DuplicateOf != posted.URL {
						t.Errorf("after %v: %+v, want a duplicate of the first", wait, w)
					}
				}
				time.Sleep(2 * time.Second)
				raw, err = b.do(comment("done"))
				if w := decode[api.Written](t, raw, err); w.DuplicateOf != "" || len(b.forge.posted()) != 2 {
					t.Errorf("after ten minutes: %+v and %d posts, want a post of its own", w, len(b.forge.posted()))
				}
			})
		})
	}
}

// A clock that jumped back and was put right again has hurried past ten minutes, as seen from when
// it was noticed.
func TestAClockPutRightAgainDoesNotPostTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openBench(t, "", &fakeForge{})
		first := comment("done")
		for _, by := range []time.Duration{-time.Hour, time.Hour, -2 * time.Hour} {
			if _, err := b.do(first); err != nil {
				t.Fatal(err)
			}
			b.setClock(t, first, by)
			raw, err := b.do(comment("done"))
			if w := decode[api.Written](t, raw, err); w.DuplicateOf == "" || len(b.forge.posted()) != 1 {
				t.Errorf("with the clock set by %v: %+v and %d posts, want a duplicate", by, w, len(b.forge.posted()))
			}
		}
	})
}

func TestAClockSetBackDelaysAnUnclearWriteByAMinuteAndNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeForge{}
		f.write = lostAfter(false)
		b := openBench(t, "", f)
		first := comment("done")
		_, err := b.do(first)
		expectError(t, err, "outcome_unknown/write_outcome_unknown")
		b.setClock(t, first, -time.Hour)
		for _, r := range []Request{first, comment("done")} {
			_, err = b.do(r)
			if e := expectError(t, err, "outcome_unknown/write_outcome_unknown"); e.RetryAfterSeconds > 60 {
				t.Errorf("the agent is to wait %d s, want a minute at most", e.RetryAfterSeconds)
			}
		}
		f.write = nil
		time.Sleep(settleTime)
		raw, err := b.do(comment("done"))
		if w := decode[api.Written](t, raw, err); w.DuplicateOf != "" || len(f.posted()) != 1 {
			t.Errorf("after a minute: %+v and %d posts, want one", w, len(f.posted()))
		}
	})
}
