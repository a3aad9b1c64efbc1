//go:build e2e

package conformance_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
)

// endpoint is one workspace's MCP server and the token that opens it.
type endpoint struct{ url, token string }

// withToken gives a URL behind which the endpoint stands open: the suite can send no token. All
// else reaches the ship as it was sent, Host and Origin too, which the suite tries.
func withToken(t *testing.T, at endpoint) string {
	t.Helper()
	target, err := url.Parse(at.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
			r.Out.URL.Path, r.Out.URL.RawPath = target.Path, target.RawPath
			r.Out.Host = r.In.Host
			r.Out.Header.Set("Authorization", "Bearer "+at.token)
		},
	}
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// net/http closes a request's body once its answer begins. A proxy that still looks for the
		// body's end then drops its connection to the ship, and the answer with it.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client is gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(far.Close)
	return far.URL + "/mcp"
}
