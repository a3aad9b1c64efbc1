package github

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fleet/api"
)

// missing is the reason of a 404 that has not been looked into.
const missing = "missing"

const noPermission = "permission"

func isMissing(err error) bool {
	var e *api.Error
	return errors.As(err, &e) && e.Reason == missing
}

func hasCode(err error, codes ...api.Code) bool {
	var e *api.Error
	return errors.As(err, &e) && slices.Contains(codes, e.Code)
}

func notVisible(at place) *api.Error {
	return &api.Error{
		Code: api.NotFound, Reason: "repo_not_visible",
		Message: fmt.Sprintf("the bridge's account does not see the repository %s on the forge", at.Name),
		Hint:    askOperator + " to give its account (or GitHub App installation) access to the repository, or to correct its address",
	}
}

// absent tells, of a 404, whether the thing is missing or the whole repository is invisible: the
// forge answers both alike.
func (p *Provider) absent(ctx context.Context, at place, err error, reason, what, hint string) error {
	if !isMissing(err) {
		return err
	}
	switch _, probe := p.repository(ctx, at); {
	case probe == nil:
		return &api.Error{Code: api.NotFound, Reason: reason, Message: what, Hint: hint, Err: err}
	case hasCode(probe, api.NotFound, api.RateLimited, api.Conflict):
		return probe
	default:
		return &api.Error{Code: api.NotFound, Reason: reason, Message: what + ", or the bridge may not see it", Hint: hint, Err: err}
	}
}

func (r refusal) forbidden() *api.Error {
	switch {
	case r.header.Get("X-GitHub-SSO") != "", r.says("saml enforcement"):
		return &api.Error{
			Code: api.Forbidden, Reason: "sso_required", Message: "the organization asks for single sign-on, and the bridge's credential is not authorized for it",
			Hint: askOperator + " to authorize the token for the organization's single sign-on", Err: r.cause(),
		}
	case r.says("archived"):
		return &api.Error{
			Code: api.Forbidden, Reason: "repo_archived", Message: "the repository is archived: it can be read, not written",
			Hint: "tell a human; only its owner can unarchive it", Err: r.cause(),
		}
	case r.says("blocked"):
		return &api.Error{Code: api.Forbidden, Reason: "blocked", Message: "the bridge's account is blocked there", Hint: askOperator, Err: r.cause()}
	case r.says("locked"):
		return &api.Error{
			Code: api.Forbidden, Reason: "locked", Message: "the conversation is locked",
			Hint: "tell a human; only a maintainer can unlock it", Err: r.cause(),
		}
	case r.says("resource not accessible by", "must have", "not authorized", "insufficient", "scope"):
		return permission(r.needs(), r.cause())
	}
	e := &api.Error{Code: api.Forbidden, Reason: "forge_refused", Message: "the forge refuses this" + r.quote(), Hint: askOperator, Err: r.cause()}
	if needs := r.needs(); needs != "" {
		e.Hint = askOperator + "; it may be that its credential lacks " + needs
	}
	return e
}

// needs names the permissions that would do, as the forge gives them: "issues=write,
// metadata=read; pull_requests=write" are alternatives, each of several.
func (r refusal) needs() string {
	accepted := r.header.Get("X-Accepted-GitHub-Permissions")
	if accepted == "" || len(accepted) > 200 || strings.ContainsAny(accepted, "\r\n\"<>") {
		return ""
	}
	accepted = strings.ReplaceAll(accepted, "=", ":")
	return strings.Join(strings.Split(strings.ReplaceAll(accepted, " ", ""), ";"), " or ")
}

func permission(needs string, cause error) *api.Error {
	e := &api.Error{
		Code: api.Forbidden, Reason: noPermission, Message: "the bridge's credential lacks a permission",
		Hint: askOperator + " to give its credential the missing permission", Err: cause,
	}
	if needs != "" {
		e.Message += ": " + needs
		e.Hint = askOperator + " to give its credential " + needs
	}
	return e
}

// gone is an issue that was deleted, or a repository without issues.
func (r refusal) gone() *api.Error {
	if r.says("disabled") {
		return &api.Error{
			Code: api.Unsupported, Reason: "feature_disabled", Message: "the repository has issues switched off",
			Hint: "pull requests still work: use the repo_pr tools", Err: r.cause(),
		}
	}
	return &api.Error{Code: api.NotFound, Reason: "gone", Message: "it was deleted", Err: r.cause()}
}

// invalid is a 422, or a 400.
func (r refusal) invalid() *api.Error {
	switch {
	case r.says("own pull request"):
		return &api.Error{
			Code: api.Forbidden, Reason: "self_review", Message: "the bridge's account wrote this pull request, and the forge lets nobody approve or reject his own",
			Hint: "submit the review with event COMMENT", Err: r.cause(),
		}
	case r.says("one pending review"):
		return &api.Error{
			Code: api.Conflict, Reason: "pending_review", Message: "the bridge's account has begun a review of this pull request on the forge and not submitted it; until then it can submit no other",
			Hint: "ask a human to submit or discard the pending review on the forge, or use repo_pr_comment", Err: r.cause(),
		}
	case r.says("not permitted to approve"):
		e := permission("", r.cause())
		e.Message = "the forge does not let GitHub Actions approve pull requests"
		e.Hint = askOperator + " to allow it in the repository's Actions settings, or submit the review with event COMMENT"
		return e
	case r.says("commit_id", "commit id", "not part of the pull request"):
		return headMoved(r.cause())
	case r.says("too long"):
		return tooLong(r.cause())
	case r.says("no commit found"):
		return &api.Error{Code: api.NotFound, Reason: missing, Message: "the forge has no such commit", Err: r.cause()}
	case r.says("large datasets", "cursor based pagination"):
		return &api.Error{
			Code: api.Unsupported, Reason: "list_too_long", Message: "the forge does not go further in this list",
			Hint: "narrow the list with state, or look at one number", Err: r.cause(),
		}
	}
	return &api.Error{Code: api.Invalid, Reason: "forge_invalid", Message: "the forge does not accept this" + r.quote(), Err: r.cause()}
}

func headMoved(cause error) *api.Error {
	return &api.Error{
		Code: api.Conflict, Reason: "head_moved", Message: "the pull request has another head by now; nothing was posted",
		Hint: "look at the new commits with repo_pr_view, then review again", Err: cause,
	}
}

func tooLong(cause error) *api.Error {
	return &api.Error{
		Code: api.Invalid, Reason: "body_too_long", Message: fmt.Sprintf("the text is longer than the %d characters that the forge takes; nothing was posted", maxBody),
		Hint: "shorten it, or post it in parts", Err: cause,
	}
}
