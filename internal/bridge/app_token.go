package bridge

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"strconv"
	"time"

	"fleet/api"
)

const (
	// GitHub takes no assertion for longer than ten minutes, nor one that begins in its future.
	jwtLifetime = 9 * time.Minute
	jwtSkew     = time.Minute

	maxTokenAnswer = 1 << 20
)

// assertion is the signed claim (RFC 7519, RS256) with which an app shows that it is itself.
func (a *App) assertion(ctx context.Context) (Secret, error) {
	text, err := readSecret(ctx, a.config.KeyFile, noOthers)
	if err != nil {
		return Secret{}, err
	}
	key := parseKey([]byte(text))
	if key == nil {
		return Secret{}, unusable(a.config.KeyFile, "holds no RSA private key in PEM")
	}
	now := a.config.Now()
	claims, err := json.Marshal(map[string]any{
		"iat": now.Add(-jwtSkew).Unix(), "exp": now.Add(jwtLifetime).Unix(), "iss": a.config.Issuer,
	})
	if err != nil {
		return Secret{}, err
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + encode(claims)
	digest := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:])
	if err != nil {
		return Secret{}, unusable(a.config.KeyFile, "holds a key that cannot sign")
	}
	return NewSecret("Bearer " + signed + "." + encode(signature)), nil
}

// CheckKey says why the app's key cannot sign as its file stands now, or nil. It asks no forge.
func (a *App) CheckKey(ctx context.Context) error {
	_, err := a.assertion(ctx)
	return err
}

// parseKey takes both forms in which an RSA key is kept. The parsers' errors are dropped: they may
// speak of what they read.
func parseKey(text []byte) *rsa.PrivateKey {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key
	}
	if parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		if key, ok := parsed.(*rsa.PrivateKey); ok {
			return key
		}
	}
	return nil
}

// request mints one token, and says when it ends by our own clock.
func (a *App) request(ctx context.Context) (Secret, time.Time, *api.Error) {
	assertion, err := a.assertion(ctx)
	if err != nil {
		return Secret{}, time.Time{}, transportFault(false, false, err)
	}
	req, err := a.mintRequest(ctx, assertion)
	if err != nil {
		return Secret{}, time.Time{}, transportFault(false, false, err)
	}
	resp, err := a.client.RoundTrip(req)
	if err != nil {
		return Secret{}, time.Time{}, transportFault(false, false, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		return Secret{}, time.Time{}, mintRefused(resp, a.config.Now())
	}
	var answer struct {
		Token   string    `json:"token"`
		Expires time.Time `json:"expires_at"`
	}
	// The decoder's error may quote the answer, which holds a token.
	if json.NewDecoder(io.LimitReader(resp.Body, maxTokenAnswer)).Decode(&answer) != nil || answer.Expires.IsZero() {
		return Secret{}, time.Time{}, badMint()
	}
	token, err := parseToken(answer.Token, "the app's token")
	if err != nil {
		return Secret{}, time.Time{}, badMint()
	}
	return token, byOurClock(a.config.Now(), answer.Expires, resp), nil
}

func (a *App) mintRequest(ctx context.Context, assertion Secret) (*http.Request, error) {
	narrowed := map[string]any{}
	if len(a.config.RepositoryIDs) > 0 {
		narrowed["repository_ids"] = a.config.RepositoryIDs
	}
	if len(a.config.Permissions) > 0 {
		narrowed["permissions"] = a.config.Permissions
	}
	body, err := json.Marshal(narrowed)
	if err != nil {
		return nil, err
	}
	at := a.config.API.JoinPath("app", "installations", strconv.FormatInt(a.config.Installation, 10), "access_tokens")
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.GetBody = nil // so that net/http can't send it again
	req.Header.Set("Authorization", assertion.Reveal())
	req.Header.Set("Accept", "application/vnd.github+json")
	req.Header.Set("Content-Type", "application/json")
	return req, nil
}

// mintRefused says why the forge gave no token, in our own words alone.
func mintRefused(resp *http.Response, now time.Time) *api.Error {
	e := &api.Error{Hint: "ask the operator of the bridge to check the GitHub App"}
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		e.Code, e.Reason = api.Unauthenticated, "app_refused"
		e.Message = "the forge refuses the bridge's GitHub App: its id and key do not match, or the bridge's clock is wrong"
	case http.StatusForbidden, http.StatusTooManyRequests:
		if wait := retryAfter(resp, now); wait > 0 {
			return &api.Error{
				Code: api.RateLimited, Reason: "app_rate_limited", RetryAfterSeconds: seconds(wait),
				Message: "the forge limits how often the bridge's GitHub App asks for a token",
			}
		}
		e.Code, e.Reason = api.Unauthenticated, "app_suspended"
		e.Message = "the forge gives the bridge's GitHub App no token: its installation may be suspended"
	case http.StatusNotFound:
		e.Code, e.Reason = api.Unauthenticated, "installation_missing"
		e.Message = "the forge does not know the installation of the bridge's GitHub App"
	case http.StatusUnprocessableEntity:
		e.Code, e.Reason = api.Unauthenticated, "app_permissions"
		e.Message = "the installation of the bridge's GitHub App lacks a permission or a repository that the bridge asks for"
	default:
		e = badMint()
		e.Message += " (HTTP " + strconv.Itoa(resp.StatusCode) + ")"
	}
	return e
}

func badMint() *api.Error {
	return &api.Error{
		Code: api.Unavailable, Reason: "app_token",
		Message: "the forge did not answer with a token for the bridge's GitHub App",
		Hint:    "try again in a minute",
	}
}

// byOurClock moves a time of the forge's to our clock, by the answer's Date.
func byOurClock(now, then time.Time, resp *http.Response) time.Time {
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return then
	}
	return now.Add(then.Sub(date))
}
