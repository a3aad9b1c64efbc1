package bridge

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"sync"
	"time"

	"fleet/api"
)

const (
	downloadDeadline = 45 * time.Second
	downloadHops     = 3
)

// Download fetches what a forge's signed address leads to, such as a job's log: from any https host
// with a public address, from a private one where the API's own address is private, and from
// loopback, by http too, where the API is on loopback. It sends no credential and no Referer, gives
// at most max bytes, unpacked, and fails when there are more. The address is a secret by itself: no
// error names it. Errors are *api.Error, NotFound where there is nothing (any more). The caller
// closes what he gets; it ends with ctx, and after 45 s.
func (g *Guard) Download(ctx context.Context, address string, max int64) (io.ReadCloser, error) {
	at, err := url.Parse(address)
	if err != nil {
		return nil, refusedDownload("is none")
	}
	ctx, cancel := context.WithTimeout(ctx, downloadDeadline)
	if err := g.acquire(ctx, g.downloads); err != nil {
		cancel()
		return nil, err
	}
	done := sync.OnceFunc(func() {
		<-g.downloads
		cancel()
	})
	body, err := g.download(ctx, at, max)
	if err != nil {
		done()
		return nil, err
	}
	return &downloadBody{capped: capped{inner: body, left: max, over: func() error { return tooMuch(max) }}, inner: body, done: done}, nil
}

func (g *Guard) download(ctx context.Context, at *url.URL, max int64) (io.ReadCloser, error) {
	from, err := g.apiReach(ctx)
	if err != nil {
		return nil, transportFault(false, false, causeOf(err))
	}
	for range downloadHops {
		if err := g.admit(at, from); err != nil {
			return nil, err
		}
		resp, err := g.fetch(ctx, at, from)
		if err != nil {
			return nil, downloadFault(err)
		}
		if resp.StatusCode == http.StatusOK {
			if resp.ContentLength > max {
				_ = resp.Body.Close()
				return nil, tooMuch(max)
			}
			return resp.Body, nil
		}
		location := resp.Header.Get("Location")
		discard(resp)
		if resp.StatusCode/100 != 3 || location == "" {
			return nil, refusedAnswer(resp.StatusCode)
		}
		if at, err = at.Parse(location); err != nil {
			return nil, refusedDownload("leads to an address that is none")
		}
	}
	return nil, refusedDownload("leads to ever other addresses")
}

// fetch sends one request, over a connection of its own.
func (g *Guard) fetch(ctx context.Context, at *url.URL, from origin) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, refusedDownload("is none")
	}
	transport := newTransport(at, g.network, g.roots, freshConnections)
	transport.ReadBufferSize = 64 << 10
	transport.DialContext = func(ctx context.Context, _, address string) (net.Conn, error) {
		return g.network.dial(ctx, address, func(a netip.Addr) bool { return from.reaches(at, a) })
	}
	return transport.RoundTrip(req)
}

// origin is where the API is, which decides where its logs may be.
type origin struct{ loopback, private bool }

// apiReach looks the API up. An API is on loopback if it is there with every address, and private
// if it is with any: inside a network, a name often has a public address beside the private one.
func (g *Guard) apiReach(ctx context.Context) (origin, error) {
	found, err := g.network.addresses(ctx, g.api.Hostname())
	if err != nil {
		return origin{}, err
	}
	o := origin{loopback: len(found) > 0}
	for _, a := range found {
		o.loopback = o.loopback && reachOf(a) == reachLoopback
		o.private = o.private || reachOf(a) == reachPrivate
	}
	return o, nil
}

// admit judges an address by its spelling, before anything is looked up.
func (g *Guard) admit(at *url.URL, o origin) error {
	switch {
	case g.ownAddress(at):
		return refusedDownload("is of its own API")
	case at.Hostname() == "" || at.User != nil || at.Opaque != "":
		return refusedDownload("is none")
	case at.Scheme == "https", at.Scheme == "http" && o.loopback:
		return nil
	default:
		return refusedDownload("is not https")
	}
}

// reaches judges the address that is about to be dialled. What goes unencrypted stays on loopback.
func (o origin) reaches(at *url.URL, a netip.Addr) bool {
	switch reachOf(a) {
	case reachPublic:
		return at.Scheme == "https"
	case reachPrivate:
		return o.private // by https: see admit
	case reachLoopback:
		return o.loopback
	default:
		return false
	}
}

// downloadBody ends its download when it is closed or read to its end.
type downloadBody struct {
	capped
	inner io.Closer
	done  func()
}

func (b *downloadBody) Read(p []byte) (int, error) {
	n, err := b.capped.Read(p)
	if err == nil {
		return n, nil
	}
	defer b.done()
	if err != io.EOF {
		err = downloadFault(err)
	}
	return n, err
}

func (b *downloadBody) Close() error {
	defer b.done()
	return b.inner.Close()
}

func downloadFault(err error) error {
	var known *api.Error
	if errors.As(err, &known) {
		return known
	}
	cause := causeOf(err)
	if errors.Is(cause, errAddress) {
		return refusedDownload("is not one that it may connect to")
	}
	e := transportFault(false, true, cause)
	if e.Message = "the log could not be fetched"; e.Reason == "timeout" {
		e.Message = "the log did not come in time"
	}
	return e
}

func refusedDownload(why string) *api.Error {
	return &api.Error{
		Code: api.Forbidden, Reason: "log_address",
		Message: "the forge gave the bridge an address for the log that " + why,
		Hint:    "read the log on the forge's own page",
	}
}

func refusedAnswer(status int) *api.Error {
	switch status {
	case http.StatusNotFound, http.StatusGone:
		return &api.Error{Code: api.NotFound, Reason: "log_gone", Message: "the log is not there"}
	case http.StatusUnauthorized, http.StatusForbidden:
		return &api.Error{
			Code: api.Unavailable, Reason: "log_address_refused",
			Message: "the log's address has expired or is not accepted", Hint: "try again",
		}
	default:
		return &api.Error{
			Code: api.Unavailable, Reason: "log_answer", Hint: "try again in a minute",
			Message: "the log's host answered with HTTP " + strconv.Itoa(status),
		}
	}
}

func tooMuch(max int64) error {
	return &api.Error{
		Code: api.Unavailable, Reason: "log_too_large",
		Message: "the log is over " + strconv.FormatInt(max, 10) + " bytes", Hint: "read the log on the forge's own page",
	}
}
