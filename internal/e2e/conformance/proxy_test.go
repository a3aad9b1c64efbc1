//go:build e2e

package conformance_test

import (
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
	far := httptest.NewServer(&httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
			r.Out.URL.Path, r.Out.URL.RawPath = target.Path, target.RawPath
			r.Out.Host = r.In.Host
			r.Out.Header.Set("Authorization", "Bearer "+at.token)
		},
	})
	t.Cleanup(far.Close)
	return far.URL + "/mcp"
}
