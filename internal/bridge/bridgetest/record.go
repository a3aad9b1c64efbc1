package bridgetest

import (
	"net/http"
	"strings"
)

// Request is a request as the stand-in got it.
type Request struct {
	Method string
	Host   string
	Path   string // below the API's base, escaped
	Query  string
	Header http.Header // Authorization too
	Body   string
}

func recorded(c *call) Request {
	return Request{
		Method: c.req.Method, Host: c.req.Host, Path: c.path, Query: c.req.URL.RawQuery,
		Header: c.req.Header.Clone(), Body: string(c.body),
	}
}

// Requests are the requests of the API so far, in their order.
func (g *GitHub) Requests() []Request {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]Request(nil), g.requests...)
}

// Count says how many requests with this method ("": any) had a path that ends like this.
func (g *GitHub) Count(method, end string) int {
	n := 0
	for _, r := range g.Requests() {
		if (method == "" || r.Method == method) && strings.HasSuffix(r.Path, end) {
			n++
		}
	}
	return n
}
