package bridgetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const maxRequest = 8 << 20

// call is one request on its way. All of it happens with the GitHub's mu held.
type call struct {
	gh     *GitHub
	req    *http.Request
	base   string // of the API, as the caller addressed it
	path   string // below base, escaped
	query  url.Values
	body   []byte
	token  *Token // nil: none
	repo   *Repo
	route  *route
	params map[string]string
}

// reply is an answer.
type reply struct {
	status int
	header http.Header
	body   any // nil: none
	raw    []byte
}

func ok(body any) reply      { return reply{status: http.StatusOK, body: body} }
func created(body any) reply { return reply{status: http.StatusCreated, body: body} }

// refuse answers as GitHub does when it does not do it.
func refuse(status int, message string) reply {
	return reply{status: status, body: object{
		"message": message, "documentation_url": "https://docs.github.com/rest", "status": number(status),
	}}
}

// invalid answers 422 with details. GitHub gives them as text here, and as objects there.
func invalid(details ...any) reply {
	return reply{status: http.StatusUnprocessableEntity, body: object{
		"message": "Validation Failed", "errors": details, "documentation_url": "https://docs.github.com/rest",
	}}
}

func (r reply) with(name, value string) reply {
	if r.header == nil {
		r.header = http.Header{}
	}
	r.header.Set(name, value)
	return r
}

// ServeHTTP answers one request of the API.
func (g *GitHub) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(io.LimitReader(req.Body, maxRequest))
	if err != nil {
		return // it broke off: nothing was done
	}
	g.mu.Lock()
	c := g.newCall(req, body)
	g.requests = append(g.requests, recorded(c))
	c.find()
	rule := g.ruleFor(c)
	var r reply
	if rule.stores() {
		r = c.answer()
		rule.shrink(&r)
		c.finish(&r)
		rule.strip(&r)
	}
	g.mu.Unlock()
	if rule == nil {
		r.send(w)
		return
	}
	rule.act(w, req, r.encode(), g.closed)
}

func (r *reply) send(w http.ResponseWriter) {
	for name, values := range r.header {
		w.Header()[name] = values
	}
	w.WriteHeader(r.status)
	if r.body != nil {
		_, _ = w.Write(r.encodeBody())
	}
}

func (g *GitHub) newCall(req *http.Request, body []byte) *call {
	c := &call{gh: g, req: req, body: body, base: "http://" + req.Host, path: req.URL.EscapedPath(), query: req.URL.Query()}
	if below, ok := strings.CutPrefix(c.path, "/api/v3/"); ok {
		c.path, c.base = "/"+below, c.base+"/api/v3"
	} else if c.path == "/api/graphql" {
		c.path = "/graphql"
	}
	return c
}

// answer does what is asked for, if it may be done.
func (c *call) answer() reply {
	if r := c.admit(); r != nil {
		return *r
	}
	return c.route.serve(c)
}

// admit gives the answer to a request that is not let through.
func (c *call) admit() *reply {
	token, ok := c.authorized()
	c.token = token
	var r reply
	switch {
	case c.req.Header.Get("User-Agent") == "":
		r = refuse(http.StatusForbidden, "Request forbidden by administrative rules. Please make sure your request has a User-Agent header")
	case c.route == nil:
		c.gh.violate("%s %s is no address of GitHub's API that the stand-in knows", c.req.Method, c.req.URL.RequestURI())
		r = refuse(http.StatusNotFound, "Not Found")
	case c.route.open:
		return nil
	case !ok:
		r = refuse(http.StatusUnauthorized, "Bad credentials")
	default:
		if limited := c.gh.limited(c); limited != nil {
			return limited
		}
		return c.admitRepo()
	}
	return &r
}

// admitRepo looks at what the repository says to it.
func (c *call) admitRepo() *reply {
	var r reply
	write := c.req.Method != http.MethodGet && c.path != "/graphql"
	switch {
	case c.repo == nil && strings.HasPrefix(c.route.path, "/repos/"), c.repo != nil && !c.token.sees(c.repo):
		r = refuse(http.StatusNotFound, "Not Found")
	case c.repo != nil && strings.EqualFold(c.gh.sso, c.repo.owner):
		r = refuse(http.StatusForbidden, "Resource protected by organization SAML enforcement. You must grant your Personal Access token access to this organization.").
			with("X-GitHub-SSO", "required; url="+web+"orgs/"+c.gh.sso+"/sso?authorization_request="+randomText(20))
	case c.repo != nil && c.repo.blocked:
		r = refuse(http.StatusUnavailableForLegalReasons, "Repository access blocked")
	case c.token == nil && write:
		r = refuse(http.StatusUnauthorized, "Requires authentication")
	case c.token != nil && !c.token.has(c.needs()):
		r = refuse(http.StatusForbidden, c.token.lacks()).with("X-Accepted-GitHub-Permissions", c.needs())
	case c.repo != nil && write && c.repo.archived:
		r = refuse(http.StatusForbidden, "Repository was archived so is read-only.")
	default:
		return nil
	}
	return &r
}

func (t *Token) lacks() string {
	if t.install != nil {
		return "Resource not accessible by integration"
	}
	return "Resource not accessible by personal access token"
}

// finish adds what every answer of GitHub has, holds it to GitHub's description, and makes a 304
// of one that the caller has already.
func (c *call) finish(r *reply) {
	if r.header == nil {
		r.header = http.Header{}
	}
	c.checkAnswer(r)
	h := r.header
	h.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	h.Set("X-GitHub-Request-Id", strings.ToUpper(randomText(8)))
	h.Set("X-GitHub-Media-Type", "github.v3; format=json")
	if r.body != nil {
		h.Set("Content-Type", "application/json; charset=utf-8")
	}
	if c.token != nil && c.token.may == nil {
		h.Set("X-OAuth-Scopes", "repo, workflow")
	}
	if c.req.Method == http.MethodGet && r.status == http.StatusOK {
		// GitHub's ETags differ between credentials.
		sum := sha256.Sum256(append(slices.Clip(r.encodeBody()), c.req.Header.Get("Authorization")...))
		etag := fmt.Sprintf(`W/"%x"`, sum)
		h.Set("ETag", etag)
		h.Set("Cache-Control", "private, max-age=60, s-maxage=60")
		h.Set("Vary", "Accept, Authorization, Cookie, X-GitHub-OTP, Accept-Encoding, Accept, X-Requested-With")
		if c.req.Header.Get("If-None-Match") == etag {
			r.status, r.body = http.StatusNotModified, nil
			h.Del("Content-Type")
		}
	}
	c.gh.count(c, r)
}

// encodeBody gives the body in JSON, which is made once.
func (r *reply) encodeBody() []byte {
	if r.raw != nil {
		return r.raw
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(r.body) // maps of plain values: it cannot fail
	r.raw = bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	return r.raw
}

// encode gives the whole answer, as it goes over the wire.
func (r *reply) encode() []byte {
	var body []byte
	if r.body != nil {
		body = r.encodeBody()
	}
	return wire(r.status, r.header, body)
}

func wire(status int, header http.Header, body []byte) []byte {
	var out bytes.Buffer
	resp := http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Header: header, Body: io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
	}
	_ = resp.Write(&out) // into memory
	return out.Bytes()
}
