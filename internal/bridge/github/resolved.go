package github

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	gh "github.com/google/go-github/v89/github"

	"fleet/api"
)

const (
	// threadRoom is kept free in a view for what settle adds to its comments.
	threadRoom  = 2 << 10
	threadPages = 10 // of 100 threads
)

// threadsQuery asks for what REST does not tell of review comments. A comment's address has its
// number in it, in every version of GitHub; databaseId overflows.
const threadsQuery = `query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviewThreads(first: 100, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes { isResolved isOutdated comments(first: 1) { nodes { url } } }
      }
    }
  }
}`

type reviewThread struct {
	IsResolved, IsOutdated bool
	Comments               struct{ Nodes []struct{ URL string } }
}

type threadsAnswer struct {
	Repository struct {
		PullRequest struct {
			ReviewThreads *struct {
				PageInfo struct {
					HasNextPage bool
					EndCursor   string
				}
				Nodes []reviewThread
			}
		}
	}
}

// settle says of each review comment whether its thread is resolved or outdated. Where GraphQL
// does not tell, Resolved stays nil and the view says so.
func (p *Provider) settle(ctx context.Context, at place, n int, t *api.Thread) {
	wanted := map[int64]bool{}
	for _, c := range t.Comments {
		if c.Kind == api.KindReviewComment {
			wanted[rootOf(c)] = true
		}
	}
	if len(wanted) == 0 {
		return
	}
	threads, err := p.threads(ctx, at, n, wanted)
	if err != nil {
		t.Incomplete = append(t.Incomplete, "resolved state of review threads: "+reasonOf(err))
	}
	for i := range t.Comments {
		c := &t.Comments[i]
		if thread, ok := threads[rootOf(*c)]; ok && c.Kind == api.KindReviewComment {
			c.Resolved, c.Outdated = gh.Ptr(thread.IsResolved), thread.IsOutdated
		}
	}
}

func rootOf(c api.Comment) int64 {
	if c.InReplyTo != 0 {
		return c.InReplyTo
	}
	return c.ID
}

// threads reads the threads that begin with the wanted comments.
func (p *Provider) threads(ctx context.Context, at place, n int, wanted map[int64]bool) (map[int64]reviewThread, error) {
	found := map[int64]reviewThread{}
	after := (*string)(nil)
	for range threadPages {
		owner, name, _ := strings.Cut(at.Path, "/")
		var answer threadsAnswer
		err := p.ask(ctx, at, threadsQuery, map[string]any{"owner": owner, "name": name, "number": n, "after": after}, &answer)
		page := answer.Repository.PullRequest.ReviewThreads
		if page == nil && err == nil {
			err = errors.New("the forge gave none")
		}
		if err != nil {
			return found, err
		}
		for _, thread := range page.Nodes {
			if id := threadRoot(thread); wanted[id] {
				found[id] = thread
			}
		}
		if !page.PageInfo.HasNextPage || len(found) == len(wanted) {
			return found, nil
		}
		after = &page.PageInfo.EndCursor
	}
	return found, errors.New("there are too many threads to read them all")
}

// threadRoot reads the number of a thread's first comment from its address.
func threadRoot(t reviewThread) int64 {
	if len(t.Comments.Nodes) == 0 {
		return 0
	}
	_, id, _ := strings.Cut(t.Comments.Nodes[0].URL, "#discussion_r")
	n, _ := strconv.ParseInt(id, 10, 64)
	return n
}

// ask puts a question in GraphQL, which answers 200 to what it refuses.
// See https://docs.github.com/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api.
func (p *Provider) ask(ctx context.Context, at place, query string, variables map[string]any, into any) error {
	answer := struct {
		Data   any
		Errors []struct{ Type, Message string }
	}{Data: into}
	header, err := p.exchange(ctx, http.MethodPost, at.graphQL(), map[string]any{"query": query, "variables": variables}, &answer)
	if err != nil || len(answer.Errors) == 0 {
		return err
	}
	r := refusal{status: http.StatusOK, header: header, message: answer.Errors[0].Message, mask: p.guard.Mask}
	switch {
	case answer.Errors[0].Type == "RATE_LIMITED" || r.says("rate limit"):
		e := r.rateFault()
		e.RetryAfterSeconds = max(e.RetryAfterSeconds, r.untilReset(), 1)
		return e
	case answer.Errors[0].Type == "FORBIDDEN" || r.says("resource not accessible"):
		return permission("", r.cause())
	}
	return &api.Error{Code: api.Unavailable, Reason: "graphql", Message: "the forge does not answer this" + r.quote(), Err: r.cause()}
}

// reasonOf puts an error into a list of what is incomplete.
func reasonOf(err error) string {
	var e *api.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}
