package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"fleet/api"
)

func TestAnErrorsTextIsWhatAnAgentReads(t *testing.T) {
	cases := map[string]struct {
		err  api.Error
		want string
	}{
		"message alone": {
			api.Error{Code: api.NotFound, Message: "there is no issue 7"},
			"not_found: there is no issue 7",
		},
		"with a hint": {
			api.Error{Code: api.Conflict, Reason: "inactive", Message: "this workspace is not active", Hint: "a person must run: ship activate r/w"},
			"conflict: this workspace is not active\nNext: a person must run: ship activate r/w",
		},
		"with a time": {
			api.Error{Code: api.RateLimited, Message: "the forge wants fewer calls", RetryAfterSeconds: 30},
			"rate_limited: the forge wants fewer calls\nRetry after 30 seconds.",
		},
		"with all, and no cause": {
			api.Error{Code: api.Unavailable, Reason: "away", Message: "the forge is away", Hint: "go on", RetryAfterSeconds: 5, Err: errors.New("dial tcp 10.0.0.1")},
			"unavailable: the forge is away\nRetry after 5 seconds.\nNext: go on",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := c.err.Text(); got != c.want {
				t.Errorf("Text() = %q, want %q", got, c.want)
			}
		})
	}
}

func TestEveryCodeHasItsStatus(t *testing.T) {
	for code, want := range map[api.Code]int{
		"invalid": 400, "unauthenticated": 401, "forbidden": 403, "not_found": 404, "conflict": 409, "rate_limited": 429,
		"unsupported": 501, "unavailable": 503, "outcome_unknown": 504, "internal": 500, "unheard_of": 500, "": 500,
	} {
		if got := code.HTTPStatus(); got != want {
			t.Errorf("Code(%q).HTTPStatus() = %d, want %d", code, got, want)
		}
	}
}

func TestAnErrorKeepsItsCauseToItself(t *testing.T) {
	cause := &fs.PathError{Op: "open", Path: "/secret", Err: fs.ErrPermission}
	err := &api.Error{Code: api.Internal, Message: "the ship cannot read its log", Err: cause}
	if !errors.Is(fmt.Errorf("wrapped: %w", err), fs.ErrPermission) {
		t.Error("errors.Is does not find the cause")
	}
	raw, jsonErr := json.Marshal(err)
	if want := `{"code":"internal","message":"the ship cannot read its log"}`; string(raw) != want || jsonErr != nil {
		t.Errorf("as JSON %s (%v), want %s", raw, jsonErr, want)
	}
	if got, want := err.Error(), "internal: the ship cannot read its log"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
}
