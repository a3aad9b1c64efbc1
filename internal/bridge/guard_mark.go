package bridge

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
)

type contextKey int

const (
	writeKey contextKey = iota
	logRedirectKey
	reserveKey
)

// mark follows one write.
type mark struct {
	maybe atomic.Bool // it may have been done: sent, and not refused
}

// WithWrite marks the requests under ctx as one write: they may use what is kept of the quota,
// and AsError knows whether the forge may have done it. A ctx that carries a mark is given back as
// it is; another write needs a ctx without one.
func WithWrite(ctx context.Context) context.Context {
	if markOf(ctx) != nil {
		return ctx
	}
	return context.WithValue(ctx, writeKey, &mark{})
}

func markOf(ctx context.Context) *mark {
	m, _ := ctx.Value(writeKey).(*mark)
	return m
}

// unclear says that a write marked by WithWrite was sent, and that no answer says that it was not
// done. A client that then has no good answer to show doesn't know the outcome.
func unclear(ctx context.Context) bool {
	m := markOf(ctx)
	return m != nil && m.maybe.Load()
}

// withReserve marks reads that a write depends on: like it, they may use what is kept of the quota.
func withReserve(ctx context.Context) context.Context {
	return context.WithValue(ctx, reserveKey, true)
}

// mayUseReserve says that a request under ctx is part of a write.
func mayUseReserve(ctx context.Context) bool {
	return markOf(ctx) != nil || ctx.Value(reserveKey) != nil
}

// WithLogRedirect marks a read whose answer may be a redirect to a log's signed address. Such an
// answer comes back as it is, with an absolute Location, for Download to follow. Without the mark
// a redirect away from the repository is an error.
func WithLogRedirect(ctx context.Context) context.Context {
	return context.WithValue(ctx, logRedirectKey, true)
}

func wantsLogRedirect(ctx context.Context) bool { return ctx.Value(logRedirectKey) != nil }

// changes says that a request may change something. GraphQL asks its questions by POST too; a
// mutation carries the mark.
func changes(req *http.Request) bool {
	switch req.Method {
	case http.MethodGet, http.MethodHead, "":
		return false
	case http.MethodPost:
		return !isGraphQL(req.URL.Path) || markOf(req.Context()) != nil
	default:
		return true
	}
}

func isGraphQL(path string) bool { return strings.HasSuffix(path, "/graphql") }

// resourceOf names the part of a forge's rate that a request takes from, as GitHub calls it.
func resourceOf(path string) string {
	switch {
	case isGraphQL(path):
		return "graphql"
	case strings.Contains(path, "/search/"):
		return "search"
	default:
		return "core"
	}
}
