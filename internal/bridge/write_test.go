package bridge

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fleet/api"
)

func TestTheSameWordsWithinTenMinutesArePostedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openBench(t, "", &fakeForge{})
		raw, err := b.do(comment("done"))
		first := decode[api.Written](t, raw, err)
		time.Sleep(9 * time.Minute)
		raw, err = b.do(comment("done"))
		second := decode[api.Written](t, raw, err)
		if first.DuplicateOf != "" || second.DuplicateOf != first.URL || second.ID != first.ID || second.Note == "" {
			t.Errorf("first %+v, second %+v; want the second to be a duplicate of the first", first, second)
		}
		time.Sleep(time.Minute)
		raw, err = b.do(comment("done"))
		if third := decode[api.Written](t, raw, err); third.DuplicateOf != "" || len(b.forge.posted()) != 2 {
			t.Errorf("after ten minutes: %+v and %d posts, want a post of its own", third, len(b.forge.posted()))
		}
	})
}

func TestWhatIsNotTheSameIsPosted(t *testing.T) {
	changes := map[string]func(*Request){
		"other words":     func(r *Request) { r.Body = "done." },
		"other workspace": func(r *Request) { r.Workspace = "other" },
		"other number":    func(r *Request) { r.Number = 8 },
		"other repo":      func(r *Request) { r.Repo = "gadgets" },
		"on the pull":     func(r *Request) { r.Op = OpPRComment },
		"as a review":     func(r *Request) { r.Op, r.Event = OpPRReview, "COMMENT" },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			b := openBench(t, "", &fakeForge{})
			if _, err := b.do(comment("done")); err != nil {
				t.Fatal(err)
			}
			second := comment("done")
			change(&second)
			raw, err := b.do(second)
			if w := decode[api.Written](t, raw, err); w.DuplicateOf != "" || len(b.forge.posted()) != 2 {
				t.Errorf("%+v and %d posts, want two posts", w, len(b.forge.posted()))
			}
		})
	}
}

func TestTwentyCallsWithTheSameWordsAtOncePostOnce(t *testing.T) {
	f := &fakeForge{}
	release := make(chan struct{})
	f.write = func(_ context.Context, _ Write, post func() *api.Written) (*api.Written, error) {
		<-release
		return post(), nil
	}
	b := openBench(t, "", f)
	var wait sync.WaitGroup
	duplicates := make(chan string, 20)
	for range 20 {
		wait.Go(func() {
			raw, err := b.do(comment("done"))
			duplicates <- decode[api.Written](t, raw, err).DuplicateOf
		})
	}
	close(release)
	wait.Wait()
	close(duplicates)
	own := 0
	for d := range duplicates {
		if d == "" {
			own++
		}
	}
	if len(f.posted()) != 1 || own != 1 {
		t.Errorf("%d posts, %d answers that are no duplicate; want one and one", len(f.posted()), own)
	}
}

func TestTheSameKeyIsAnsweredAlike(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	r := comment("done")
	first, err := b.do(r)
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.do(r)
	if err != nil || string(first) != string(second) || len(b.forge.posted()) != 1 {
		t.Errorf("again: %s (%v), %d posts; want %s and one post", second, err, len(b.forge.posted()), first)
	}
	r.Body = "something else"
	_, err = b.do(r)
	expectError(t, err, "conflict/key_reused")
}

func TestTheKeyOfADuplicateIsAnsweredAlikeToo(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	first := review("COMMENT", "hm")
	first.Head = headSHA
	if _, err := b.do(first); err != nil {
		t.Fatal(err)
	}
	again := review("COMMENT", "hm") // of the head as it is now, which is the same
	want, err := b.do(again)
	if w := decode[api.Written](t, want, err); w.DuplicateOf == "" {
		t.Fatalf("%+v is no duplicate", w)
	}
	if got, err := b.do(again); err != nil || string(got) != string(want) {
		t.Errorf("again %s (%v), want %s", got, err, want)
	}
	again.Body = "something else"
	_, err = b.do(again)
	expectError(t, err, "conflict/key_reused")
}

func TestAFailedWriteIsAnsweredAlikeByItsKeyAndTriedAgainByAnother(t *testing.T) {
	f := &fakeForge{}
	f.write = func(context.Context, Write, func() *api.Written) (*api.Written, error) {
		return nil, &api.Error{Code: api.Forbidden, Reason: "locked", Message: "the issue is locked"}
	}
	b := openBench(t, "", f)
	r := comment("done")
	for range 2 {
		_, err := b.do(r)
		expectError(t, err, "forbidden/locked")
	}
	if f.called("Write") != 1 {
		t.Errorf("the forge was asked %d times for one key, want once", f.called("Write"))
	}
	f.write = nil
	raw, err := b.do(comment("done"))
	if w := decode[api.Written](t, raw, err); w.DuplicateOf != "" {
		t.Errorf("%+v is no duplicate: the first failed for certain", w)
	}
}

