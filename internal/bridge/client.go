package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"fleet/api"
)

const (
	clientTime      = callTime + 5*time.Second
	maxClientAnswer = 4 << 20
)

// ClientConfig says which bridge to speak to.
type ClientConfig struct {
	// URL is https://HOST…, http://HOST… on loopback, or unix:///PATH.
	URL string
	// CredentialFile holds the ship-agent credential. It is read for every call, so that a new one
	// counts at once; others must have no access to it.
	CredentialFile string
}

// NewClient checks the configuration and sends nothing.
func NewClient(c ClientConfig) (*Client, error) {
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, errors.New("the bridge's URL is not an address; give https://HOST:PORT, http:// on loopback, or unix:///PATH")
	}
	if !filepath.IsAbs(c.CredentialFile) {
		return nil, errors.New("the ship's credential file must be named by an absolute path")
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	t := &http.Transport{
		DialContext: dialed(dialer.DialContext), TLSHandshakeTimeout: 10 * time.Second, MaxIdleConnsPerHost: 16,
		IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
		ExpectContinueTimeout: continueTime,
	}
	switch {
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the bridge's URL must be a plain address, without user, query and fragment")
	case u.Scheme == "unix" && u.Host == "" && filepath.IsAbs(u.Path):
		path := u.Path
		t.DialContext = dialed(func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", path)
		})
		u = &url.URL{Scheme: "http", Host: "bridge"}
	case u.Scheme == "https" && u.Host != "":
	case u.Scheme == "http" && isLoopbackHost(u.Hostname()):
	default:
		return nil, errors.New("the bridge's URL must be https://…, http:// on loopback, or unix:///PATH")
	}
	return &Client{
		address: c.URL,
		base:    strings.TrimRight(u.String(), "/"), file: c.CredentialFile, patience: awayPatience,
		http: &http.Client{
			Transport:     t,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// undialedError marks an exchange that never got a connection: nothing was sent.
type undialedError struct{ error }

func (e undialedError) Unwrap() error { return e.error }

func dialed(dial func(context.Context, string, string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, undialedError{err}
		}
		return c, nil
	}
}

// Client is a Caller whose bridge is another process. It goes through no proxy, follows no
// redirect, and sends the credential to that one address alone. It is safe for concurrent use.
type Client struct {
	address string // as the operator wrote it
	base    string
	file    string
	http    *http.Client

	ready struct {
		mu     sync.Mutex
		looked time.Time
		shown  Secret // the ship's credential at that time
		found  error
	}

	patience time.Duration // see absence
	absence  absence
}

// Do asks the bridge. A bridge that is being restarted is waited for, see tries. A write whose
// answer is lost is sent once more with the same key, which the bridge answers with what became of
// the first.
func (c *Client) Do(ctx context.Context, r Request) (json.RawMessage, error) {
	if r.writes() {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, clientTime)
	defer cancel()
	t := tries{client: c, pause: firstPause}
	for {
		answer, err := c.ask(ctx, r)
		if err == nil || !t.again(ctx, err) {
			return answer, t.outcome(r, err)
		}
	}
}

// ask shows the ship's credential, and once more where that has just been changed.
func (c *Client) ask(ctx context.Context, r Request) (json.RawMessage, error) {
	ship, err := c.credential(ctx)
	if err != nil {
		return nil, err
	}
	answer, err := c.send(ctx, r, ship)
	var e *api.Error
	if errors.As(err, &e) && e.Code == api.Unauthenticated && e.Reason == reasonShip {
		// A 401 proves that nothing was done.
		if now, err := c.credential(ctx); err == nil && !now.Equal(ship) {
			return c.send(ctx, r, now)
		}
	}
	return answer, err
}

// credential reads the ship's credential.
func (c *Client) credential(ctx context.Context) (Secret, error) {
	text, err := readSecret(ctx, c.file, noOthers)
	var secret Secret
	if err == nil {
		secret, err = parseToken(text, c.file)
	}
	var e *api.Error
	if errors.As(err, &e) { // it is the ship's own, and not the bridge's for a forge
		own := *e
		own.Message = strings.Replace(e.Message, "the bridge's credential", "this ship's credential for the bridge", 1)
		own.Hint = "ask the operator of this ship to put it right: what ship bridge grant printed belongs in that file, with mode 0600"
		return Secret{}, &own
	}
	return secret, err
}

// send asks once.
func (c *Client) send(ctx context.Context, r Request, ship Secret) (json.RawMessage, error) {
	way := &sending{writes: r.writes()}
	req, err := c.request(way.traced(ctx), r, way)
	if err != nil {
		return nil, err
	}
	// Revealed to the bridge that it was granted by.
	req.Header.Set("Authorization", "Bearer "+ship.Reveal())
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, brokenCall(r, way, err)
	}
	defer resp.Body.Close()
	way.sent.Store(true) // what answered may have passed the call on
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxClientAnswer+1))
	switch {
	case err != nil:
		return nil, brokenCall(r, way, err)
	case len(raw) > maxClientAnswer:
		return nil, foreign(r, "its answer is too large")
	case resp.StatusCode != http.StatusOK:
		if e := problemOf(resp, raw); e != nil {
			return nil, e
		}
		// What stands between us may have passed the call on.
		return nil, foreign(r, fmt.Sprintf("what answers at its address is no bridge (HTTP status %d)", resp.StatusCode))
	case resp.Header.Get("Content-Type") != jsonType || !json.Valid(raw):
		return nil, foreign(r, "its answer is no JSON")
	}
	return raw, nil
}

// request is r in HTTP.
func (c *Client) request(ctx context.Context, r Request, way *sending) (*http.Request, error) {
	for _, one := range routes() {
		if one.op != r.Op {
			continue
		}
		path := strings.NewReplacer("{repo}", url.PathEscape(r.Repo), "{number}", strconv.Itoa(r.Number)).Replace(one.path)
		if query := r.query().Encode(); query != "" {
			path += "?" + query
		}
		req, err := http.NewRequestWithContext(ctx, one.method, c.base+path, nil)
		if err != nil {
			return nil, internal(err)
		}
		req.Header.Set("Accept", jsonType+", "+api.ProblemType)
		req.Header.Set(api.HeaderWorkspace, url.PathEscape(r.Workspace))
		if one.method == http.MethodPost {
			raw, err := encode(api.Contribution{Body: r.Body, Event: r.Event, Head: r.Head})
			if err != nil {
				return nil, err
			}
			way.carry(req, raw)
			req.Header.Set("Content-Type", jsonType)
			req.Header.Set(api.HeaderKey, r.Key)
		}
		return req, nil
	}
	return nil, internal(fmt.Errorf("unknown operation %q", r.Op))
}

func (r *Request) query() url.Values {
	v := url.Values{}
	set := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	set("state", r.State)
	set("cursor", r.Cursor)
	set("ref", r.Target.Ref)
	set("branch", r.Target.Branch)
	set("sha", r.Target.SHA)
	if r.Target.Pull != 0 {
		set("pr", strconv.Itoa(r.Target.Pull))
	}
	return v
}
