package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fleet/api"
)

// How long answers are fresh.
const (
	infoTTL    = 5 * time.Minute
	listTTL    = 30 * time.Second
	viewTTL    = 10 * time.Second
	movingTTL  = 10 * time.Second // checks that run, logs that may grow, where a branch points
	settledTTL = time.Minute      // checks that are all final, of one commit
)

// read answers a read.
func (b *Broker) read(ctx context.Context, c *order) (json.RawMessage, error) {
	at, err := b.sealer.open(c.Cursor, c.binding(c.grant.Ship))
	if err != nil {
		return nil, err
	}
	p, page := c.forge.provider, at.Page
	switch c.Op {
	case OpInfo:
		return shared(ctx, b, c, at, "", infoTTL, func(ctx context.Context) (*api.RepoInfo, error) { return p.Info(ctx, c.repo) })
	case OpIssueList:
		return shared(ctx, b, c, at, c.state(), listTTL, func(ctx context.Context) (*api.List[api.IssueItem], error) {
			return p.Issues(ctx, c.repo, c.state(), page)
		})
	case OpPRList:
		return shared(ctx, b, c, at, c.state(), listTTL, func(ctx context.Context) (*api.List[api.PullItem], error) {
			return p.Pulls(ctx, c.repo, c.state(), page)
		})
	case OpIssueView:
		return shared(ctx, b, c, at, "", viewTTL, func(ctx context.Context) (*api.IssueView, error) {
			return p.Issue(ctx, c.repo, c.Number, page)
		})
	case OpPRView:
		return shared(ctx, b, c, at, "", viewTTL, func(ctx context.Context) (*api.PullView, error) {
			return p.Pull(ctx, c.repo, c.Number, page)
		})
	}
	return b.readCommit(ctx, c, at)
}

// sameRepository says that the repository's name has come to belong to another one since it was first
// read, or nil. Every few minutes, one look at it tells; what else that meets, the read has met.
func (b *Broker) sameRepository(ctx context.Context, c *order) error {
	if c.Op == OpInfo {
		return nil
	}
	look := *c
	look.Number = 0
	_, _, err := b.reads.get(ctx, look.key(OpInfo, " "), question{
		ask: func(ctx context.Context) (any, error) { return c.forge.provider.Info(ctx, c.repo) },
		ttl: func(any) time.Duration { return infoTTL },
	})
	var e *api.Error
	if errors.As(err, &e) && e.Reason == reasonReplaced {
		return err
	}
	return nil
}

// readCommit answers what is asked of a commit: of the one that the first page was of, or of the
// one that the target comes to now.
func (b *Broker) readCommit(ctx context.Context, c *order, at position) (json.RawMessage, error) {
	var stale *api.Age
	if at.At == nil {
		e, age, err := b.resolve(ctx, c, c.Target)
		if err != nil {
			return nil, err
		}
		at.At, stale = e.value.(*api.Resolved), age
	}
	outside, err := b.outside(ctx, c, *at.At)
	if err != nil {
		return nil, err
	}
	q := b.commitQuestion(c, *at.At, at.Page, outside)
	if outside != "" && at.At.Pull != 0 && at.At.Branch != "" {
		shown := *at.At
		shown.Branch = withheldName // whoever made the pull request chose it
		at.At = &shown
	}
	rest := at.At.SHA + " " + at.Page + " " + outside
	if outside == "" && c.policy.TrustedAuthorsOnly {
		rest += fmt.Sprintf(" %d %q", at.At.Pull, at.At.Branch) // by which it is told whose a run is
	}
	e, age, err := b.reads.get(ctx, c.key(c.Op, rest), q)
	if err != nil {
		return nil, err
	}
	if age == nil {
		age = stale
	}
	return b.show(c, e, at, age)
}

// resolve finds the commit that a target comes to now.
func (b *Broker) resolve(ctx context.Context, c *order, t api.Target) (*entry, *api.Age, error) {
	return b.reads.get(ctx, c.key("resolve", fmt.Sprintf("%d %q %q %s", t.Pull, t.Ref, t.Branch, t.SHA)), question{
		ask: func(ctx context.Context) (any, error) { return c.forge.provider.Resolve(ctx, c.repo, t) },
		ttl: func(any) time.Duration { return movingTTL },
	})
}

// commitQuestion asks for a commit's checks or logs. outside: why they are somebody's outside.
func (b *Broker) commitQuestion(c *order, commit api.Resolved, page, outside string) question {
	p, repo := c.forge.provider, c.repo
	repo.ByOrigin = c.policy.TrustedAuthorsOnly
	screened := func(ctx context.Context, found any, err error) (any, error) {
		switch {
		case err != nil:
			return nil, screenedFault(err, outside)
		case outside == "" && c.policy.TrustedAuthorsOnly:
			return b.screenedRuns(ctx, c, found, commit)
		}
		return screenedCommit(found, outside, repo)
	}
	if c.Op == OpFailedLogs {
		return question{
			ask: func(ctx context.Context) (any, error) {
				found, err := p.FailedLogs(ctx, repo, commit, page)
				return screened(ctx, found, err)
			},
			ttl: func(any) time.Duration { return movingTTL },
		}
	}
	return question{
		ask: func(ctx context.Context) (any, error) {
			found, err := p.Checks(ctx, repo, commit, page)
			return screened(ctx, found, err)
		},
		ttl: func(v any) time.Duration { return checksTTL(v.(*api.Checks)) },
	}
}

// checksTTL is short while anything may still change, which includes that nothing has begun.
func checksTTL(c *api.Checks) time.Duration {
	if c.Counts[api.BucketPending] > 0 || c.Overall == api.BucketPending || c.Overall == api.BucketNone || len(c.Incomplete) > 0 {
		return movingTTL
	}
	for _, item := range c.Items {
		if item.Bucket == api.BucketPending {
			return movingTTL
		}
	}
	return settledTTL
}

// shared gets a provider's answer to c, and makes it the caller's.
func shared[T any](ctx context.Context, b *Broker, c *order, at position, rest string, ttl time.Duration, ask func(context.Context) (*T, error)) (json.RawMessage, error) {
	e, age, err := b.reads.get(ctx, c.key(c.Op, rest+" "+at.Page), question{
		ask: func(ctx context.Context) (any, error) {
			found, err := ask(ctx)
			if err == nil && found == nil {
				err = internal(fmt.Errorf("the provider answered %s with nothing", c.Op))
			}
			if err != nil {
				return nil, err
			}
			return c.policy.screened(found)
		},
		ttl: func(any) time.Duration { return ttl },
	})
	if err != nil {
		return nil, err
	}
	return b.show(c, e, at, age)
}

// key is what a read of c is of.
func (c *order) key(op, rest string) readKey {
	return readKey{credential: c.signer, repo: c.resource(), op: op, number: c.Number, rest: rest, policy: c.policy.readKey()}
}

// resource names the repository among all forges. Its name in the registry plays no part.
func (c *order) resource() string { return c.repo.APIURL.String() + " " + c.repo.Path }
