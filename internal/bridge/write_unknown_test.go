package bridge

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fleet/api"
)

// lostAfter posts and loses the answer; with posts false it loses the request instead.
func lostAfter(posts bool) func(context.Context, Write, func() *api.Written) (*api.Written, error) {
	return func(_ context.Context, _ Write, post func() *api.Written) (*api.Written, error) {
		if posts {
			post()
		}
		return nil, lost()
	}
}

func TestALostAnswerIsLookedForAndNeverPostedAgain(t *testing.T) {
	cases := map[string]struct {
		posts   bool
		visible time.Duration // from when the forge shows it
		want    string        // "": found
	}{
		"there at once":              {true, 0, ""},
		"there after three seconds":  {true, 2 * time.Second, ""},
		"never there":                {false, 0, "outcome_unknown/write_outcome_unknown"},
		"shown too late to be found": {true, 10 * time.Second, "outcome_unknown/write_outcome_unknown"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeForge{}
				f.write = lostAfter(c.posts)
				b := openBench(t, "", f)
				began := time.Now()
				f.find = func(Write) (*api.Written, error) {
					if c.posts && time.Since(began) >= c.visible {
						return written(1), nil
					}
					return nil, nil
				}
				raw, err := b.do(comment("done"))
				if f.called("Write") != 1 {
					t.Errorf("the forge was asked to post %d times, want once", f.called("Write"))
				}
				if c.want == "" {
					if w := decode[api.Written](t, raw, err); w.URL != written(1).URL || w.DuplicateOf != "" {
						t.Errorf("answer %+v, want what was found", w)
					}
					return
				}
				e := expectError(t, err, c.want)
				if f.called("Find") != 2 || time.Since(began) != 3*time.Second {
					t.Errorf("looked %d times in %v, want twice, three seconds apart", f.called("Find"), time.Since(began))
				}
				if !strings.Contains(e.Hint, "repo_issue_view number 7") || e.RetryAfterSeconds < 50 {
					t.Errorf("hint %q after %d s says not what to do", e.Hint, e.RetryAfterSeconds)
				}
			})
		})
	}
}

func TestAfterAnUnclearOutcomeTheSameWordsAreLookedForBeforeTheyArePosted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeForge{}
		f.write = lostAfter(false)
		b := openBench(t, "", f)
		r := comment("done")
		_, err := b.do(r)
		expectError(t, err, "outcome_unknown/write_outcome_unknown")
		_, err = b.do(comment("done"))
		expectError(t, err, "outcome_unknown/write_outcome_unknown")
		if f.called("Write") != 1 {
			t.Fatalf("posted again after %v", time.Minute)
		}
		time.Sleep(time.Minute)
		_, err = b.do(r)
		expectError(t, err, "outcome_unknown/write_outcome_unknown") // the key stands for the first attempt alone
		f.find = func(Write) (*api.Written, error) { return nil, &api.Error{Code: api.Unavailable, Message: "away"} }
		_, err = b.do(comment("done"))
		expectError(t, err, "outcome_unknown/write_outcome_unknown") // who can't look doesn't know
		f.find, f.write = nil, nil
		raw, err := b.do(comment("done"))
		if w := decode[api.Written](t, raw, err); w.DuplicateOf != "" || len(f.posted()) != 1 {
			t.Errorf("%+v and %d posts, want one, since the first never came", w, len(f.posted()))
		}
	})
}

func TestAnUnclearOutcomeThatTurnsUpLaterIsADuplicate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeForge{}
		f.write = lostAfter(true)
		hidden := true
		f.find = func(Write) (*api.Written, error) {
			if hidden {
				return nil, nil
			}
			return written(1), nil
		}
		b := openBench(t, "", f)
		r := comment("done")
		_, err := b.do(r)
		expectError(t, err, "outcome_unknown/write_outcome_unknown")
		hidden = false
		raw, err := b.do(comment("done"))
		if w := decode[api.Written](t, raw, err); w.DuplicateOf != written(1).URL || f.called("Write") != 1 {
			t.Errorf("%+v after %d posts, want a duplicate of the only one", w, f.called("Write"))
		}
		raw, err = b.do(r)
		if w := decode[api.Written](t, raw, err); w.URL != written(1).URL || w.DuplicateOf != "" {
			t.Errorf("the first key gives %+v, want its own outcome", w)
		}
	})
}

func TestAnUnclearOutcomeIsLookedForHoweverOldItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeForge{}
		f.write = lostAfter(true)
		f.find = func(Write) (*api.Written, error) { return nil, &api.Error{Code: api.Unavailable, Message: "away"} }
		b := openBench(t, "", f)
		_, err := b.do(comment("done"))
		expectError(t, err, "outcome_unknown/write_outcome_unknown")
		time.Sleep(duplicateTime + time.Minute)
		_, err = b.do(comment("done"))
		expectError(t, err, "outcome_unknown/write_outcome_unknown")
		f.find = nil
		raw, err := b.do(comment("done"))
		if w := decode[api.Written](t, raw, err); w.DuplicateOf != written(1).URL || f.called("Write") != 1 {
			t.Errorf("%+v after %d posts, want a duplicate of the only one", w, f.called("Write"))
		}
	})
}

