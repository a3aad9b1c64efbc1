package bridge

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The keys are made once: under the race detector that takes a second.
var testKey, otherKey = sync.OnceValue(newKey), sync.OnceValue(newKey)

func newKey() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
}

// appForge is a GitHub with one app and one installation. It checks each assertion.
type appForge struct {
	t   *testing.T
	key *rsa.PublicKey

	mu     sync.Mutex
	now    time.Time
	minted int
	valid  string                           // the token it accepts
	asked  string                           // body of the last mint
	mint   func(w http.ResponseWriter) bool // takes the answer over where it returns true
	hold   chan struct{}                    // a mint waits for it, where it is set
	record
}

func (f *appForge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == "POST" && strings.HasSuffix(r.URL.Path, "/app/installations/42/access_tokens") {
		f.mintToken(w, r)
		return
	}
	f.note(r)
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+f.valid {
		w.WriteHeader(http.StatusUnauthorized)
	}
}

func (f *appForge) mintToken(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if f.hold != nil {
		<-f.hold
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.minted++
	f.asked = string(body)
	if why := f.assertionFault(r.Header.Get("Authorization")); why != "" {
		f.t.Errorf("the assertion is not right: %s", why)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if f.mint != nil && f.mint(w) {
		return
	}
	f.valid = fmt.Sprintf("ghs_%s%d", strings.Repeat("aB3.d-F_9", 57), f.minted)
	w.Header().Set("Date", f.now.UTC().Format(http.TimeFormat))
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]any{"token": f.valid, "expires_at": f.now.Add(time.Hour).UTC()})
}

// assertionFault checks a JWT as RFC 7515 and GitHub have it.
func (f *appForge) assertionFault(header string) string {
	parts := strings.Split(strings.TrimPrefix(header, "Bearer "), ".")
	if len(parts) != 3 {
		return "it has not three parts"
	}
	var raw [3][]byte
	for i, part := range parts {
		var err error
		if raw[i], err = base64.RawURLEncoding.Strict().DecodeString(part); err != nil {
			return "it is not base64url"
		}
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if rsa.VerifyPKCS1v15(f.key, crypto.SHA256, digest[:], raw[2]) != nil {
		return "its signature is wrong"
	}
	var head struct{ Alg, Typ string }
	var claims struct {
		Iat, Exp int64
		Iss      string
	}
	if json.Unmarshal(raw[0], &head) != nil || json.Unmarshal(raw[1], &claims) != nil || head.Alg != "RS256" || head.Typ != "JWT" {
		return "it is not RS256"
	}
	switch now := f.now.Unix(); {
	case claims.Iss != "Iv23.client":
		return "it is of " + claims.Iss
	case claims.Iat > now:
		return "it begins in the future"
	case claims.Exp <= now || claims.Exp > now+600:
		return "it does not end within ten minutes"
	}
	return ""
}

func (f *appForge) mints() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.minted
}

func (f *appForge) pass(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

func keyPEM(t *testing.T, key *rsa.PrivateKey, pkcs8 bool) string {
	t.Helper()
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	if pkcs8 {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		block = &pem.Block{Type: "PRIVATE KEY", Bytes: der}
	}
	return string(pem.EncodeToMemory(block))
}

// newAppForge gives the forge, its address, an App of it and a Guard that signs with the App.
func newAppForge(t *testing.T) (*appForge, *httptest.Server, *App, *Guard) {
	t.Helper()
	key := testKey()
	f := &appForge{t: t, key: &key.PublicKey, now: time.Now()}
	s := serveOn(t, "127.0.0.1", f)
	app, err := NewApp(AppConfig{
		API: parse(t, s.URL), Issuer: "Iv23.client", Installation: 42,
		KeyFile: writeSecret(t, filepath.Join(t.TempDir(), "key.pem"), keyPEM(t, key, false), 0o600),
		Now: func() time.Time {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.now
		},
		RepositoryIDs: []int64{77}, Permissions: map[string]string{"issues": "write"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return f, s, app, guardOf(t, s.URL, func(c *GuardConfig) { c.Credential = app })
}

func TestAnAppMintsATokenAndUsesItUntilShortlyBeforeItsEnd(t *testing.T) {
	f, s, app, g := newAppForge(t)
	steps := []struct {
		pass  time.Duration
		mints int
	}{{0, 1}, {time.Minute, 1}, {53 * time.Minute, 1}, {2 * time.Minute, 2}, {54 * time.Minute, 2}, {3 * time.Hour, 3}}
	for i, step := range steps {
		f.pass(step.pass)
		if status, _, err := ask(t.Context(), g, "GET", s.URL+"/repos/a/b", ""); err != nil || status != 200 {
			t.Errorf("step %d: GET = %d, %v", i, status, err)
		}
		if f.mints() != step.mints {
			t.Errorf("step %d: %d tokens were minted, want %d", i, f.mints(), step.mints)
		}
	}
	if f.asked != `{"permissions":{"issues":"write"},"repository_ids":[77]}` {
		t.Errorf("the last token was asked for with %s", f.asked)
	}
	if app.ID() != "app:Iv23.client/42" || g.credentialID() != app.ID() {
		t.Errorf("ID() = %q", app.ID())
	}
}

func TestARefusedTokenIsMintedAgainOnce(t *testing.T) {
	f, s, _, g := newAppForge(t)
	if status, _, err := ask(t.Context(), g, "GET", s.URL+"/repos/a/b", ""); err != nil || status != 200 {
		t.Fatalf("GET = %d, %v", status, err)
	}
	f.valid = "revoked"
	// Thirty requests find out at the same time; one mint serves them all, and each is sent twice at
	// most.
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() {
			if status, _, err := ask(WithWrite(t.Context()), g, "POST", s.URL+commentPath, `{"body":"x"}`); err != nil || status != 200 {
				t.Errorf("POST = %d, %v", status, err)
			}
		})
	}
	wg.Wait()
	if f.mints() != 2 {
		t.Errorf("%d tokens were minted, want 2", f.mints())
	}
	// An app that is refused whatever it does must not mint for each request.
	f.mint = func(w http.ResponseWriter) bool {
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"token": fmt.Sprintf("useless-%d", f.minted), "expires_at": f.now.Add(time.Hour)})
		return true
	}
	f.valid = "none"
	f.pass(time.Minute)
	for range 5 {
		if status, _, err := ask(t.Context(), g, "GET", s.URL+"/repos/a/b", ""); err != nil || status != 401 {
			t.Errorf("GET = %d, %v", status, err)
		}
	}
	if f.mints() != 3 {
		t.Errorf("%d tokens were minted, want 3", f.mints())
	}
	f.pass(time.Minute)
	f.mint = nil
	if status, _, err := ask(t.Context(), g, "GET", s.URL+"/repos/a/b", ""); err != nil || status != 200 || f.mints() != 4 {
		t.Errorf("a minute later GET = %d, %v after %d mints", status, err, f.mints())
	}
}

