package main

import (
	"reflect"
	"strings"
	"testing"

	"fleet/internal/atlas"
	"fleet/internal/bridge"
)

func TestTheEmbeddedBridgeHasItsPoliciesFromTheAtlas(t *testing.T) {
	const text = `{"fleet":1,"port":1,"repos":{"plain":{"url":"/a","forge":"none"},
		"strict":{"url":"/b","forge":"none","trusted_authors_only":true,"trusted_authors":["app[bot]"],"closing_keywords":"refuse"},
		"loud":{"url":"/c","forge":"none","mass_mentions":"allow","closing_keywords":"allow"}}}`
	f, err := atlas.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s := &ship{}
	s.file.Store(f)
	for name, want := range map[string]bridge.Policy{
		"plain":  {},
		"strict": {TrustedAuthorsOnly: true, TrustedAuthors: []string{"app[bot]"}, RefuseClosingKeywords: true},
		"loud":   {AllowMassMentions: true},
	} {
		if got := s.registry()[name].Policy; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	// With a bridge of another process, the same lines hold nothing back, and that must be seen.
	err = s.idlePolicies()
	if err == nil || !strings.Contains(err.Error(), "loud, strict") || !strings.Contains(err.Error(), "next: say it in that one's bridge.yaml") {
		t.Errorf("idlePolicies = %v", err)
	}
	s.file.Store(atlas.New(1))
	if err := s.idlePolicies(); err != nil {
		t.Errorf("without a policy: %v", err)
	}
}

func TestRegisteringARepositoryOnceMoreKeepsItsPolicy(t *testing.T) {
	root := t.TempDir()
	policy := &atlas.Policy{TrustedAuthorsOnly: true}
	f := atlas.New(1)
	f.Repos["a"] = atlas.Repo{URL: "/a", Forge: "none", Policy: policy}
	if err := atlas.Write(root, f); err != nil {
		t.Fatal(err)
	}
	if err := addRepo(root, "a", atlas.Repo{URL: "/a", Forge: "none"}); err != nil {
		t.Error(err)
	}
	if err := addRepo(root, "a", atlas.Repo{URL: "/b", Forge: "none"}); err == nil {
		t.Error("another repository took its name")
	}
	f, err := atlas.Read(root)
	if err != nil || f.Repos["a"].Policy == nil || !reflect.DeepEqual(f.Repos["a"].Policy, policy) {
		t.Errorf("%+v (%v), want the policy kept", f, err)
	}
}
