package github

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	gh "github.com/google/go-github/v89/github"

	"fleet/api"
	"fleet/internal/bridge"
)

// Resolve finds the commit on the forge that a pull request, a ref or the workspace's branch
// points to.
func (p *Provider) Resolve(ctx context.Context, r bridge.Repo, t api.Target) (*api.Resolved, error) {
	at, err := placeOf(r)
	if err != nil {
		return nil, err
	}
	switch {
	case t.Pull != 0 && t.Ref != "":
		return nil, &api.Error{Code: api.Invalid, Reason: "two_targets", Message: "give pr or ref, not both"}
	case t.Pull != 0:
		pull, err := p.pull(ctx, at, t.Pull)
		if err != nil {
			return nil, err
		}
		sha := pull.GetHead().GetSHA()
		if !isSHA(sha) {
			return nil, badCommit()
		}
		item := pullItem(pull)
		return &api.Resolved{Pull: t.Pull, Branch: item.Head, SHA: sha, Author: &item.Author}, nil
	case t.Ref != "":
		return p.resolveRef(ctx, at, t.Ref)
	case t.Branch != "":
		return p.resolveBranch(ctx, at, t)
	}
	return nil, &api.Error{
		Code: api.Invalid, Reason: "no_target", Message: "there is no branch to look at: the workspace is at a detached commit",
		Hint: "give pr or ref",
	}
}

// resolveRef takes a branch, a tag or a commit.
// See https://docs.github.com/rest/commits/commits#get-a-commit.
func (p *Provider) resolveRef(ctx context.Context, at place, ref string) (*api.Resolved, error) {
	if !goodRef(ref) {
		return nil, &api.Error{
			Code: api.Invalid, Reason: "bad_ref", Message: "this is no name that git gives to a branch, tag or commit",
			Hint: "give the name of a branch or tag, or a commit's hash",
		}
	}
	var commit struct {
		SHA string `json:"sha"`
	}
	query := url.Values{"per_page": {"1"}} // of the files that the commit changed
	address := at.under(query, "commits", strings.TrimPrefix(ref, "refs/"))
	if _, err := p.get(ctx, address, &commit); err != nil {
		return nil, p.absent(ctx, at, err, "no_such_ref", fmt.Sprintf("%s has no branch, tag or commit %q on the forge", at.Name, ref),
			"push it first, or give pr")
	}
	if !isSHA(commit.SHA) {
		return nil, badCommit()
	}
	return &api.Resolved{Ref: ref, SHA: commit.SHA}, nil
}

// resolveBranch takes the workspace's branch, as it was pushed.
// See https://docs.github.com/rest/branches/branches#get-a-branch.
func (p *Provider) resolveBranch(ctx context.Context, at place, t api.Target) (*api.Resolved, error) {
	if !goodRef(t.Branch) {
		return nil, &api.Error{Code: api.Invalid, Reason: "bad_ref", Message: "the workspace's branch has no name that git allows", Hint: "give pr or ref"}
	}
	var branch gh.Branch
	if _, err := p.get(ctx, at.under(nil, "branches", t.Branch), &branch); err != nil {
		return nil, p.absent(ctx, at, err, "not_pushed", fmt.Sprintf("the branch %q of the workspace is not on the forge", t.Branch),
			"push it (git push -u origin HEAD), then ask again; or give pr or ref")
	}
	sha := branch.GetCommit().GetSHA()
	if !isSHA(sha) {
		return nil, badCommit()
	}
	found := &api.Resolved{Branch: t.Branch, SHA: sha}
	if t.SHA != "" && t.SHA != sha {
		found.Note = fmt.Sprintf("the workspace is at %.12s and the pushed branch at %.12s: this is of the pushed commit. Push to have yours checked", t.SHA, sha)
	}
	return found, nil
}

func badCommit() error {
	return &api.Error{Code: api.Unavailable, Reason: "bad_answer", Message: "the forge did not name the commit"}
}

var (
	shaPattern = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)
	badInRef   = regexp.MustCompile(`[\x00-\x20\x7F~^:?*\[\\]|\.\.|@\{|//|/$|^/|\.$|^-`)
)

func isSHA(s string) bool { return shaPattern.MatchString(s) }

// goodRef keeps the rules of git-check-ref-format(1). Among them are those that keep a ref from
// meaning another address; what may stand in a ref and means something in an address is escaped.
func goodRef(ref string) bool {
	if ref == "@" || len(ref) > 512 || badInRef.MatchString(ref) {
		return false
	}
	return !slices.ContainsFunc(strings.Split(ref, "/"), func(part string) bool {
		plain, err := url.PathUnescape(part)
		return strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") || err == nil && (plain == "." || plain == "..")
	})
}
