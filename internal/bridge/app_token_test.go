package bridge

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestWhyAnAppGetsNoTokenIsSaid(t *testing.T) {
	cases := map[string]struct {
		status int
		header map[string]string
		body   string
		want   string
	}{
		"unknown app":        {401, nil, `{"message":"` + sentinel + `"}`, "unauthenticated/app_refused"},
		"suspended":          {403, nil, `{"message":"` + sentinel + `"}`, "unauthenticated/app_suspended"},
		"limited":            {403, map[string]string{"Retry-After": "7"}, "", "rate_limited/app_rate_limited"},
		"no installation":    {404, nil, "", "unauthenticated/installation_missing"},
		"not granted":        {422, nil, "", "unauthenticated/app_permissions"},
		"an HTML page":       {502, nil, "<html>" + sentinel, "unavailable/app_token"},
		"a redirect":         {307, map[string]string{"Location": "http://127.0.0.2:1/" + sentinel}, "", "unavailable/app_token"},
		"half an answer":     {201, nil, `{"token":"` + sentinel, "unavailable/app_token"},
		"no end":             {201, nil, `{"token":"` + sentinel + `"}`, "unavailable/app_token"},
		"no token":           {201, nil, `{"expires_at":"2036-01-02T15:04:05Z"}`, "unavailable/app_token"},
		"a token of 2 lines": {201, nil, `{"token":"` + sentinel + `\nX: y","expires_at":"2036-01-02T15:04:05Z"}`, "unavailable/app_token"},
	}
	f, _, app, _ := newAppForge(t)
	for name, tc := range cases {
		f.mint = func(w http.ResponseWriter) bool {
			for k, v := range tc.header {
				w.Header().Set(k, v)
			}
			w.WriteHeader(tc.status)
			_, _ = io.WriteString(w, tc.body)
			return true
		}
		s, err := app.Authorization(t.Context())
		if codeOf(err) != tc.want || !s.IsZero() {
			t.Errorf("%s: Authorization() = %v, want %s", name, err, tc.want)
		}
		if text := fmt.Sprintf("%+v %#v", err, err); strings.Contains(text, sentinel) {
			t.Errorf("%s: the error quotes the forge: %s", name, text)
		}
	}
}

func TestAKeyIsReadInBothFormsAndAnew(t *testing.T) {
	f, _, app, _ := newAppForge(t)
	other := otherKey()
	for _, pkcs8 := range []bool{true, false} {
		writeSecret(t, app.config.KeyFile, keyPEM(t, other, pkcs8), 0o600)
		f.mu.Lock()
		f.key = &other.PublicKey
		f.mu.Unlock()
		f.pass(2 * time.Hour)
		if _, err := app.Authorization(t.Context()); err != nil {
			t.Errorf("after the key was rotated (PKCS#8 %v): %v", pkcs8, err)
		}
	}
	for name, text := range map[string]string{
		"no PEM": "secret key", "an empty block": "-----BEGIN RSA PRIVATE KEY-----\n-----END RSA PRIVATE KEY-----\n",
		"a broken block": strings.Replace(keyPEM(t, other, false), "MII", "MIJ", 1),
	} {
		writeSecret(t, app.config.KeyFile, text, 0o600)
		f.pass(2 * time.Hour)
		if _, err := app.Authorization(t.Context()); codeOf(err) != "unauthenticated/credential_unusable" {
			t.Errorf("%s: Authorization() = %v", name, err)
		}
	}
}

// A forge whose clock is off says when the token ends by that clock.
func TestATokensEndIsReckonedByOurClock(t *testing.T) {
	f, _, app, _ := newAppForge(t)
	f.mint = func(w http.ResponseWriter) bool {
		theirs := f.now.Add(-3 * time.Hour)
		w.Header().Set("Date", theirs.UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"token": "some-token", "expires_at": theirs.Add(time.Hour).UTC()})
		return true
	}
	for range 3 {
		if _, err := app.Authorization(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if f.mints() != 1 {
		t.Errorf("%d tokens were minted, want 1", f.mints())
	}
}

func TestAnAppIsCheckedAtStart(t *testing.T) {
	good := AppConfig{API: parse(t, "https://ghes.example/api/v3"), Issuer: "1", Installation: 2, KeyFile: "/key"}
	cases := map[string]func(c *AppConfig){
		"no address":      func(c *AppConfig) { c.API = nil },
		"http":            func(c *AppConfig) { c.API = parse(t, "http://ghes.example/api/v3") },
		"no id":           func(c *AppConfig) { c.Issuer = "" },
		"no installation": func(c *AppConfig) { c.Installation = 0 },
		"a negative one":  func(c *AppConfig) { c.Installation = -1 },
		"no key":          func(c *AppConfig) { c.KeyFile = "" },
	}
	for name, change := range cases {
		c := good
		change(&c)
		if _, err := NewApp(c); err == nil {
			t.Errorf("%s: NewApp took it", name)
		}
	}
	app, err := NewApp(good)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewGuard(GuardConfig{API: parse(t, "https://api.github.com"), Credential: app}); err == nil {
		t.Error("NewGuard took the app of another host")
	}
}
