package bridge

import (
	"context"
	"time"

	"fleet/api"
)

// maskedProvider masks the credential once more, in what a provider has decoded: nothing else of a
// forge's text gets into answers, errors, the audit or the store.
type maskedProvider struct {
	inner Provider
	guard *Guard
}

// maskAnswer masks what a provider gives back.
func maskAnswer[T any](g *Guard, value *T, err error) (*T, error) {
	if value != nil {
		g.maskTexts(value)
	}
	return value, g.maskError(err)
}

func (p maskedProvider) Info(ctx context.Context, r Repo) (*api.RepoInfo, error) {
	v, err := p.inner.Info(ctx, r)
	return maskAnswer(p.guard, v, err)
}

func (p maskedProvider) Issues(ctx context.Context, r Repo, state, cursor string) (*api.List[api.IssueItem], error) {
	v, err := p.inner.Issues(ctx, r, state, cursor)
	return maskAnswer(p.guard, v, err)
}

func (p maskedProvider) Issue(ctx context.Context, r Repo, number int, cursor string) (*api.IssueView, error) {
	v, err := p.inner.Issue(ctx, r, number, cursor)
	return maskAnswer(p.guard, v, err)
}

func (p maskedProvider) Pulls(ctx context.Context, r Repo, state, cursor string) (*api.List[api.PullItem], error) {
	v, err := p.inner.Pulls(ctx, r, state, cursor)
	return maskAnswer(p.guard, v, err)
}

func (p maskedProvider) Pull(ctx context.Context, r Repo, number int, cursor string) (*api.PullView, error) {
	v, err := p.inner.Pull(ctx, r, number, cursor)
	return maskAnswer(p.guard, v, err)
}

func (p maskedProvider) Resolve(ctx context.Context, r Repo, t api.Target) (*api.Resolved, error) {
	v, err := p.inner.Resolve(ctx, r, t)
	return maskAnswer(p.guard, v, err)
}

func (p maskedProvider) Checks(ctx context.Context, r Repo, at api.Resolved, cursor string) (*api.Checks, error) {
	v, err := p.inner.Checks(ctx, r, at, cursor)
	return maskAnswer(p.guard, v, err)
}

func (p maskedProvider) FailedLogs(ctx context.Context, r Repo, at api.Resolved, cursor string) (*api.FailedLogs, error) {
	v, err := p.inner.FailedLogs(ctx, r, at, cursor)
	return maskAnswer(p.guard, v, err)
}

func (p maskedProvider) Head(ctx context.Context, r Repo, pull int) (string, error) {
	sha, err := p.inner.Head(ctx, r, pull)
	return sha, p.guard.maskError(err) // the caller takes nothing but a commit
}

func (p maskedProvider) Write(ctx context.Context, r Repo, w Write) (*api.Written, error) {
	v, err := p.inner.Write(ctx, r, w)
	return maskAnswer(p.guard, v, err)
}

func (p maskedProvider) Find(ctx context.Context, r Repo, w Write, since time.Time) (*api.Written, error) {
	v, err := p.inner.Find(ctx, r, w, since)
	return maskAnswer(p.guard, v, err)
}
