package github

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	gh "github.com/google/go-github/v89/github"

	"fleet/api"
	"fleet/internal/bridge"
)

// get reads one page or object.
func (p *Provider) get(ctx context.Context, address string, into any) (links, error) {
	header, err := p.send(ctx, http.MethodGet, address, nil, into)
	return linksOf(header), err
}

// send is the one way to the forge. Where the repository has moved and the guard refused to follow
// since it did not know the repository's number, nothing was done: it learns the number, and asks
// once more.
func (p *Provider) send(ctx context.Context, method, address string, body, into any) (http.Header, error) {
	header, err := p.exchange(ctx, method, address, body, into)
	var moved *api.Error
	if !errors.As(err, &moved) || moved.Reason != "repo_moved" {
		return header, err
	}
	at, ok := placeIn(address)
	if !ok {
		return header, err
	}
	if _, known := p.learned.Load(at.Path); known {
		return header, err
	}
	if _, learnErr := p.repository(ctx, at); learnErr != nil {
		return header, err
	}
	return p.exchange(ctx, method, address, body, into)
}

// placeIn finds the repository in an address of under.
func placeIn(address string) (place, bool) {
	base, rest, ok := strings.Cut(address, "/repos/")
	parts := strings.SplitN(rest, "/", 3)
	if !ok || len(parts) < 3 {
		return place{}, false
	}
	u, err := url.Parse(base + "/")
	if err != nil {
		return place{}, false
	}
	at, err := placeOf(bridge.Repo{Name: parts[0] + "/" + parts[1], Path: parts[0] + "/" + parts[1], APIURL: u})
	return at, err == nil
}

// request makes what is sent, and sends nothing.
func (p *Provider) request(ctx context.Context, method, address string, body any) (*http.Request, error) {
	if p.broken != nil {
		return nil, &api.Error{Code: api.Internal, Reason: "client", Message: "the bridge could not set up its GitHub client", Err: p.broken}
	}
	req, err := p.client.NewRequest(ctx, method, address, body)
	if err != nil {
		return nil, &api.Error{Code: api.Invalid, Reason: "bad_request", Message: "this does not make an address on GitHub", Err: err}
	}
	req.Header.Set("Accept", accept)
	return req, nil
}

func (p *Provider) exchange(ctx context.Context, method, address string, body, into any) (http.Header, error) {
	write := method != http.MethodGet && !strings.HasSuffix(address, "/graphql")
	req, err := p.request(ctx, method, address, body)
	if err != nil {
		return nil, err
	}
	resp, err := p.client.BareDo(req)
	if err != nil {
		return headerOf(resp), p.fault(ctx, write, resp, err)
	}
	defer func() { _ = resp.Body.Close() }()
	// Read to its end: only then may the guard remember the answer, and its connection be used again.
	raw, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(maskJSON(raw, p.guard.Mask), into)
	}
	if err != nil {
		return resp.Header, unreadable(ctx, write, err)
	}
	return resp.Header, nil
}

func headerOf(resp *gh.Response) http.Header {
	if resp == nil || resp.Response == nil {
		return nil
	}
	return resp.Header
}

// unreadable is a good answer that breaks off, or makes no sense: what was written was written.
func unreadable(ctx context.Context, write bool, err error) error {
	var known *api.Error
	if write && !errors.As(err, &known) {
		return noAnswer(err)
	}
	return bridge.AsError(ctx, err)
}

// noAnswer is a good status whose text does not say that the forge has what was sent: what stands
// before a forge answers so too.
func noAnswer(err error) *api.Error {
	return &api.Error{
		Code: api.OutcomeUnknown, Reason: "bad_answer", Message: "the forge's answer could not be understood: it may have been done",
		Hint: "look at the issue or pull request before you try again", Err: err,
	}
}

// walk reads a list page by page, as the forge's own links lead, until take has had enough, the
// list ends or the given number of pages was read. It gives the address of the page after that,
// or "" at the end.
func walk[T any](ctx context.Context, p *Provider, address string, pages int, take func(address string, page T) bool) (next string, err error) {
	for range pages {
		var page T
		l, err := p.get(ctx, address, &page)
		if err != nil {
			return "", err
		}
		if more := take(address, page); !more || l.next == "" {
			return l.next, nil
		}
		address = l.next
	}
	return address, nil
}

// links are the addresses in a Link header (RFC 8288). They are followed as they stand: past
// 10,000 items GitHub refuses page numbers and gives cursors instead.
type links struct{ next, prev, last string }

func linksOf(h http.Header) links {
	var l links
	for part := range strings.SplitSeq(strings.Join(h.Values("Link"), ","), "<") {
		address, rest, ok := strings.Cut(part, ">")
		if !ok {
			continue
		}
		switch {
		case strings.Contains(rest, `rel="next"`):
			l.next = address
		case strings.Contains(rest, `rel="prev"`):
			l.prev = address
		case strings.Contains(rest, `rel="last"`):
			l.last = address
		}
	}
	return l
}
