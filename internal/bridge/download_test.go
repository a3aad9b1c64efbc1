package bridge

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// packed answers with n zero bytes, which shrink to next to nothing on the wire.
func packed(n int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.CopyN(z, zeros{}, n)
		_ = z.Close()
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// names is a resolver whose answers change: each look-up of a name takes its next answer, and the
// last one stays. Connections go where it is told, whatever the address.
type names struct {
	mu     sync.Mutex
	of     map[string][]string // "a b" is two addresses
	to     string              // where every connection is really made; "": nowhere
	dialed []string
}

func (n *names) network() network {
	return network{
		lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
			n.mu.Lock()
			defer n.mu.Unlock()
			answers := n.of[host]
			if len(answers) == 0 {
				return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
			}
			if len(answers) > 1 {
				n.of[host] = answers[1:]
			}
			var list []netip.Addr
			for text := range strings.FieldsSeq(answers[0]) {
				list = append(list, netip.MustParseAddr(text))
			}
			return list, nil
		},
		connect: func(ctx context.Context, at netip.AddrPort) (net.Conn, error) {
			n.mu.Lock()
			n.dialed = append(n.dialed, at.String())
			to := n.to
			n.mu.Unlock()
			if to == "" {
				return nil, errors.New("connection refused")
			}
			return (&net.Dialer{}).DialContext(ctx, "tcp", to)
		},
	}
}

func (n *names) connections() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.dialed, " ")
}

// secureLogs is a log's host with a certificate for example.com.
func secureLogs(t *testing.T, h http.Handler) (address string, roots *x509.CertPool) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that are meant to fail
	s.StartTLS()
	t.Cleanup(s.Close)
	roots = x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return s.Listener.Addr().String(), roots
}

func download(ctx context.Context, g *Guard, address string, limit int64) (string, error) {
	body, err := g.Download(ctx, address, limit)
	if err != nil {
		return "", err
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	return string(text), err
}

func TestALogIsReadWithoutAnyCredential(t *testing.T) {
	var got http.Header
	logs := serveOn(t, "127.0.0.2", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/first" {
			http.Redirect(w, r, "/job?sig=s3cr3t&part=2", http.StatusFound)
			return
		}
		got = r.Header
		_, _ = io.WriteString(w, "log of "+r.URL.RawQuery)
	}))
	g := guardOf(t, "http://127.0.0.1:1")
	text, err := download(t.Context(), g, logs.URL+"/first?sig=s3cr3t", 100)
	if err != nil || text != "log of sig=s3cr3t&part=2" {
		t.Errorf("Download = %q, %v", text, err)
	}
	for _, name := range []string{"Authorization", "Cookie", "Referer", "Private-Token"} {
		if got.Get(name) != "" {
			t.Errorf("the log's host got %s: %s", name, got.Get(name))
		}
	}
	for name, values := range got {
		if strings.Contains(strings.Join(values, " "), sentinel) {
			t.Errorf("the log's host got the credential in %s", name)
		}
	}
}

// Where a log may be, by where the API is. Nothing is dialled that isn't allowed.
func TestWhereALogMayBeHangsOnWhereTheAPIIs(t *testing.T) {
	logs, roots := secureLogs(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "log") }))
	addresses := map[string]string{ // of the log's host → what it is
		"140.82.112.9": "public", "2606:50c0::1": "public", "64:ff9b::8c52:7009": "public",
		"10.1.2.3": "private", "172.16.9.9": "private", "192.168.0.9": "private", "100.64.0.9": "private", "fd12::9": "private",
		"127.0.0.1": "loopback", "127.9.9.9": "loopback", "::1": "loopback", "::ffff:127.0.0.1": "loopback",
		"169.254.169.254": "never", "fe80::1": "never", "0.0.0.0": "never", "::": "never", "224.0.0.1": "never", "255.255.255.255": "never",
		"::ffff:169.254.169.254": "never", "64:ff9b::7f00:1": "never", "64:ff9b::a9fe:a9fe": "never", "2002:7f00:1::": "never",
		"2001::1": "never", "::7f00:1": "never", "203.0.113.7": "never", "240.0.0.1": "never", "ff02::1": "never",
	}
	apis := map[string]map[string]bool{ // address of the API → what a log's may be
		"140.82.112.3": {"public": true}, "2606:50c0::2": {"public": true},
		"10.0.0.1": {"public": true, "private": true}, "140.82.112.3 10.0.0.1": {"public": true, "private": true},
		"127.0.0.1": {"public": true, "loopback": true}, "127.0.0.1 140.82.112.3": {"public": true}, "140.82.112.3 127.0.0.1": {"public": true},
		"169.254.1.1": {"public": true},
	}
	for api, allowed := range apis {
		for address, kind := range addresses {
			n := &names{of: map[string][]string{"forge.example": {api}, "example.com": {address}}, to: logs}
			g := guardOf(t, "https://forge.example", func(c *GuardConfig) { c.RootCAs, c.network = roots, n.network() })
			text, err := download(t.Context(), g, "https://example.com/job?sig=s3cr3t", 100)
			if want := allowed[kind]; want != (err == nil) || want != (text == "log") || want != (n.connections() != "") {
				t.Errorf("an API at %s, a log at %s (%s): %q, %v, connected to %q, want ok %v", api, address, kind, text, err, n.connections(), want)
			}
			if err != nil && codeOf(err) != "forbidden/log_address" {
				t.Errorf("an API at %s, a log at %s: %v", api, address, err)
			}
		}
	}
}

