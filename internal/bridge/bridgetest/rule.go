package bridgetest

import (
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Rule makes certain requests go wrong. What it does is chosen by the method that ends the
// sentence: g.When("POST", "/repos/*/*/issues/*/comments").Times(1).CutAfter(100).
type Rule struct {
	gh      *GitHub
	method  string
	pattern string
	left    int // requests that it still applies to; far below 0: without end
	hits    int
	ready   bool
	small   bool
	before  bool // the request is not looked at: what it asks for is not done
	act     func(w http.ResponseWriter, req *http.Request, answer []byte, end <-chan struct{})
}

// When chooses requests: by method ("": any) and by the path below the API's base, in which *
// stands for one part, and whose query is left aside. A repository's number is no path here: it
// is /repos/OWNER/NAME whatever the request said. "" chooses all. Rules made last come first.
func (g *GitHub) When(method, pattern string) *Rule {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := &Rule{gh: g, method: method, pattern: pattern, left: -1}
	g.rules = append(g.rules, r)
	return r
}

// Times bounds how many requests it applies to.
func (r *Rule) Times(n int) *Rule {
	r.gh.mu.Lock()
	defer r.gh.mu.Unlock()
	r.left = n
	return r
}

// Small reduces a comment's answer to the fields that GitHub's description requires, and to few
// headers, for tests that cut it at each byte.
func (r *Rule) Small() *Rule {
	r.gh.mu.Lock()
	defer r.gh.mu.Unlock()
	r.small = true
	return r
}

func (r *Rule) shrink(answer *reply) {
	body, ok := answer.body.(object)
	if r == nil || !r.small || !ok {
		return
	}
	for name := range body {
		if !slices.Contains([]string{"id", "node_id", "html_url", "user", "url", "created_at", "updated_at", "issue_url"}, name) {
			delete(body, name)
		}
	}
	body["user"] = nil
}

func (r *Rule) strip(answer *reply) {
	if r != nil && r.small {
		answer.header = http.Header{"Content-Type": answer.header["Content-Type"]}
	}
}

// Hits says how many requests it applied to so far.
func (r *Rule) Hits() int {
	r.gh.mu.Lock()
	defer r.gh.mu.Unlock()
	return r.hits
}

// End takes the rule back.
func (r *Rule) End() { r.Times(0) }

// ruleFor gives the rule for a request; nil: none. It is called with mu held.
func (g *GitHub) ruleFor(c *call) *Rule {
	for i := len(g.rules) - 1; i >= 0; i-- {
		r := g.rules[i]
		if !r.ready || r.left == 0 || r.method != "" && r.method != c.req.Method || !matches(r.pattern, c.named()) {
			continue
		}
		r.hits++
		if r.left--; r.left == 0 {
			g.rules = slices.Delete(g.rules, i, i+1)
		}
		return r
	}
	return nil
}

func matches(pattern, at string) bool {
	found, err := path.Match(pattern, at)
	return pattern == "" || err == nil && found
}

// named is the request's path with the repository by its name.
func (c *call) named() string {
	if rest, ok := strings.CutPrefix(c.path, "/repositories/"); ok && c.repo != nil {
		_, rest, _ = strings.Cut(rest, "/")
		return strings.TrimSuffix("/repos/"+c.repo.path()+"/"+rest, "/")
	}
	return c.path
}

func (r *Rule) stores() bool { return r == nil || !r.before }

func (r *Rule) does(before bool, act func(http.ResponseWriter, *http.Request, []byte, <-chan struct{})) *Rule {
	r.gh.mu.Lock()
	defer r.gh.mu.Unlock()
	r.before, r.act, r.ready = before, act, true
	return r
}

// Measure does what is asked for, answers in good order, and stores how many bytes that takes.
func (r *Rule) Measure(length *atomic.Int64) *Rule {
	return r.does(false, func(w http.ResponseWriter, _ *http.Request, answer []byte, _ <-chan struct{}) {
		length.Store(int64(len(answer)))
		onWire(w, func(c net.Conn) { _, _ = c.Write(answer) })
	})
}

// CutAfter does what is asked for, and ends the connection after so many bytes of the answer.
func (r *Rule) CutAfter(bytes int) *Rule {
	return r.does(false, func(w http.ResponseWriter, _ *http.Request, answer []byte, _ <-chan struct{}) {
		onWire(w, func(c net.Conn) { _, _ = c.Write(answer[:min(bytes, len(answer))]) })
	})
}

// ResetAfter is CutAfter with a reset in place of an orderly end.
func (r *Rule) ResetAfter(bytes int) *Rule {
	return r.does(false, func(w http.ResponseWriter, _ *http.Request, answer []byte, _ <-chan struct{}) {
		onWire(w, func(c net.Conn) {
			_, _ = c.Write(answer[:min(bytes, len(answer))])
			reset(c)
		})
	})
}

// HalfJSON does what is asked for, and answers in good order with the first half of the body.
func (r *Rule) HalfJSON() *Rule {
	return r.does(false, func(w http.ResponseWriter, _ *http.Request, answer []byte, _ <-chan struct{}) {
		status, header, body := unwire(answer)
		header.Del("ETag")
		onWire(w, func(c net.Conn) { _, _ = c.Write(wire(status, header, body[:len(body)/2])) })
	})
}

// Slow does what is asked for, and sends the answer in pieces with pauses between them.
func (r *Rule) Slow(piece int, pause time.Duration) *Rule {
	return r.does(false, func(w http.ResponseWriter, _ *http.Request, answer []byte, end <-chan struct{}) {
		onWire(w, func(c net.Conn) {
			for len(answer) > 0 && wait(pause, end) {
				n := min(piece, len(answer))
				if _, err := c.Write(answer[:n]); err != nil {
					return
				}
				answer = answer[n:]
			}
		})
	})
}

// Stall does what is asked for, and never answers.
func (r *Rule) Stall() *Rule { return r.does(false, stall) }

// StallBefore does nothing, and never answers.
func (r *Rule) StallBefore() *Rule { return r.does(true, stall) }

func stall(w http.ResponseWriter, req *http.Request, _ []byte, end <-chan struct{}) {
	select {
	case <-end:
	case <-req.Context().Done():
	}
	onWire(w, reset)
}

// DropBefore ends the connection without doing what is asked for.
func (r *Rule) DropBefore() *Rule {
	return r.does(true, func(w http.ResponseWriter, _ *http.Request, _ []byte, _ <-chan struct{}) { onWire(w, reset) })
}

// FailAfter does what is asked for, and answers with a status all the same.
func (r *Rule) FailAfter(status int) *Rule {
	return r.does(false, func(w http.ResponseWriter, _ *http.Request, _ []byte, _ <-chan struct{}) { page(w, status) })
}

// Page does nothing, and answers with a page of HTML, as what stands before GitHub does.
func (r *Rule) Page(status int) *Rule {
	return r.does(true, func(w http.ResponseWriter, _ *http.Request, _ []byte, _ <-chan struct{}) { page(w, status) })
}

// Answer does nothing, and answers with this.
func (r *Rule) Answer(status int, header map[string]string, body string) *Rule {
	return r.does(true, func(w http.ResponseWriter, _ *http.Request, _ []byte, _ <-chan struct{}) {
		h := http.Header{"Content-Type": {"application/json; charset=utf-8"}}
		for name, value := range header {
			h.Set(name, value)
		}
		onWire(w, func(c net.Conn) { _, _ = c.Write(wire(status, h, []byte(body))) })
	})
}

// Redirect does nothing, and leads elsewhere.
func (r *Rule) Redirect(status int, location string) *Rule {
	return r.Answer(status, map[string]string{"Location": location}, `{"message":"Moved"}`)
}

func page(w http.ResponseWriter, status int) {
	body := "<html><head><title>" + http.StatusText(status) + "</title></head><body><h1>Unicorn!</h1></body></html>"
	h := http.Header{"Content-Type": {"text/html; charset=utf-8"}}
	onWire(w, func(c net.Conn) { _, _ = c.Write(wire(status, h, []byte(body))) })
}
