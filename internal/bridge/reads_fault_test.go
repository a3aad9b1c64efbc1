package bridge

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fleet/api"
)

func TestAForgeThatHangsEndsAReadInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeForge{}
		f.info = func(ctx context.Context) (*api.RepoInfo, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		began := time.Now()
		_, err := openBench(t, "", f).do(Request{Op: OpInfo, Repo: "widgets"})
		expectError(t, err, "unavailable/timeout")
		if took := time.Since(began); took != 30*time.Second {
			t.Errorf("took %v, want 30 s", took)
		}
	})
}

func TestWhileRateLimitedTheLastAnswerIsServedWithItsAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeForge{}
		limited := false
		f.info = func(context.Context) (*api.RepoInfo, error) {
			if limited {
				return nil, &api.Error{Code: api.RateLimited, Message: "slow down", RetryAfterSeconds: 90}
			}
			return &api.RepoInfo{FullName: "acme/widgets"}, nil
		}
		f.issues = func(string) (*api.List[api.IssueItem], error) {
			if limited {
				return nil, &api.Error{Code: api.RateLimited, Message: "slow down", RetryAfterSeconds: 90}
			}
			return &api.List[api.IssueItem]{}, nil
		}
		b := openBench(t, "", f)
		r := Request{Op: OpIssueList, Repo: "widgets"}
		if _, err := b.do(r); err != nil {
			t.Fatal(err)
		}
		limited = true
		_, err := b.do(Request{Op: OpInfo, Repo: "gadgets"})
		if e := expectError(t, err, "rate_limited/"); e.RetryAfterSeconds != 90 {
			t.Errorf("without an answer: retry after %d s, want 90", e.RetryAfterSeconds)
		}
		time.Sleep(40 * time.Second)
		for _, want := range []api.Age{{Seconds: 40, RetryAfterSeconds: 90}, {Seconds: 70, RetryAfterSeconds: 60}} {
			raw, err := b.do(r)
			if l := decode[api.List[api.IssueItem]](t, raw, err); l.Age == nil || *l.Age != want {
				t.Errorf("stale = %+v, want %+v", l.Age, want)
			}
			time.Sleep(30 * time.Second)
		}
		if n := f.called("Issues"); n != 2 {
			t.Errorf("asked %d times, want no more while it said to wait", n)
		}
		time.Sleep(5 * time.Minute)
		_, err = b.do(r)
		expectError(t, err, "rate_limited/")
		limited = false
		raw, err := b.do(r)
		if l := decode[api.List[api.IssueItem]](t, raw, err); l.Age != nil {
			t.Errorf("fresh again: %+v", l.Age)
		}
	})
}

func TestAnErrorIsNotKept(t *testing.T) {
	f := &fakeForge{}
	fails := map[string]error{
		"unavailable/away":    &api.Error{Code: api.Unavailable, Reason: "away", Message: "the forge is away"},
		"not_found/no_number": &api.Error{Code: api.NotFound, Reason: "no_number", Message: "no such issue"},
		"internal/":           errors.New("a bug: " + fakeToken),
	}
	b := openBench(t, "", f)
	for want, fail := range fails {
		f.info = func(context.Context) (*api.RepoInfo, error) { return nil, fail }
		_, err := b.do(Request{Op: OpInfo, Repo: "widgets"})
		if e := expectError(t, err, want); strings.Contains(e.Text(), fakeToken) {
			t.Errorf("the error shows the cause: %s", e.Text())
		}
	}
	f.info = func(context.Context) (*api.RepoInfo, error) { panic("with " + fakeToken) }
	_, err := b.do(Request{Op: OpInfo, Repo: "widgets"})
	expectError(t, err, "internal/")
	f.info = nil
	if _, err := b.do(Request{Op: OpInfo, Repo: "widgets"}); err != nil {
		t.Errorf("after the failures: %v", err)
	}
	if strings.Contains(b.log.String(), fakeToken) {
		t.Errorf("the log shows the token:\n%s", b.log)
	}
}

func TestRepositoriesThatCannotBeServedSayWhatToDo(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	for repo, want := range map[string]string{
		"local": "unsupported/no_forge", "lab": "unsupported/no_provider", "far": "unavailable/no_credential", "nope": "not_found/no_repo",
	} {
		for _, r := range []Request{{Op: OpInfo}, comment("done")} {
			r.Repo = repo
			_, err := b.do(r)
			e := expectError(t, err, want)
			if e.Hint == "" || repo == "far" && !strings.Contains(e.Hint, "ship credential add ghe.example") {
				t.Errorf("%s: hint %q", repo, e.Hint)
			}
		}
	}
}

func TestWithoutACredentialPublicRepositoriesAreReadAndNotWritten(t *testing.T) {
	none, err := NewCredentialStore(CredentialStoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	b := openBench(t, "", &fakeForge{}, func(c *Config) { c.Credentials = none })
	if _, err := b.do(Request{Op: OpInfo, Repo: "widgets"}); err != nil {
		t.Errorf("a read at github.com: %v", err)
	}
	_, err = b.do(comment("done"))
	if e := expectError(t, err, "unavailable/no_credential"); !strings.Contains(e.Hint, "ship credential add github.com") {
		t.Errorf("hint %q", e.Hint)
	}
}

func TestACredentialThatCannotBeUsedIsNotSaidToBeMissing(t *testing.T) {
	store, err := NewCredentialStore(CredentialStoreConfig{
		Environment: map[string]Secret{"GITHUB_TOKEN": NewSecret(fakeToken)},
		Registered:  registered(t, "github", "https://api.github.com", "gitlab", "https://github.com"),
	})
	if err != nil {
		t.Fatal(err)
	}
	b := openBench(t, "", &fakeForge{}, func(c *Config) { c.Credentials = store })
	for _, r := range []Request{{Op: OpInfo, Repo: "widgets"}, comment("done")} {
		_, err := b.do(r)
		expectError(t, err, "unauthenticated/credential_ambiguous")
	}
}
