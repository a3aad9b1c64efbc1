package api

import "strconv"

// Code says what kind of failure an Error is. There are ten; a finer cause is the Reason.
type Code string

// The ten codes. Their HTTP statuses are those of Code.HTTPStatus.
const (
	Invalid         Code = "invalid"
	Unauthenticated Code = "unauthenticated"
	Forbidden       Code = "forbidden"
	NotFound        Code = "not_found"
	Conflict        Code = "conflict"
	RateLimited     Code = "rate_limited"
	Unsupported     Code = "unsupported"
	Unavailable     Code = "unavailable"
	OutcomeUnknown  Code = "outcome_unknown"
	Internal        Code = "internal"
)

// HTTPStatus is the status under which an Error with this code travels. Unknown codes give 500.
func (c Code) HTTPStatus() int {
	switch c {
	case Invalid:
		return 400
	case Unauthenticated:
		return 401
	case Forbidden:
		return 403
	case NotFound:
		return 404
	case Conflict:
		return 409
	case RateLimited:
		return 429
	case Unsupported:
		return 501
	case Unavailable:
		return 503
	case OutcomeUnknown:
		return 504
	default:
		return 500
	}
}

// Error is a failure for three readers: a program reads Code and Reason, an agent or a person
// Message and Hint, and the operator's log the wrapped Err, which never leaves the process.
// Message and Hint are lower case and hold no secret.
type Error struct {
	Code              Code   `json:"code"`
	Reason            string `json:"reason,omitempty"`
	Message           string `json:"message"`
	Hint              string `json:"hint,omitempty"` // what to do next, without "Next:"
	RetryAfterSeconds int    `json:"retry_after_seconds,omitempty"`
	Err               error  `json:"-"`
}

// Error gives code and message in one line, without the cause.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Unwrap gives the cause, for the log and for errors.Is.
func (e *Error) Unwrap() error { return e.Err }

// Text is the whole error as an agent reads it: "code: message", then "Retry after N seconds.",
// then "Next: …", each on its own line where present.
func (e *Error) Text() string {
	text := e.Error()
	if e.RetryAfterSeconds > 0 {
		text += "\nRetry after " + strconv.Itoa(e.RetryAfterSeconds) + " seconds."
	}
	if e.Hint != "" {
		text += "\nNext: " + e.Hint
	}
	return text
}
