package bridge

import (
	"context"
	"strings"
	"testing"

	"fleet/api"
)

// A narrower token takes the place of a wider one, in the file of its host.
func TestAnAnswerThatAnotherTokenSawIsNotServed(t *testing.T) {
	dir, keep := t.TempDir()+"/bridge", t.TempDir()
	f := &fakeForge{}
	store, err := NewCredentialStore(CredentialStoreConfig{Dir: keep + "/c"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Add("github.com", NewSecret("ghp_"+strings.Repeat("aB3", 12))); err != nil {
		t.Fatal(err)
	}
	b := openBench(t, dir, f, func(c *Config) { c.Credentials = store })
	ask := Request{Op: OpIssueView, Repo: "widgets", Workspace: "main", Number: 7}
	if _, err := b.do(ask); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Add("github.com", NewSecret("ghp_"+strings.Repeat("cD4", 12))); err != nil {
		t.Fatal(err)
	}
	f.issue = func(context.Context, int, string) (*api.IssueView, error) {
		return nil, &api.Error{Code: api.NotFound, Reason: "no_issue", Message: "not for this token"}
	}
	if raw, err := b.do(ask); err == nil {
		t.Errorf("what the old token saw is served to the new one: %s", raw)
	}
}
