package bridgetest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// App is a GitHub App.
type App struct {
	gh       *GitHub
	id       int64
	slug     string
	key      *rsa.PrivateKey
	installs []*installation
	minted   int
	life     time.Duration
}

// installation is an App in an organization.
type installation struct {
	app   *App
	id    int64
	owner string
	repos map[int64]bool
	may   map[string]string
}

// Add puts another repository into the installation with this number.
func (a *App) Add(installation int64, r *Repo) {
	a.gh.mu.Lock()
	defer a.gh.mu.Unlock()
	for _, i := range a.installs {
		if i.id == installation {
			i.repos[r.id] = true
		}
	}
}

// App makes a GitHub App. Its account is "slug[bot]".
func (g *GitHub) App(slug string) (*App, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	a := &App{gh: g, id: g.id(), slug: slug, key: key, life: time.Hour}
	g.apps = append(g.apps, a)
	return a, nil
}

// ID is the App's number.
func (a *App) ID() string { return number(a.id) }

// Key is the App's private key, in PEM.
func (a *App) Key() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(a.key)})
}

// Minted says how many installation tokens it was given.
func (a *App) Minted() int {
	a.gh.mu.Lock()
	defer a.gh.mu.Unlock()
	return a.minted
}

// Install installs the App for a repository, with permissions written as "issues:write", and gives
// the installation's number.
func (a *App) Install(r *Repo, permissions ...string) int64 {
	a.gh.mu.Lock()
	defer a.gh.mu.Unlock()
	i := &installation{app: a, id: a.gh.id(), owner: r.owner, repos: map[int64]bool{r.id: true}, may: permissionsOf(permissions)}
	a.installs = append(a.installs, i)
	return i.id
}

// RevokeTokens ends all tokens that were minted, before their time.
func (a *App) RevokeTokens() {
	a.gh.mu.Lock()
	defer a.gh.mu.Unlock()
	for _, t := range a.gh.tokens {
		if t.install != nil && t.install.app == a {
			t.revoked = true
		}
	}
}

// asApp finds the App that signed a request with a JSON web token (RFC 7519).
// See https://docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app.
func (c *call) asApp() (*App, error) {
	text, ok := strings.CutPrefix(c.req.Header.Get("Authorization"), "Bearer ")
	parts := strings.Split(text, ".")
	if !ok || len(parts) != 3 {
		return nil, fmt.Errorf("a JSON web token could not be decoded")
	}
	var head struct{ Alg string }
	var claims struct {
		Iss      any
		Iat, Exp int64
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	for i, into := range []any{&head, &claims} {
		raw, decodeErr := base64.RawURLEncoding.DecodeString(parts[i])
		if err == nil {
			err = decodeErr
		}
		if err == nil {
			err = json.Unmarshal(raw, into)
		}
	}
	if err != nil || head.Alg != "RS256" {
		return nil, fmt.Errorf("a JSON web token could not be decoded")
	}
	now := time.Now().Unix()
	if claims.Iat > now+60 || claims.Exp <= now || claims.Exp > now+600 {
		return nil, fmt.Errorf("'Expiration time' claim ('exp') is too far in the future")
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	for _, a := range c.gh.apps {
		if fmt.Sprint(claims.Iss) == a.ID() && rsa.VerifyPKCS1v15(&a.key.PublicKey, crypto.SHA256, sum[:], signature) == nil {
			return a, nil
		}
	}
	return nil, fmt.Errorf("integration must generate a public key")
}

// mintToken gives a token of today's form: some 520 characters.
func mintToken(c *call) reply {
	app, err := c.asApp()
	if err != nil {
		return refuse(http.StatusUnauthorized, err.Error())
	}
	at := slices.IndexFunc(app.installs, func(i *installation) bool { return number(i.id) == c.params["installation_id"] })
	if at < 0 {
		return refuse(http.StatusNotFound, "Not Found")
	}
	i := app.installs[at]
	var in struct {
		Permissions   map[string]string
		RepositoryIDs []int64 `json:"repository_ids"`
	}
	if len(c.body) > 0 && json.Unmarshal(c.body, &in) != nil {
		return refuse(http.StatusBadRequest, "Problems parsing JSON")
	}
	may := maps.Clone(i.may)
	for name, level := range in.Permissions {
		if have := i.may[name]; have != level && have != "write" {
			return ungranted("The permissions requested are not granted to this installation.")
		}
	}
	if in.Permissions != nil {
		may = maps.Clone(in.Permissions)
		may["metadata"] = "read"
	}
	repos, ok := i.only(in.RepositoryIDs)
	if !ok {
		return ungranted("There is at least one repository that does not exist or is not accessible to the parent installation.")
	}
	app.minted++
	t := &Token{
		gh: c.gh, text: LongToken(), login: app.slug + "[bot]", may: may, install: i, repos: repos, expires: now().Add(app.life),
	}
	c.gh.tokens[t.text] = t
	return created(object{"token": t.text, "expires_at": when(t.expires), "permissions": may, "repository_selection": "selected"})
}

// only gives those of the installation's repositories that are asked for; nil asks for all.
func (i *installation) only(ids []int64) (repos map[int64]bool, ok bool) {
	if ids == nil {
		return i.repos, true
	}
	repos = map[int64]bool{}
	for _, id := range ids {
		if repos[id] = i.repos[id]; !repos[id] {
			return nil, false
		}
	}
	return repos, true
}

// ungranted answers a token's request for more than the installation has.
func ungranted(message string) reply {
	return reply{status: http.StatusUnprocessableEntity, body: object{"message": message, "documentation_url": "https://docs.github.com/rest"}}
}

// LongToken makes the text of an installation token as they are since 2026: 520 characters, with
// dots, dashes and underscores.
func LongToken() string {
	return "ghs_" + randomText(40) + "." + randomText(300) + "-_" + randomText(132) + "." + randomText(40)
}

func showInstallation(c *call) reply {
	app, err := c.asApp()
	if err != nil {
		return refuse(http.StatusUnauthorized, err.Error())
	}
	for _, i := range app.installs {
		if c.repo == nil || !i.repos[c.repo.id] {
			continue
		}
		at := when(c.gh.clock)
		return ok(object{
			"id": i.id, "account": c.somebody(i.owner), "repository_selection": "selected", "app_id": app.id, "app_slug": app.slug,
			"access_tokens_url": c.base + "/app/installations/" + number(i.id) + "/access_tokens", "target_id": c.gh.who(i.owner).id,
			"repositories_url": c.base + "/installation/repositories", "html_url": web + "settings/installations/" + number(i.id),
			"target_type": "Organization", "permissions": i.may, "events": []any{}, "created_at": at, "updated_at": at,
			"single_file_name": nil, "suspended_by": nil, "suspended_at": nil,
		})
	}
	return refuse(http.StatusNotFound, "Not Found")
}