func TestAnAddressWithinAnotherIsJudgedAsWhatItIs(t *testing.T) {
	for text, want := range map[string]reach{
		"::ffff:10.0.0.1": reachPrivate, "::ffff:127.0.0.1": reachLoopback, "::ffff:140.82.112.9": reachPublic,
		"::ffff:169.254.169.254": reachElsewhere, "::ffff:100.64.0.1": reachPrivate,
	} {
		if got := reachOf(netip.MustParseAddr(text)); got != want {
			t.Errorf("reachOf(%s) = %d, want %d", text, got, want)
		}
	}
}

func TestALogsAddressIsJudgedByItsSpellingToo(t *testing.T) {
	cases := map[string]struct{ fromPublic, fromLoopback bool }{
		"http://140.82.112.9/job":          {false, false},
		"http://127.0.0.1/job":             {false, true},
		"https://127.0.0.1/job":            {false, true},
		"https://140.82.112.9/job":         {true, true},
		"https://user:pw@140.82.112.9/job": {false, false},
		"ftp://140.82.112.9/job":           {false, false},
		"file:///etc/passwd":               {false, false},
		"https:///job":                     {false, false},
		"https:job":                        {false, false},
		"/job":                             {false, false},
		"":                                 {false, false},
		"https://[fe80::1%25eth0]/job":     {false, false},
		"https://exa mple/":                {false, false},
		"https://forge.example/repos/acme/other/logs": {false, false},
	}
	for address, want := range cases {
		for api, ok := range map[string]bool{"140.82.112.3": want.fromPublic, "127.0.0.1": want.fromLoopback} {
			n := &names{of: map[string][]string{"forge.example": {api}}}
			g := guardOf(t, "https://forge.example", func(c *GuardConfig) { c.network = n.network() })
			_, err := download(t.Context(), g, address, 100)
			if (n.connections() != "") != ok || (!ok && codeOf(err) != "forbidden/log_address") {
				t.Errorf("an API at %s, Download(%q) = %v, connected to %q, want a connection %v", api, address, err, n.connections(), ok)
			}
		}
	}
}

// A name may give a public address when it is judged and a loopback one when it is dialled.
func TestANameThatChangesItsMindGainsNothing(t *testing.T) {
	logs, roots := secureLogs(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "log") }))
	n := &names{of: map[string][]string{
		"forge.example": {"140.82.112.3"},
		"example.com":   {"140.82.112.9", "127.0.0.1", "140.82.112.9 127.0.0.1 10.0.0.1"},
	}, to: logs}
	g := guardOf(t, "https://forge.example", func(c *GuardConfig) { c.RootCAs, c.network = roots, n.network() })
	if text, err := download(t.Context(), g, "https://example.com/job", 100); err != nil || text != "log" {
		t.Errorf("the first download = %q, %v", text, err)
	}
	if _, err := download(t.Context(), g, "https://example.com/job", 100); codeOf(err) != "forbidden/log_address" {
		t.Errorf("the second download = %v", err)
	}
	n.to = ""
	if _, err := download(t.Context(), g, "https://example.com/job", 100); err == nil {
		t.Error("the third download came from nowhere")
	}
	if n.connections() != "140.82.112.9:443 140.82.112.9:443" {
		t.Errorf("connections were made to %s", n.connections())
	}
}

func TestARedirectOfALogIsJudgedLikeItsAddress(t *testing.T) {
	to := ""
	logs, roots := secureLogs(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	}))
	for location, want := range map[string]string{
		"http://example.com/job":         "forbidden/log_address",
		"https://inside.example/job":     "forbidden/log_address",
		"https://169.254.169.254/latest": "forbidden/log_address",
		"https://forge.example/user":     "forbidden/log_address",
		"https://[::1/%zz":               "forbidden/log_address",
		"/again":                         "forbidden/log_address",
		"":                               "unavailable/log_answer",
	} {
		to = location
		n := &names{of: map[string][]string{
			"forge.example": {"140.82.112.3"}, "example.com": {"140.82.112.9"}, "inside.example": {"10.0.0.1"},
		}, to: logs}
		g := guardOf(t, "https://forge.example", func(c *GuardConfig) { c.RootCAs, c.network = roots, n.network() })
		if _, err := download(t.Context(), g, "https://example.com/job", 100); codeOf(err) != want {
			t.Errorf("to %q: Download = %v, want %s", location, err, want)
		}
		if c := n.connections(); strings.ReplaceAll(strings.ReplaceAll(c, "140.82.112.9:443", ""), " ", "") != "" {
			t.Errorf("to %q: connections were made to %s", location, c)
		}
	}
}

