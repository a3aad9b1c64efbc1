package bridge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"sync/atomic"

	"fleet/api"
)

const maxRequestBody = 4 << 20

// guardedCall is one request of a client, whatever number of exchanges it takes.
type guardedCall struct {
	guard  *Guard
	origin *http.Request
	url    *url.URL
	header http.Header
	body   []byte
	write  bool
	mark   *mark // never nil
	again  bool  // has been sent anew under another credential
	hops   int

	secret Secret // what the last exchange was signed with
	asked  *asked // how its answer is remembered; nil: not at all
}

// newCall takes req over, its body too.
func (g *Guard) newCall(req *http.Request) (*guardedCall, error) {
	var body []byte
	if req.Body != nil {
		var err error
		body, err = io.ReadAll(io.LimitReader(req.Body, maxRequestBody+1))
		_ = req.Body.Close()
		if err != nil || len(body) > maxRequestBody {
			return nil, &api.Error{Code: api.Invalid, Reason: "request_body", Message: "the request to the forge is too large or cannot be read", Err: err}
		}
	}
	if !sameOrigin(req.URL, g.api) || req.URL.User != nil || (req.Host != "" && req.Host != req.URL.Host) {
		return nil, &api.Error{Code: api.Forbidden, Reason: "foreign_host", Message: "the bridge speaks to this forge's own host only"}
	}
	if crooked(req.URL.EscapedPath()) {
		return nil, &api.Error{Code: api.Invalid, Reason: "path", Message: "the request names something outside the repository, or nothing"}
	}
	c := &guardedCall{guard: g, origin: req, url: req.URL, header: http.Header{}, body: body, write: changes(req)}
	for name, values := range req.Header {
		if allowedHeader(name) {
			c.header[name] = values
		}
	}
	if c.mark = markOf(req.Context()); c.mark == nil || !c.write {
		c.mark = &mark{}
	}
	return c, nil
}

// run takes the call to its answer.
func (c *guardedCall) run(ctx context.Context) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, callDeadline)
	if err := c.admit(ctx); err != nil {
		cancel()
		return nil, err
	}
	resp, err := c.follow(ctx)
	if err == nil {
		err = c.admitBody(resp)
	}
	if err != nil {
		<-c.guard.slots
		cancel()
		return nil, err
	}
	c.wrap(resp, func() {
		<-c.guard.slots
		cancel()
	})
	return resp, nil
}

// admit gets what a call needs before anything is sent: a credential, room in the quota, a place.
func (c *guardedCall) admit(ctx context.Context) error {
	if err := c.authorize(ctx); err != nil {
		return err
	}
	forWrite := c.write || mayUseReserve(ctx)
	if err := c.guard.quota.admit(resourceOf(c.url.Path), c.secret.Fingerprint(), forWrite); err != nil {
		return err
	}
	return c.guard.acquire(ctx, c.guard.slots)
}

// follow exchanges until there is an answer that isn't a redirect to follow.
func (c *guardedCall) follow(ctx context.Context) (*http.Response, error) {
	for {
		resp, err := c.signed(ctx)
		if err != nil {
			return nil, err
		}
		next, err := c.next(resp)
		if err != nil {
			discard(resp)
			return nil, err
		}
		if next == nil {
			return resp, nil
		}
		discard(resp)
		c.url = next
		c.hops++
	}
}

// signed exchanges under the credential, and once more under another one if the forge refuses it:
// a 401 proves that nothing was done.
func (c *guardedCall) signed(ctx context.Context) (*http.Response, error) {
	resp, err := c.exchange(ctx)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || c.again || c.secret.IsZero() {
		return resp, err
	}
	c.again = true
	if !c.guard.credential.Refused(ctx, c.secret) {
		return resp, nil
	}
	discard(resp)
	c.guard.log.Info("credential refused, signing with another", "host", c.guard.api.Host, "credential", c.guard.credentialID())
	if err := c.authorize(ctx); err != nil {
		return nil, err
	}
	return c.exchange(ctx)
}

