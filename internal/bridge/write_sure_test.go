package bridge

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"fleet/api"
	"fleet/internal/e2e/talk"
)

// A's comment was posted and nobody could look for it; B's, of the same words, was lost for
// certain. What a look then finds may be A's: B must not be told that its own was posted.
func TestWordsOfAnotherWorkspacesUnclearWriteAreNotTakenForOnesOwn(t *testing.T) {
	t.Parallel()
	f := &fakeForge{}
	away := true
	f.write = lostAfter(true)
	f.find = func(w Write) (*api.Written, error) {
		if away {
			return nil, &api.Error{Code: api.Unavailable, Message: "away"}
		}
		if len(f.posted()) > 0 {
			return written(len(f.posted())), nil
		}
		return nil, nil
	}
	b := openBench(t, "", f)
	a := comment("done")
	_, err := b.do(a)
	expectError(t, err, "outcome_unknown/write_outcome_unknown")
	away = false
	f.write = lostAfter(false) // the connection breaks before the forge has it
	other := comment("done")
	other.Workspace = "second"
	raw, err := b.do(other)
	if err == nil {
		t.Errorf("the second workspace is told %s, and its comment was never posted (posts: %d)", raw, len(f.posted()))
	}
	// and A, whose comment it is, can never find it any more
	if _, err := b.do(a); err != nil {
		t.Errorf("the first workspace's own comment is not found for it: %v", err)
	}
}

// timedForge finds only what isn't older than asked for, as the real one does.
type timedForge struct {
	*fakeForge
	postedAt time.Time
}

func (f *timedForge) Find(_ context.Context, _ Repo, _ Write, since time.Time) (*api.Written, error) {
	f.count("Find")
	if f.postedAt.Before(since) {
		return nil, nil
	}
	return written(1), nil
}

// The bridge's clock ran half an hour ahead when a fresh process sent its first request, a comment,
// and it was killed before the answer; the clock was put right; the same words come again.
func TestAClockPutRightAfterACrashDoesNotPostTwice(t *testing.T) {
	t.Parallel()
	const ahead = 30 * time.Minute
	dir := t.TempDir() + "/bridge"
	r := comment("done")
	i := &intent{
		ID: uuid.Must(uuid.NewV7()).String(), RequestID: "x", Ship: localShip, Repo: r.Repo, Workspace: r.Workspace, Op: r.Op,
		Path:  "https://api.github.com acme/widgets",
		Write: Write{Kind: IssueComment, Number: r.Number, Body: r.Body}, State: intentStarted,
	}
	// Two minutes ago by the clock that was wrong; half an hour before that in truth.
	truth := time.Now().Add(-ahead - 2*time.Minute)
	i.StartedAt = truth.Add(ahead).UTC()
	i.KeyHash, i.Content = hashOf(i.Ship, i.Repo, r.Key), i.contentHash()
	f := &timedForge{fakeForge: &fakeForge{}, postedAt: truth}
	log := &talk.Words{}
	c := configOf(t, dir, f, log)
	store, err := openStore(dir, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	cred, _ := c.Credentials.For("github", parse(t, "https://api.github.com"))
	g, err := NewGuard(GuardConfig{API: parse(t, "https://api.github.com"), Credential: cred})
	if err != nil {
		t.Fatal(err)
	}
	i.Signer, _ = g.Signer(t.Context())
	if err := errors.Join(store.begin(i, auditHead{}), store.close()); err != nil {
		t.Fatal(err)
	}
	b, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	raw, err := b.As(b.Local()).Do(t.Context(), comment("done"))
	if n := len(f.posted()); n != 0 {
		t.Errorf("posted once more (%s, %v): the forge has the comment twice", raw, err)
	}
}
