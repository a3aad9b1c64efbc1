package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"

	"fleet/api"
)

// problemOf gives the error that a bridge answered with. nil: it isn't one of a bridge's.
func problemOf(resp *http.Response, raw []byte) error {
	var p api.Problem
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media != api.ProblemType || json.Unmarshal(raw, &p) != nil || p.Code == "" {
		return nil
	}
	return p.Error()
}

// brokenCall is the error of an exchange without a whole answer.
func brokenCall(r Request, way *sending, err error) error {
	kind := way.kind(err)
	var undialed undialedError
	if errors.Is(err, http.ErrSchemeMismatch) {
		return &api.Error{
			Code: api.Unavailable, Reason: "bridge_without_tls", Message: "the bridge does not speak TLS at its address; nothing was done",
			Hint: "ask the operator of this ship to give its address with http:// (on loopback only), or the bridge a certificate", Err: err,
		}
	}
	if errors.As(err, &undialed) || r.writes() && !way.sent.Load() {
		return &api.Error{
			Code: api.Unavailable, Reason: "bridge_unreachable", Message: "the bridge cannot be reached; nothing was done",
			Hint: "try again in a minute; if that does not help, tell a human that the bridge is down", Err: errors.Join(kind, err),
		}
	}
	if r.writes() {
		return lostWrite(r, err)
	}
	return unheard("the connection broke before its answer was complete", errors.Join(kind, err))
}

// foreign is the error of an exchange whose answer can't be a bridge's.
func foreign(r Request, why string) error {
	if r.writes() {
		return lostWrite(r, errors.New(why))
	}
	return unheard(why, nil)
}

func unheard(why string, err error) error {
	return &api.Error{
		Code: api.Unavailable, Reason: "bridge_answer", Message: "the bridge's answer is of no use: " + why,
		Hint: "try again in a minute; if that does not help, tell a human", Err: err,
	}
}

// lostWrite is for a write of which the bridge alone knows what became.
func lostWrite(r Request, err error) error {
	return &api.Error{
		Code: api.OutcomeUnknown, Reason: "bridge_answer_lost", Message: "the connection to the bridge broke after the call was sent: it may have been posted",
		Hint: fmt.Sprintf("look with %s whether it is there; the same call with exactly the same text is safe within ten minutes, since the bridge posts it once", viewerOf(r.Op == OpIssueComment, r.Number)),
		Err:  errors.Join(errAnswerLost, err),
	}
}

// decided says that err, the answer to a write that was sent a second time, speaks for the first
// sending too. What the bridge refuses before it looks at the key does not, nor what may come of its
// own state just then, such as a credential that can't be read.
func decided(err error) bool {
	var e *api.Error
	if !errors.As(err, &e) || e.Err != nil {
		return false
	}
	switch e.Code {
	case api.Unavailable, api.Unauthenticated, api.RateLimited, api.Internal:
		return false
	}
	return !slices.Contains([]string{reasonVerb, reasonNoRepo, reasonHeld}, e.Reason)
}
