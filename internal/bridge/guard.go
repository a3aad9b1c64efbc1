package bridge

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"fleet/api"
)

const (
	defaultMaxBody = 8 << 20
	parallelCalls  = 8
	callDeadline   = 30 * time.Second
)

// GuardConfig describes a Guard. Everything but API may be left out.
type GuardConfig struct {
	API        *url.URL          // base of the forge's API: https, or http on loopback
	Credential Credential        // nil: anonymous
	Transport  http.RoundTripper // nil: one of our own, without a proxy, whose writes travel on connections of their own
	MaxBody    int64             // bytes of one answer, unpacked; 0 means 8 MiB
	RootCAs    *x509.CertPool    // nil: the system's
	Logger     *slog.Logger      // nil: none
	Now        func() time.Time  // nil: time.Now

	network network
	pins    repositoryPins
	known   *signedWith // shared by the Guards of one broker; nil: the Guard's own
}

// Guard is the one way to a forge's API. It holds one host and one credential together: everything
// that shares a quota shares a Guard. It is safe for concurrent use and prints nothing of itself.
type Guard struct {
	api        *url.URL
	credential Credential
	reads      http.RoundTripper
	writes     http.RoundTripper
	ours       bool // the transports are our own: what never got a connection wasn't sent
	maxBody    int64
	roots      *x509.CertPool
	network    network
	log        *slog.Logger
	slots      chan struct{}
	downloads  chan struct{}
	quota      *quota
	answers    *answers
	ids        *repositoryIDs
	signed     *signedWith
}

// NewGuard sends nothing. It refuses an API address that isn't plain https (or http on loopback),
// and a credential that is bound to another host.
func NewGuard(c GuardConfig) (*Guard, error) {
	if err := checkAPI(c.API); err != nil {
		return nil, err
	}
	if b, ok := c.Credential.(bound); ok && !b.serves(c.API) {
		return nil, fmt.Errorf("credential %s is not for %s", c.Credential.ID(), c.API.Host)
	}
	if c.MaxBody <= 0 {
		c.MaxBody = defaultMaxBody
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.known == nil {
		c.known = &signedWith{}
	}
	at := *c.API
	g := &Guard{
		api: &at, credential: c.Credential, reads: c.Transport, writes: c.Transport, maxBody: c.MaxBody,
		roots: c.RootCAs, network: c.network, log: c.Logger,
		slots: make(chan struct{}, parallelCalls), downloads: make(chan struct{}, parallelCalls),
		quota: newQuota(c.Now), answers: newAnswers(), ids: newRepositoryIDs(c.pins), signed: c.known,
	}
	if c.Transport == nil {
		g.ours = true
		g.reads = newTransport(g.api, c.network, c.RootCAs, keptConnections)
		g.writes = newTransport(g.api, c.network, c.RootCAs, freshConnections)
	}
	return g, nil
}

// checkAPI says what is wrong with an API's address.
func checkAPI(u *url.URL) error {
	switch {
	case u == nil || u.Host == "" || u.Hostname() == "":
		return errors.New("the forge's API address has no host")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("the forge's API address must be a plain address, without user, query and fragment")
	case u.Scheme == "https", u.Scheme == "http" && isLoopbackHost(u.Hostname()):
		return nil
	default:
		return fmt.Errorf("the forge's API at %s must be reached by https", u.Host)
	}
}

// Format keeps a Guard from printing what it holds, under every verb.
func (g *Guard) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, "guard of "+g.api.Host) }

// Client sends through the Guard and follows no redirect of its own. What the Guard refuses, and
// what breaks on the way, is an *api.Error in the client's error (see AsError); what the forge
// answers, of whatever status, is a response. A response keeps one of eight places until its body
// is closed or read to its end.
func (g *Guard) Client() *http.Client {
	return &http.Client{
		Transport:     roundTripper{g},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// credentialID names the credential in use.
func (g *Guard) credentialID() string {
	if g.credential == nil {
		return anonymous
	}
	return g.credential.ID()
}

// Pause stops all requests for as long as a limit lasts that only the text of an answer tells, at
// most an hour. Those that headers tell are heeded without it.
func (g *Guard) Pause(wait time.Duration) { g.quota.pause(wait) }

// Learn tells the Guard the numeric id that the forge gives the repository at path, such as
// acme/widgets: from then on redirects to that id are followed. The first id of a path stays: it
// reports Conflict where the path has come to belong to another repository. A broker's Guards know
// it from earlier processes too.
func (g *Guard) Learn(path string, id int64) error { return g.ids.learn(path, id) }

// Close drops idle connections. Requests may still be sent.
func (g *Guard) Close() {
	for _, t := range []http.RoundTripper{g.reads, g.writes} {
		if c, ok := t.(interface{ CloseIdleConnections() }); ok && g.ours {
			c.CloseIdleConnections()
		}
	}
}

// roundTripper keeps RoundTrip out of the Guard's own methods.
type roundTripper struct{ guard *Guard }

func (t roundTripper) Format(f fmt.State, _ rune) { t.guard.Format(f, 'v') }

func (t roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	c, err := t.guard.newCall(req)
	if err != nil {
		return nil, err
	}
	return c.run(req.Context())
}

// allowedHeader says that a caller's header may go out. Credentials are the Guard's alone, and a
// key for idempotency, which forges ignore, makes net/http send a write twice.
func allowedHeader(name string) bool {
	switch strings.ToLower(name) {
	case "authorization", "proxy-authorization", "cookie", "private-token", "job-token",
		"idempotency-key", "x-idempotency-key", "referer":
		return false
	}
	return true
}

func (g *Guard) acquire(ctx context.Context, places chan struct{}) error {
	select {
	case places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return &api.Error{
			Code: api.Unavailable, Reason: "busy", Message: "too many requests to the forge are under way; nothing was sent",
			Hint: "try again in a minute", Err: causeOf(ctx.Err()),
		}
	}
}
