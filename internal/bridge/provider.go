// Package bridge holds the forge credentials and does with them, for ships that may, what their
// agents ask: read and answer issues, pull requests and CI. It knows no workspace beyond a
// name for its audit, and no tool. Providers, one package a forge, do the talking.
package bridge

import (
	"context"
	"net/url"
	"time"

	"fleet/api"
)

// Repo is a registered repository as its provider needs it.
type Repo struct {
	Name   string   // its key in the registry
	Path   string   // on the forge, such as acme/widgets
	APIURL *url.URL // base of the forge's API
	// ByOrigin keeps apart what is of runs that were begun otherwise: one may be shown where another
	// may not, though both failed alike.
	ByOrigin bool
}

// Provider does one forge's part. Its methods are safe for concurrent use, answer with *api.Error,
// heed ctx, and are given a cursor that they made, or "". Lists are newest activity first.
//
// A method that writes does so at most once, and to no repository but the one that Path belonged to
// when it was first read: Conflict where another has taken the name. It answers with OutcomeUnknown
// where the connection broke after the request may have been sent; Find then looks.
type Provider interface {
	Info(ctx context.Context, r Repo) (*api.RepoInfo, error)
	Issues(ctx context.Context, r Repo, state, cursor string) (*api.List[api.IssueItem], error)
	Issue(ctx context.Context, r Repo, number int, cursor string) (*api.IssueView, error)
	Pulls(ctx context.Context, r Repo, state, cursor string) (*api.List[api.PullItem], error)
	Pull(ctx context.Context, r Repo, number int, cursor string) (*api.PullView, error)
	// Resolve turns a target into a commit on the forge.
	Resolve(ctx context.Context, r Repo, t api.Target) (*api.Resolved, error)
	Checks(ctx context.Context, r Repo, at api.Resolved, cursor string) (*api.Checks, error)
	FailedLogs(ctx context.Context, r Repo, at api.Resolved, cursor string) (*api.FailedLogs, error)

	// Head is the commit that a pull's branch points to now, so that a review is pinned to it.
	Head(ctx context.Context, r Repo, pull int) (sha string, err error)
	Write(ctx context.Context, r Repo, w Write) (*api.Written, error)
	// Find looks for what w left on the forge since the given time: by the credential's own
	// account, at w's target, with w's content. nil and no error: it is not there.
	Find(ctx context.Context, r Repo, w Write, since time.Time) (*api.Written, error)
}

// Kinds of Write.
const (
	IssueComment = "issue_comment"
	PullComment  = "pull_comment"
	PullReview   = "pull_review"
)

// Write is a comment or a review.
type Write struct {
	Kind   string `json:"kind"`
	Number int    `json:"number"`
	Body   string `json:"body"`
	Event  string `json:"event,omitempty"` // PullReview: APPROVE, REQUEST_CHANGES or COMMENT
	Head   string `json:"head,omitempty"`  // PullReview: the commit that is reviewed
}