func TestWhatAnotherAccountDoesNotFindIsNotAbsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeForge{}
		f.write = lostAfter(false)
		f.find = func(Write) (*api.Written, error) { return nil, nil }
		b := openBench(t, "", f)
		_, err := b.do(comment("done"))
		expectError(t, err, "outcome_unknown/write_outcome_unknown")
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		rotated := openBench(t, b.dir, f, func(c *Config) {
			store, err := NewCredentialStore(CredentialStoreConfig{Environment: map[string]Secret{"GITHUB_TOKEN": NewSecret(fakeToken + "2")}})
			if err != nil {
				t.Fatal(err)
			}
			c.Credentials = store
		})
		time.Sleep(duplicateTime)
		_, err = rotated.do(comment("done"))
		e := expectError(t, err, "outcome_unknown/write_outcome_unknown")
		if f.called("Write") != 1 {
			t.Errorf("asked to post %d times, want once", f.called("Write"))
		}
		// The same text would never be posted: to call again helps nobody, and a human does.
		if strings.Contains(e.Hint, "call again") || !strings.Contains(e.Hint, "repo_issue_view number 7") || !strings.Contains(e.Hint, "human") || e.RetryAfterSeconds != 0 {
			t.Errorf("hint %q after %d s does not help", e.Hint, e.RetryAfterSeconds)
		}
	})
}

// lateForge has a clock that is behind ours, and says so in its answers.
type lateForge struct {
	*fakeForge
	guard  *Guard
	began  time.Time
	behind time.Duration
}

func (f *lateForge) Find(_ context.Context, _ Repo, _ Write, since time.Time) (*api.Written, error) {
	tellTime(f.guard, f.behind)
	if f.began.Add(-f.behind).Before(since) {
		return nil, nil
	}
	return written(1), nil
}

func TestWhatAForgeWithALateClockHasIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeForge{write: lostAfter(true)}
		late := &lateForge{fakeForge: f, began: time.Now(), behind: 5 * time.Minute}
		b := openBench(t, "", f, func(c *Config) {
			c.Providers["github"] = func(g *Guard, _ *slog.Logger) Provider {
				late.guard = g
				return late
			}
		})
		raw, err := b.do(comment("done"))
		if w := decode[api.Written](t, raw, err); w.URL != written(1).URL || f.called("Write") != 1 || time.Since(late.began) != 0 {
			t.Errorf("%+v after %d posts and %v, want what was found, by the first look", w, f.called("Write"), time.Since(late.began))
		}
	})
}

func TestOneOfTwoWorkspacesIsNotToldThatTheOthersPostIsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeForge{}
		var asked atomic.Int32
		f.write = func(_ context.Context, _ Write, post func() *api.Written) (*api.Written, error) {
			if asked.Add(1) > 1 {
				return nil, lost()
			}
			w := post()
			time.Sleep(20 * time.Second) // the answer is on its way
			return w, nil
		}
		f.find = func(Write) (*api.Written, error) { return written(1), nil }
		b := openBench(t, "", f)
		first := make(chan error, 1)
		go func() {
			_, err := b.do(comment("done"))
			first <- err
		}()
		synctest.Wait()
		other := comment("done\n")
		other.Workspace = "other"
		_, err := b.do(other)
		expectError(t, err, "outcome_unknown/write_outcome_unknown")
		if err := <-first; err != nil {
			t.Errorf("the first: %v", err)
		}
	})
}

func TestAnothersPostWithTheSameWordsIsNotTakenForOurs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeForge{}
		b := openBench(t, "", f)
		other := comment("done")
		other.Workspace = "other"
		if _, err := b.do(other); err != nil {
			t.Fatal(err)
		}
		f.write = lostAfter(false)
		_, err := b.do(comment("done"))
		expectError(t, err, "outcome_unknown/write_outcome_unknown")
	})
}

func TestWhateverAProviderFailsWithWithoutBeingSureIsUnclear(t *testing.T) {
	fails := map[string]func() error{
		"outcome_unknown": lost,
		"internal":        func() error { return &api.Error{Code: api.Internal, Message: "half a JSON"} },
		"a plain error":   func() error { return errors.New("unexpected EOF") },
		"a deadline":      func() error { return context.DeadlineExceeded },
		"a panic":         func() error { panic("in the provider: " + fakeToken) },
		"nothing at all":  func() error { return nil },
	}
	for name, fail := range fails {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeForge{}
				f.write = func(context.Context, Write, func() *api.Written) (*api.Written, error) { return nil, fail() }
				_, err := openBench(t, "", f).do(comment("done"))
				expectError(t, err, "outcome_unknown/write_outcome_unknown")
				if f.called("Write") != 1 {
					t.Errorf("asked %d times, want once", f.called("Write"))
				}
			})
		})
	}
}

func TestAWriteOutlivesWhoAskedForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeForge{}
		f.write = func(ctx context.Context, _ Write, post func() *api.Written) (*api.Written, error) {
			time.Sleep(10 * time.Second)
			if ctx.Err() != nil {
				return nil, lost()
			}
			return post(), nil
		}
		b := openBench(t, "", f)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		raw, err := b.As(b.Local()).Do(ctx, comment("done"))
		if w := decode[api.Written](t, raw, err); w.URL == "" || len(f.posted()) != 1 {
			t.Errorf("%+v, %d posts", w, len(f.posted()))
		}
	})
}

func TestAForgeThatNeverAnswersEndsTheCallInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeForge{}
		f.write = func(ctx context.Context, _ Write, _ func() *api.Written) (*api.Written, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		b := openBench(t, "", f)
		began := time.Now()
		_, err := b.do(comment("done"))
		expectError(t, err, "outcome_unknown/write_outcome_unknown")
		if took := time.Since(began); took > 45*time.Second {
			t.Errorf("took %v, want at most 45 s", took)
		}
	})
}