func TestAReviewIsPinnedToTheHead(t *testing.T) {
	f := &fakeForge{}
	b := openBench(t, "", f)
	if _, err := b.do(review("APPROVE", "")); err != nil {
		t.Fatal(err)
	}
	if got := f.posted()[0]; got.Head != headSHA || got.Event != "APPROVE" || got.Kind != PullReview {
		t.Errorf("posted %+v, want an approval of %s", got, headSHA)
	}
	raw, err := b.do(review("APPROVE", ""))
	if w := decode[api.Written](t, raw, err); w.DuplicateOf == "" {
		t.Errorf("the same review of the same head: %+v, want a duplicate", w)
	}
	moved := strings.Repeat("2", 40)
	f.head = func() (string, error) { return moved, nil }
	if _, err := b.do(review("APPROVE", "")); err != nil {
		t.Fatal(err)
	}
	if posts := f.posted(); len(posts) != 2 || posts[1].Head != moved {
		t.Errorf("after a push: %+v, want a second review, of the new head", posts)
	}
	given := review("COMMENT", "looks good")
	given.Head = strings.Repeat("3", 40)
	heads := f.called("Head")
	if _, err := b.do(given); err != nil || f.called("Head") != heads || f.posted()[2].Head != given.Head {
		t.Errorf("a given head: %v, asked %d more times, posted %+v", err, f.called("Head")-heads, f.posted()[2])
	}
	f.write = func(context.Context, Write, func() *api.Written) (*api.Written, error) {
		return nil, &api.Error{Code: api.Conflict, Reason: "head_moved", Message: "the head moved"}
	}
	_, err = b.do(review("COMMENT", "more"))
	expectError(t, err, "conflict/head_moved")
}

func TestBodiesThatNoForgeTakesAreRefused(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	cases := map[string]struct {
		r    Request
		want string
	}{
		"empty comment":              {comment(""), "invalid/empty_body"},
		"blank comment":              {comment(" \n\t\u00a0\u200b"), "invalid/empty_body"},
		"blank request for changes":  {review("REQUEST_CHANGES", " "), "invalid/empty_body"},
		"empty review comment":       {review("COMMENT", ""), "invalid/empty_body"},
		"no event":                   {review("", "text"), "invalid/event"},
		"an event of another forge":  {review("APPROVED", "text"), "invalid/event"},
		"one character too many":     {comment(strings.Repeat("é", 65_537)), "invalid/body_too_long"},
		"not UTF-8":                  {comment("a\xffb"), "invalid/body"},
		"a key that is no UUID":      {func() Request { r := comment("x"); r.Key = "7"; return r }(), "invalid/key"},
		"no key":                     {func() Request { r := comment("x"); r.Key = ""; return r }(), "invalid/key"},
		"number zero":                {func() Request { r := comment("x"); r.Number = 0; return r }(), "invalid/number"},
		"number beyond 32 bits":      {func() Request { r := comment("x"); r.Number = 1 << 31; return r }(), "invalid/number"},
		"a token in it":              {comment("use ghp_" + strings.Repeat("a", 36)), "forbidden/holds_credential"},
		"a token split by a joiner":  {comment("use ghp_" + strings.Repeat("a", 18) + "\u200b" + strings.Repeat("a", 18)), "forbidden/holds_credential"},
		"a head that is a branch":    {func() Request { r := review("COMMENT", "x"); r.Head = "main"; return r }(), "invalid/head"},
		"an operation of the future": {func() Request { r := comment("x"); r.Op = "pr_merge"; return r }(), "unsupported/unknown_op"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := b.do(c.r)
			e := expectError(t, err, c.want)
			if strings.Contains(e.Text(), "aaaa") {
				t.Errorf("the refusal repeats the body: %s", e.Text())
			}
			if c.want == "invalid/body_too_long" && !(strings.Contains(e.Message, "65537") && strings.Contains(e.Message, "65536")) {
				t.Errorf("message %q lacks the figures", e.Message)
			}
		})
	}
	if _, err := b.do(comment(strings.Repeat("é", 65_536))); err != nil {
		t.Errorf("65,536 characters: %v", err)
	}
	if _, err := b.do(review("APPROVE", "")); err != nil {
		t.Errorf("an approval without words: %v", err)
	}
	if n := len(b.forge.posted()); n != 2 {
		t.Errorf("%d posts, want two", n)
	}
}

func TestWithoutItsAuditNothingIsWritten(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	_ = b.desk.audit.file.Close() // as if the disk were gone
	_, err := b.do(comment("done"))
	expectError(t, err, "unavailable/audit_unwritable")
	if n := b.forge.called("Write"); n != 0 {
		t.Errorf("the forge was asked %d times, want never", n)
	}
	if _, err := b.do(Request{Op: OpInfo, Repo: "widgets"}); err != nil {
		t.Errorf("a read: %v, want an answer", err)
	}
	b.desk.audit.file, _ = os.Open(os.DevNull) // for Close
}

func TestTheIntentIsOnTheDiskBeforeTheForgeIsAsked(t *testing.T) {
	f := &fakeForge{}
	b := openBench(t, "", f)
	f.write = func(_ context.Context, _ Write, post func() *api.Written) (*api.Written, error) {
		copied := copyDir(t, b.dir)
		s, err := openStore(copied, time.Second)
		if err != nil {
			return nil, err
		}
		defer s.close()
		open, err := s.undecided()
		if err != nil || len(open) != 1 || open[0].Write.Body != "done" || open[0].State != intentStarted {
			t.Errorf("on the disk: %+v (%v), want the intent", open, err)
		}
		raw, err := os.ReadFile(filepath.Join(copied, auditFile))
		if err != nil || strings.Count(string(raw), `"event":"write"`) != 1 {
			t.Errorf("audit: %s (%v), want a line before the write", raw, err)
		}
		return post(), nil
	}
	if _, err := b.do(comment("done")); err != nil {
		t.Fatal(err)
	}
	if open, err := b.desk.store.undecided(); err != nil || len(open) != 0 {
		t.Errorf("afterwards %+v (%v), want nothing open", open, err)
	}
}

// copyDir copies a bridge's files as a crash would leave them.
func copyDir(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir() + "/copy"
	if err := os.Mkdir(to, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{storeFile, auditFile} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), raw, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}
