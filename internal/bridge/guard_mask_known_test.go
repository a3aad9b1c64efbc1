package bridge

import (
	"strings"
	"testing"
)

func TestACredentialOfAnotherHostThatNothingWasSignedWithIsKnown(t *testing.T) {
	const odd = "corp-of-a-shape-that-nobody-knows"
	store, err := NewCredentialStore(CredentialStoreConfig{
		Dir: t.TempDir() + "/c", Environment: map[string]Secret{"GITHUB_TOKEN": NewSecret(fakeToken)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Add("ghe.example", NewSecret(odd)); err != nil {
		t.Fatal(err)
	}
	b := openBench(t, "", &fakeForge{}, func(c *Config) { c.Credentials = store })
	_, err = b.do(comment("use " + odd + " for it"))
	e := expectError(t, err, "forbidden/holds_credential")
	if strings.Contains(e.Text(), odd) || len(b.forge.posted()) != 0 {
		t.Errorf("%s; %d posts", e.Text(), len(b.forge.posted()))
	}
}
