package bridge

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

const (
	dialTimeout   = 10 * time.Second
	attemptLimit  = 3 * time.Second // for one of several addresses
	maxAddresses  = 8
	headerTimeout = 30 * time.Second
)

// errAddress is what a dial to an address that isn't allowed ends with.
var errAddress = errors.New("the address is not one that the bridge may connect to")

// network is how names are looked up and connections made. The zero network is the real one.
type network struct {
	lookup  func(ctx context.Context, host string) ([]netip.Addr, error)
	connect func(ctx context.Context, at netip.AddrPort) (net.Conn, error)
}

func (n network) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a.Unmap()}, nil
	}
	lookup := n.lookup
	if lookup == nil {
		lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	found, err := lookup(ctx, host)
	for i := range found {
		found[i] = found[i].Unmap()
	}
	return found, err
}

// dial looks a name up once and connects to one of the very addresses that were judged, so that a
// name which changes its mind in between gains nothing.
func (n network) dial(ctx context.Context, address string, allowed func(netip.Addr) bool) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	number, err := net.DefaultResolver.LookupPort(ctx, "tcp", port)
	if err != nil {
		return nil, err
	}
	found, err := n.addresses(ctx, host)
	if err != nil {
		return nil, err
	}
	fault := errAddress
	for i, a := range found[:min(len(found), maxAddresses)] {
		if !allowed(a) {
			continue
		}
		conn, err := n.attempt(ctx, netip.AddrPortFrom(a, uint16(number)), i+1 == len(found))
		if err == nil {
			return conn, nil
		}
		fault = err
	}
	return nil, fault
}

func (n network) attempt(ctx context.Context, at netip.AddrPort, last bool) (net.Conn, error) {
	if !last {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, attemptLimit)
		defer cancel()
	}
	if n.connect != nil {
		return n.connect(ctx, at)
	}
	return (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext(ctx, "tcp", at.String())
}

// Whether a transport keeps its connections.
const (
	keptConnections = false
	// A connection for each request: then none can be found dead, and net/http has no reason to
	// send a request again.
	freshConnections = true
)

// newTransport reaches an API, directly: a proxy of the environment would see where we go, and for
// http what we say.
func newTransport(api *url.URL, n network, roots *x509.CertPool, fresh bool) *http.Transport {
	allowed := func(netip.Addr) bool { return true }
	if api.Scheme == "http" {
		allowed = netip.Addr.IsLoopback
	}
	// Not HTTP/2: its client sends requests again by rules of its own, and GODEBUG can make it
	// print every header.
	var onlyHTTP1 http.Protocols
	onlyHTTP1.SetHTTP1(true)
	return &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return n.dial(ctx, address, allowed)
		},
		TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		Protocols:              &onlyHTTP1,
		DisableKeepAlives:      fresh,
		MaxIdleConnsPerHost:    parallelCalls,
		IdleConnTimeout:        60 * time.Second,
		TLSHandshakeTimeout:    dialTimeout,
		ResponseHeaderTimeout:  headerTimeout,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// isLoopbackHost says that a URL's host is this machine by its spelling; what it resolves to is
// judged once more when it is dialled.
func isLoopbackHost(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().IsLoopback()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// sameOrigin compares scheme, host and port.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"https": "443", "http": "80"}[u.Scheme]
}
