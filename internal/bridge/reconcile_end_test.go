package bridge

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"fleet/api"
	"fleet/internal/e2e/talk"
)

// slowFinder looks for as long as it may.
type slowFinder struct{ *fakeForge }

func (f slowFinder) Find(ctx context.Context, _ Repo, _ Write, _ time.Time) (*api.Written, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestALookForEarlierWritesDoesNotHoldUpTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeForge{write: lostAfter(true)}
		f.find = func(Write) (*api.Written, error) { return nil, &api.Error{Code: api.Unavailable, Message: "away"} }
		b := openBench(t, "", f)
		_, err := b.do(comment("done"))
		expectError(t, err, "outcome_unknown/write_outcome_unknown")
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := Open(t.Context(), configOf(t, b.dir, slowFinder{f}, &talk.Words{}))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		began := time.Now()
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("Close took %v", took)
		}
	})
}
