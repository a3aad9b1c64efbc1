package bridge

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAClientSaysWhatKeepsItFromItsBridge(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "credential")
	ship := "fleet_ship_" + strings.Repeat("aB3", 14) + "x"
	if err := os.WriteFile(file, []byte(ship), 0o600); err != nil {
		t.Fatal(err)
	}
	healthy := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/healthz" || r.Header.Get("Authorization") != "Bearer "+ship {
			t.Errorf("asked %s with Authorization %q", r.URL.Path, r.Header.Get("Authorization"))
		}
	})
	hangs := make(chan struct{})
	defer close(hangs)
	for name, c := range map[string]struct {
		handler http.Handler // nil: nobody listens
		mode    os.FileMode
		want    string // "": it is ready
	}{
		"it serves":               {healthy, 0o600, ""},
		"nobody listens":          {nil, 0o600, "connection refused), so repo_* tools are unavailable; next: start it"},
		"it is another server":    {http.NotFoundHandler(), 0o600, "(HTTP status 404)"},
		"it hangs":                {http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hangs }), 0o600, "deadline exceeded"},
		"the credential is open":  {healthy, 0o644, "this ship's credential for the bridge"},
		"the credential is unfit": {healthy, 0o000, "this ship's credential for the bridge"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.handler)
			if c.handler == nil {
				server.Close()
			}
			defer server.CloseClientConnections()
			own := filepath.Join(t.TempDir(), "credential")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if c.mode == 0 { // root may read all: so the text is unfit instead
				text, c.mode = []byte("two words"), 0o600
			}
			if err := os.WriteFile(own, text, c.mode); err != nil {
				t.Fatal(err)
			}
			client, err := NewClient(ClientConfig{URL: server.URL, CredentialFile: own})
			if err != nil {
				t.Fatal(err)
			}
			switch err := client.Ready(t.Context()); {
			case c.want == "" && err != nil:
				t.Errorf("Ready() = %v, want nil", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("Ready() = %v, want %q", err, c.want)
			}
		})
	}
}

// Only calls told of it: ship status and /readyz said that all was well.
func TestAShipWhoseCredentialIsRevokedOrWrongIsNotReady(t *testing.T) {
	b := openBench(t, "", &fakeForge{}, func(c *Config) { c.Embedded = false })
	ship, _ := b.grantShip(t, "laptop", "widgets", verbs()...)
	server := httptest.NewServer(b.Handler())
	defer server.Close()
	c := clientTo(t, server.URL, ship).(*Client)
	if err := c.Ready(t.Context()); err != nil {
		t.Fatalf("with its credential: %v", err)
	}
	put := func(credential Secret) {
		t.Helper()
		if err := os.WriteFile(c.file, []byte(credential.Reveal()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(what string, c *Client) {
		t.Helper()
		err := c.Ready(t.Context())
		if err == nil || !strings.Contains(err.Error(), "does not know this ship's credential") || !strings.Contains(err.Error(), "; next: ") {
			t.Errorf("%s: Ready() = %v", what, err)
		}
		if err != nil && strings.Contains(err.Error(), "fleet_ship_") {
			t.Errorf("%s: the error shows it: %v", what, err)
		}
	}
	put(mintShipCredential())
	refused("with another's", c)
	put(ship)
	if err := c.Ready(t.Context()); err != nil {
		t.Errorf("with its own again: %v", err)
	}
	if err := b.desk.revoke("laptop"); err != nil {
		t.Fatal(err)
	}
	refused("revoked", clientTo(t, server.URL, ship).(*Client))
}

// A bridge that came back shows within five seconds, and one that everybody asks for is asked once.
func TestALookAtTheBridgeCountsForAWhile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credential")
	if err := os.WriteFile(file, []byte("fleet_ship_"+strings.Repeat("aB3", 14)+"x"), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		asked, status := 0, http.StatusOK
		c := &Client{address: "http://127.0.0.1:1", base: "http://127.0.0.1:1", file: file}
		c.http = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			asked++
			return &http.Response{StatusCode: status, Body: http.NoBody}, nil
		})}
		look := func() bool { return c.Ready(t.Context()) == nil }
		for range 2 {
			if !look() {
				t.Error("a bridge that serves is not ready")
			}
		}
		if asked != 1 {
			t.Errorf("asked %d times, want once", asked)
		}
		status = http.StatusBadGateway
		if time.Sleep(readyFor); look() || asked != 2 {
			t.Errorf("asked %d times, want again after %v", asked, readyFor)
		}
		status = http.StatusOK
		if time.Sleep(readyFor); !look() {
			t.Error("the bridge that came back is not seen")
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
