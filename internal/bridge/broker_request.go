package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"fleet/api"
)

const (
	maxName = 256    // bytes of a repository's or workspace's name
	maxBody = 65_536 // characters of a comment, as GitHub limits them
)

// The operations, named as the tools are without "repo_".
const (
	OpInfo         = "info"
	OpIssueList    = "issue_list"
	OpIssueView    = "issue_view"
	OpIssueComment = "issue_comment"
	OpPRList       = "pr_list"
	OpPRView       = "pr_view"
	OpPRComment    = "pr_comment"
	OpPRReview     = "pr_review"
	OpChecks       = "checks"
	OpFailedLogs   = "failed_logs"
)

// Caller is one ship's way to a bridge, in process or over HTTP; both answer alike. Every error is
// an *api.Error. A write goes on to its end though ctx ends. Do is safe for concurrent use.
type Caller interface {
	Do(ctx context.Context, r Request) (json.RawMessage, error)
}

// Request is one call of a tool.
type Request struct {
	Op        string // one of the Op constants
	Repo      string // its key in the registry
	Workspace string // for the audit, for duplicates and cursors
	Key       string // of a write: a UUID, new with every call that an agent makes

	Number int        // of the issue or pull request
	State  string     // of lists: open, closed, all; "" is open
	Cursor string     // next_cursor of an earlier answer to the same question
	Target api.Target // of checks and failed_logs

	Body  string // of a write
	Event string // of a review: APPROVE, REQUEST_CHANGES or COMMENT
	Head  string // of a review: the commit that was looked at; "": the pull's head as it is now
}

// verb is what a grant must hold for the operation; "" for one that isn't known.
func (r *Request) verb() string {
	switch r.Op {
	case OpInfo, OpIssueList, OpIssueView, OpPRList, OpPRView, OpChecks, OpFailedLogs:
		return api.VerbRead
	case OpIssueComment, OpPRComment:
		return api.VerbComment
	case OpPRReview:
		return api.VerbReview
	}
	return ""
}

func (r *Request) writes() bool {
	return r.Op == OpIssueComment || r.Op == OpPRComment || r.Op == OpPRReview
}

func (r *Request) state() string {
	if r.State == "" {
		return "open"
	}
	return r.State
}

// check refuses what no forge need be asked about.
func (r *Request) check() error {
	if len(r.Workspace) > maxName || !utf8.ValidString(r.Workspace) {
		return invalid("workspace", "the workspace's name is too long or not UTF-8", "")
	}
	switch r.Op {
	case OpIssueList, OpPRList:
		if !slices.Contains([]string{"open", "closed", "all"}, r.state()) {
			return invalid("state", "state must be open, closed or all", "leave state out for open ones")
		}
	case OpIssueView, OpPRView, OpIssueComment, OpPRComment, OpPRReview:
		if r.Number < 1 || r.Number > math.MaxInt32 {
			return invalid("number", "number must be a positive integer", "repo_issue_list and repo_pr_list show the numbers")
		}
	case OpChecks, OpFailedLogs:
		return checkTarget(r.Target)
	}
	if r.writes() {
		return r.checkWrite()
	}
	return nil
}

func (r *Request) checkWrite() error {
	if uuid.Validate(r.Key) != nil || len(r.Key) != 36 {
		return invalid("key", "a write needs a UUID as its idempotency key", "")
	}
	blank := strings.TrimFunc(CleanText(r.Body), unicode.IsSpace) == ""
	switch {
	case r.Op == OpPRReview && !slices.Contains([]string{"APPROVE", "REQUEST_CHANGES", "COMMENT"}, r.Event):
		return invalid("event", "event must be APPROVE, REQUEST_CHANGES or COMMENT", "")
	case r.Op == OpPRReview && r.Head != "" && !isSHA(r.Head):
		return invalid("head", "head must be a commit's full id in hexadecimal digits", "")
	case blank && r.Op != OpPRReview:
		return invalid("empty_body", "body is empty; nothing was posted", "give the comment's text")
	case blank && r.Event != "APPROVE":
		return invalid("empty_body", "a review with event "+r.Event+" needs a body; nothing was posted", "say in body what the review finds")
	case !utf8.ValidString(r.Body):
		return invalid("body", "body is not valid UTF-8; nothing was posted", "")
	}
	if n := utf8.RuneCountInString(r.Body); n > maxBody {
		return invalid("body_too_long", fmt.Sprintf("body has %d characters; at most %d are posted, and nothing was", n, maxBody), "shorten it, or split it into several comments")
	}
	if seen := CleanText(r.Body); holdsCredential(seen) || seen != r.Body && holdsCredential(r.Body) {
		return heldCredential("something shaped like a credential (a token, a key or a password in an address)")
	}
	return nil
}

func heldCredential(what string) error {
	return &api.Error{
		Code: api.Forbidden, Reason: reasonHeld,
		Message: "body holds " + what + "; nothing was posted",
		Hint:    "take it out, or write a placeholder in its place; if it is real, tell a human that it must be revoked",
	}
}

// checkTarget refuses what is no target, and refs that git would not take, which could name
// another resource in a forge's address.
func checkTarget(t api.Target) error {
	switch {
	case t.Pull != 0 && t.Ref != "":
		return invalid("two_targets", "give pr or ref, not both", "leave one of them out")
	case t.Pull < 0 || t.Pull > math.MaxInt32:
		return invalid("number", "pr must be a positive integer", "")
	case t.Pull == 0 && t.Ref == "" && t.Branch == "":
		return invalid("no_target", "nothing says which commit is meant", "give pr or ref")
	case t.Ref != "" && !isRef(t.Ref), t.Branch != "" && !isRef(t.Branch):
		return invalid("bad_ref", "ref is not the name of a branch or tag, nor a commit's id", "give a branch as git branch shows it")
	case t.SHA != "" && !isSHA(t.SHA):
		return invalid("bad_sha", "sha must be a commit's full id in hexadecimal digits", "")
	}
	return nil
}

// isRef follows git-check-ref-format(1), with one level allowed.
func isRef(s string) bool {
	if len(s) > 1024 || !utf8.ValidString(s) || s == "@" || strings.HasPrefix(s, "-") ||
		strings.HasSuffix(s, ".") || strings.Contains(s, "..") || strings.Contains(s, "@{") {
		return false
	}
	if strings.ContainsAny(s, " ~^:?*[\\") || strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || invisible(r) }) {
		return false
	}
	for part := range strings.SplitSeq(s, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}

func isSHA(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

func invalid(reason, message, hint string) error {
	return &api.Error{Code: api.Invalid, Reason: reason, Message: message, Hint: hint}
}