func (c *guardedCall) authorize(ctx context.Context) error {
	c.secret = Secret{}
	if c.guard.credential != nil {
		var err error
		if c.secret, err = c.guard.credential.Authorization(ctx); err != nil {
			return transportFault(false, false, err)
		}
		c.guard.signed.add(c.secret)
	}
	if c.secret.IsZero() && c.write {
		return &api.Error{
			Code: api.Unavailable, Reason: reasonNoCredential,
			Message: "the bridge has no credential for " + c.guard.api.Host,
			Hint:    "ask the operator to run: ship credential add " + credentialHost(c.guard.api),
		}
	}
	return nil
}

// exchange sends one request and gives the head of its answer.
func (c *guardedCall) exchange(ctx context.Context) (*http.Response, error) {
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		connected.Store(true)
		c.mark.maybe.Store(true)
	}})
	req, err := c.request(ctx)
	if err != nil {
		return nil, &api.Error{Code: api.Internal, Reason: "request", Message: "the request to the forge could not be made"}
	}
	c.asked = c.guard.answers.revalidate(req, c.guard.credentialID()+" "+c.secret.Fingerprint())
	transport := c.guard.reads
	if c.write {
		transport = c.guard.writes
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		sent := connected.Load() || (!c.guard.ours && !neverDialled(err))
		c.mark.maybe.Store(sent)
		return nil, transportFault(c.write, sent, err)
	}
	c.mark.maybe.Store(!definite(resp.StatusCode))
	c.guard.quota.observe(resourceOf(c.url.Path), c.secret.Fingerprint(), resp)
	resp = maskHead(resp, c.secret)
	if c.asked.confirms(resp) {
		resp, c.asked = c.asked.answer(resp), nil
	}
	return resp, nil
}

// request makes what goes over the wire.
func (c *guardedCall) request(ctx context.Context) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, c.origin.Method, c.url.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header = c.header.Clone()
	if len(c.body) > 0 {
		body := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(c.body)), nil }
		req.Body, _ = body()
		req.ContentLength = int64(len(c.body))
		if !c.write {
			req.GetBody = body // without it net/http can't send a request again
		}
	}
	if !c.secret.IsZero() {
		// Revealed to the one host that the credential is for: newCall and next hold the URL to it.
		req.Header.Set("Authorization", c.secret.Reveal())
	}
	return req, nil
}

// neverDialled recognises, behind a transport that isn't ours, what surely wasn't sent.
func neverDialled(err error) bool {
	var dial *net.OpError
	var dns *net.DNSError
	return (errors.As(err, &dial) && dial.Op == "dial") || errors.As(err, &dns)
}

// admitBody refuses an answer that says itself that it is too large.
func (c *guardedCall) admitBody(resp *http.Response) error {
	if c.origin.Method == http.MethodHead || resp.ContentLength <= c.guard.maxBody {
		return nil
	}
	_ = resp.Body.Close()
	return c.tooLarge(resp.StatusCode)
}

// tooLarge is the error for an answer of the given status that is over the limit.
func (c *guardedCall) tooLarge(status int) error {
	limit := strconv.FormatInt(c.guard.maxBody, 10)
	if c.write && !definite(status) {
		return &api.Error{
			Code: api.OutcomeUnknown, Reason: "answer_too_large",
			Message: "the forge's answer to the request is over " + limit + " bytes: it may have been done",
			Hint:    "look at the issue or pull request before you try again",
		}
	}
	return &api.Error{Code: api.Unavailable, Reason: "answer_too_large", Message: "the forge's answer is over " + limit + " bytes"}
}

// definite says that a status by itself tells that a write was not done. What a forge did before it
// answered 500 or 502, nobody knows.
func definite(status int) bool { return status >= 300 && status < 500 }