// slowMint is a forge that answers each mint in an hour, with status.
type slowMint struct {
	status int
	mints  *atomic.Int32
}

func (f slowMint) RoundTrip(*http.Request) (*http.Response, error) {
	f.mints.Add(1)
	time.Sleep(mintTimeout / 2)
	body := fmt.Sprintf(`{"token":"some-token","expires_at":%q}`, time.Now().Add(time.Hour).Format(time.RFC3339))
	return &http.Response{StatusCode: f.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func TestManyWaitForOneMintAndShareItsFailure(t *testing.T) {
	keyFile := writeSecret(t, filepath.Join(t.TempDir(), "key.pem"), keyPEM(t, testKey(), false), 0o600)
	for status, want := range map[int]string{201: "<nil>", 502: "unavailable/app_token"} {
		synctest.Test(t, func(t *testing.T) {
			app, err := NewApp(AppConfig{API: parse(t, "https://api.github.com"), Issuer: "1", Installation: 42, KeyFile: keyFile})
			if err != nil {
				t.Fatal(err)
			}
			var mints atomic.Int32
			app.client = slowMint{status, &mints}
			for range 20 {
				go func() {
					s, err := app.Authorization(t.Context())
					if codeOf(err) != want || s.IsZero() != (err != nil) {
						t.Errorf("%d: Authorization() = %v, want %s", status, err, want)
					}
				}()
			}
			time.Sleep(time.Hour / 2)
			if mints.Load() != 1 {
				t.Errorf("%d: %d mints, want 1", status, mints.Load())
			}
		})
	}
}

func TestWhoGivesUpWaitingHarmsNobodyElse(t *testing.T) {
	f, _, app, _ := newAppForge(t)
	f.hold = make(chan struct{})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if _, err := app.Authorization(ctx); codeOf(err) != "unavailable/timeout" {
				t.Errorf("who gave up got %v", err)
			}
		})
	}
	wg.Wait()
	close(f.hold)
	if _, err := app.Authorization(t.Context()); err != nil {
		t.Errorf("who came later got %v", err)
	}
}

func TestATokenThatHasNotEndedIsUsedWhileNoOtherCanBeHad(t *testing.T) {
	f, s, _, g := newAppForge(t)
	want := func(status int, code string, mints int) {
		t.Helper()
		got, _, err := ask(t.Context(), g, "GET", s.URL+"/repos/a/b", "")
		if got != status || codeOf(err) != code || f.mints() != mints {
			t.Errorf("GET = %d, %v after %d mints, want %d, %s after %d", got, err, f.mints(), status, code, mints)
		}
	}
	want(200, "<nil>", 1)
	f.mint = func(w http.ResponseWriter) bool { w.WriteHeader(http.StatusInternalServerError); return true }
	f.pass(56 * time.Minute)
	want(200, "<nil>", 2)
	want(200, "<nil>", 2) // not for each request
	f.pass(time.Minute)
	want(200, "<nil>", 3)
	f.pass(150 * time.Second)
	want(0, "unavailable/app_token", 4)
}
