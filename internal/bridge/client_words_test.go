package bridge

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fleet/api"
)

func TestTheShipsOperatorIsToldOfTheShipsCredential(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credential")
	if err := os.WriteFile(file, []byte("two words\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := NewClient(ClientConfig{URL: "http://127.0.0.1:1", CredentialFile: file})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Do(t.Context(), Request{Op: OpInfo, Repo: "widgets"})
	e := expectError(t, err, "unauthenticated/credential_unusable")
	if !strings.Contains(e.Message, "this ship's credential") || !strings.Contains(e.Hint, "operator of this ship") {
		t.Errorf("%s", e.Text())
	}
}

func TestABridgeWithoutTLSIsSaidToBeOne(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	file := filepath.Join(t.TempDir(), "credential")
	if err := os.WriteFile(file, []byte(mintShipCredential().Reveal()), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := NewClient(ClientConfig{URL: strings.Replace(plain.URL, "http:", "https:", 1), CredentialFile: file})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Do(t.Context(), comment("done"))
	expectError(t, err, "unavailable/bridge_without_tls")
}

func TestAShipsNameHasNoBlanks(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	_, err := b.desk.grant(api.GrantRequest{Ship: "a b", Repo: "widgets", Verbs: verbs()})
	expectError(t, err, "invalid/ship")
}
