package bridge

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"fleet/api"
)

func TestHTTPSIsNotGivenUpForHTTP(t *testing.T) {
	var own record
	address, roots := secureLogs(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		own.note(r)
		w.Header().Set("Location", "http://example.com:443/repositories/77/issues")
		w.WriteHeader(http.StatusTemporaryRedirect)
	}))
	n := &names{of: map[string][]string{"example.com": {"140.82.112.3"}}, to: address}
	g := guardOf(t, "https://example.com", func(c *GuardConfig) { c.RootCAs, c.network = roots, n.network() })
	if err := g.Learn("acme/widgets", 77); err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"GET", "POST"} {
		ctx := WithWrite(t.Context())
		_, _, err := ask(ctx, g, method, "https://example.com/repos/acme/widgets/issues", "")
		if codeOf(err) != "forbidden/redirect_refused" || unclear(ctx) {
			t.Errorf("%s = %v, may be done %v", method, err, unclear(ctx))
		}
	}
	if own.all() != "GET /repos/acme/widgets/issues; POST /repos/acme/widgets/issues" || own.signatures() != "Bearer "+sentinel+"; Bearer "+sentinel {
		t.Errorf("the forge saw %s, signed %s", own.all(), own.signatures())
	}
}

func TestAForgeThatCannotShowItsCertificateIsSentNothing(t *testing.T) {
	var own record
	address, roots := secureLogs(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { own.note(r) }))
	plain := newWire(t, func(_ *wire, _ int, conn net.Conn) {
		_, _ = io.CopyN(io.Discard, conn, 5)
		_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
	})
	for name, tc := range map[string]struct {
		host, to, cause string
		trusted         bool
	}{
		"unknown authority": {"example.com", address, "its certificate is signed by an unknown authority", false},
		"another name":      {"forge.test", address, "its certificate is for another host", true},
		"no TLS":            {"example.com", strings.TrimPrefix(plain.url, "http://"), "no TLS connection could be made", true},
	} {
		n := &names{of: map[string][]string{tc.host: {"140.82.112.3"}}, to: tc.to}
		g := guardOf(t, "https://"+tc.host, func(c *GuardConfig) {
			if c.network = n.network(); tc.trusted {
				c.RootCAs = roots
			}
		})
		ctx := WithWrite(t.Context())
		_, _, err := ask(ctx, g, "POST", "https://"+tc.host+commentPath, "{}")
		var e *api.Error
		if codeOf(err) != "unavailable/unreachable" || unclear(ctx) || !errors.As(err, &e) || e.Err.Error() != tc.cause {
			t.Errorf("%s: POST = %v, may be done %v", name, err, unclear(ctx))
			if e != nil {
				t.Errorf("%s: the cause is %v, want %s", name, e.Err, tc.cause)
			}
		}
	}
	if own.all() != "" {
		t.Errorf("the forge saw %s", own.all())
	}
}

// One dead address of several must not cost a request.
func TestTheNextAddressIsTriedWhereOneIsDead(t *testing.T) {
	var own record
	s := serveOn(t, "127.0.0.1", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { own.note(r) }))
	n := &names{of: map[string][]string{"forge.localhost": {"127.0.0.9 ::1 127.0.0.1"}}, to: s.Listener.Addr().String()}
	working := n.network()
	dead := working
	dead.connect = func(ctx context.Context, at netip.AddrPort) (net.Conn, error) {
		if at.Addr().String() != "127.0.0.1" {
			return nil, errors.New("no route to host")
		}
		return working.connect(ctx, at)
	}
	g := guardOf(t, "http://forge.localhost", func(c *GuardConfig) { c.network = dead })
	if _, _, err := ask(WithWrite(t.Context()), g, "POST", "http://forge.localhost"+commentPath, "{}"); err != nil || own.all() != "POST "+commentPath+" {}" {
		t.Errorf("POST = %v, and the forge saw %q", err, own.all())
	}
}