// http to the API is for loopback: a name that only looks like it gets no credential.
func TestAnAPINameThatIsNotOnLoopbackAfterAllGetsNothing(t *testing.T) {
	var own record
	s := serveOn(t, "127.0.0.1", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { own.note(r) }))
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	for addresses, want := range map[string]string{"10.0.0.1": "", "140.82.112.3": "", "140.82.112.3 127.0.0.1": "127.0.0.1:" + port, "127.0.0.1": "127.0.0.1:" + port} {
		n := &names{of: map[string][]string{"forge.localhost": {addresses}}, to: s.Listener.Addr().String()}
		api := "http://forge.localhost:" + port
		g := guardOf(t, api, func(c *GuardConfig) { c.network = n.network() })
		_, _, err := ask(t.Context(), g, "GET", api+"/repos/a/b", "")
		if n.connections() != want || (err == nil) != (want != "") || (err != nil && codeOf(err) != "unavailable/unreachable") {
			t.Errorf("at %s: GET = %v, connected to %q, want %q", addresses, err, n.connections(), want)
		}
	}
}

func TestALogOverItsLimitFailsLoudly(t *testing.T) {
	for name, h := range map[string]http.Handler{
		"declared": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1001")
			_, _ = io.CopyN(w, zeros{}, 1001)
		}),
		"streamed": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush()
			_, _ = io.CopyN(w, zeros{}, 1001)
		}),
		"packed": packed(1001),
	} {
		logs := serveOn(t, "127.0.0.2", h)
		g := guardOf(t, "http://127.0.0.1:1")
		if text, err := download(t.Context(), g, logs.URL+"/job", 1000); codeOf(err) != "unavailable/log_too_large" || len(text) > 1000 {
			t.Errorf("%s: Download = %d bytes, %v", name, len(text), err)
		}
		if text, err := download(t.Context(), g, logs.URL+"/job", 1001); err != nil || len(text) != 1001 {
			t.Errorf("%s: within the limit Download = %d bytes, %v", name, len(text), err)
		}
		if len(g.downloads) != 0 {
			t.Errorf("%s: %d places are still taken", name, len(g.downloads))
		}
	}
}

// The address of a log opens it, for whoever has it.
func TestNoErrorNamesALogsAddress(t *testing.T) {
	cut := newWire(t, func(w *wire, _ int, conn net.Conn) {
		w.take(bufio.NewReader(conn))
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
	})
	babble := newWire(t, func(w *wire, _ int, conn net.Conn) {
		w.take(bufio.NewReader(conn))
		_, _ = io.WriteString(conn, "GET /job?sig=s3cr3t\r\n\r\n")
	})
	closed := newWire(t, func(*wire, int, net.Conn) {})
	slow := serveOn(t, "127.0.0.2", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	status := serveOn(t, "127.0.0.2", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var code int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &code)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, r.URL.String())
	}))
	cases := map[string]string{
		cut.url + "/job":          "unavailable/connection_broken",
		babble.url + "/job":       "unavailable/connection_broken",
		closed.url + "/job":       "unavailable/connection_broken",
		slow.URL + "/slow":        "unavailable/timeout",
		status.URL + "/404":       "not_found/log_gone",
		status.URL + "/410":       "not_found/log_gone",
		status.URL + "/403":       "unavailable/log_address_refused",
		status.URL + "/500":       "unavailable/log_answer",
		status.URL + "/206":       "unavailable/log_answer",
		"http://127.0.0.3:1/job":  "unavailable/connection_broken",
		"http://s3cr3t.invalid/":  "unavailable/connection_broken",
		"https://127.0.0.2:1/job": "unavailable/connection_broken",
		"gopher://127.0.0.2/job":  "forbidden/log_address",
	}
	g := guardOf(t, "http://127.0.0.1:1", func(c *GuardConfig) {
		c.network.lookup = func(_ context.Context, host string) ([]netip.Addr, error) {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
	})
	for address, want := range cases {
		patience := 10 * time.Second
		if strings.HasSuffix(address, "/slow") {
			patience = 50 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := download(ctx, g, address+"?sig=s3cr3t", 1000)
		cancel()
		if codeOf(err) != want {
			t.Errorf("Download(%s) = %v, want %s", address, err, want)
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			if text := fmt.Sprintf("%v %+v %#v", e, e, e); strings.Contains(text, "s3cr3t") || strings.Contains(text, "127.0.0") {
				t.Errorf("Download(%s): the error names the address: %s", address, text)
			}
		}
	}
}

// BenchmarkDownload is the speed at which a log streams through, of 100 MB.
func BenchmarkDownload(b *testing.B) {
	const size = 100 << 20
	logs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.CopyN(w, zeros{}, size) }))
	defer logs.Close()
	api, _ := url.Parse("http://127.0.0.1:1")
	g, err := NewGuard(GuardConfig{API: api})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		body, err := g.Download(b.Context(), logs.URL+"/job", size)
		if err != nil {
			b.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, body); err != nil || n != size {
			b.Fatal(n, err)
		}
		_ = body.Close()
	}
}
