package api

import (
	"net/http"
	"time"
)

// ProblemType is the media type of a Problem. See RFC 9457.
const ProblemType = "application/problem+json"

// Headers of the bridge's HTTP API.
const (
	// HeaderKey carries a write's idempotency key, a UUID. The same key again is answered with
	// what the first one came to, and never writes twice.
	HeaderKey = "Idempotency-Key"
	// HeaderWorkspace carries the name of the workspace that asks, percent-escaped. It is for
	// audit, duplicates and cursors, and gives no right.
	HeaderWorkspace = "Fleet-Workspace"
	// HeaderRequestID is set on every answer, and stands in the bridge's log and audit.
	HeaderRequestID = "X-Request-Id"
)

// Problem is an Error as the bridge sends it over HTTP (RFC 9457; type is absent, so it is
// "about:blank", and Title says the same as Status).
type Problem struct {
	Title             string `json:"title"`
	Status            int    `json:"status"`
	Detail            string `json:"detail"`
	Code              Code   `json:"code"`
	Reason            string `json:"reason,omitempty"`
	Hint              string `json:"hint,omitempty"`
	RetryAfterSeconds int    `json:"retry_after_seconds,omitempty"`
}

// Problem gives e for the wire, without its cause.
func (e *Error) Problem() Problem {
	status := e.Code.HTTPStatus()
	return Problem{
		Title: http.StatusText(status), Status: status, Detail: e.Message,
		Code: e.Code, Reason: e.Reason, Hint: e.Hint, RetryAfterSeconds: e.RetryAfterSeconds,
	}
}

// Error gives back what Problem was made of.
func (p Problem) Error() *Error {
	return &Error{Code: p.Code, Reason: p.Reason, Message: p.Detail, Hint: p.Hint, RetryAfterSeconds: p.RetryAfterSeconds}
}

// Contribution is the body of a POST to the bridge: of a comment, Body alone; of a review, Event
// too, and Head where the reviewed commit is known.
type Contribution struct {
	Body  string `json:"body,omitempty"`
	Event string `json:"event,omitempty"` // APPROVE, REQUEST_CHANGES or COMMENT
	Head  string `json:"head,omitempty"`
}

// Verbs of a grant.
const (
	VerbRead    = "read"
	VerbComment = "comment"
	VerbReview  = "review"
)

// AllRepos stands in a grant for every registered repository, now and later.
const AllRepos = "*"

// Grant is what a ship may do through the bridge.
type Grant struct {
	Ship      string              `json:"ship"`
	Repos     map[string][]string `json:"repos"`               // verbs by repository; AllRepos for every one
	CreatedAt time.Time           `json:"created_at,omitzero"` // zero: the embedded ship was never granted anything
	// Embedded marks the ship that a bridge runs in; its credential is in memory only.
	Embedded bool `json:"embedded,omitempty"`
}

// GrantRequest sets the verbs that a ship has on a repository.
type GrantRequest struct {
	Ship  string   `json:"ship"`
	Repo  string   `json:"repo"`
	Verbs []string `json:"verbs"`
}

// Granted is the answer to a GrantRequest. Credential is set once, when the ship is new.
type Granted struct {
	Grant
	Credential string `json:"credential,omitempty"`
	Note       string `json:"note,omitempty"`
}

// Grants is every ship that the bridge knows.
type Grants struct {
	Grants []Grant `json:"grants"`
}

// AuditReport is what a look at the whole audit came to. It is in order where Faults is empty.
type AuditReport struct {
	Lines  int          `json:"lines"`
	Faults []AuditFault `json:"faults"`
	Notes  []string     `json:"notes,omitempty"` // what is no fault, such as half a line from a crash
}

// AuditFault is a place where the audit is not what was written.
type AuditFault struct {
	Line int    `json:"line"`
	What string `json:"what"`
}
