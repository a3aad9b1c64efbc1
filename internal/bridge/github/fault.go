package github

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	gh "github.com/google/go-github/v89/github"

	"fleet/api"
	"fleet/internal/bridge"
)

const (
	askOperator = "ask the operator of the bridge"
	maxQuote    = 300 // characters of a forge's text in an error
)

// refusal is an answer that is none.
type refusal struct {
	status  int
	header  http.Header
	message string   // what the forge says
	details []string // of its errors member
	docs    string
	write   bool
	mask    func(string) string // takes out what the guard signs with
}

// fault makes an *api.Error of whatever the client failed with.
func (p *Provider) fault(ctx context.Context, write bool, resp *gh.Response, err error) error {
	var broken *api.Error
	if resp == nil || resp.Response == nil || errors.As(err, &broken) || errors.Is(err, ctx.Err()) {
		return bridge.AsError(ctx, err)
	}
	r := refusal{status: resp.StatusCode, header: resp.Header, write: write, mask: p.guard.Mask}
	r.read(resp.Body)
	e := r.fault()
	if e.Code == api.RateLimited {
		e.RetryAfterSeconds = p.pause(r, e.RetryAfterSeconds)
	}
	return e
}

// read takes what the body says, if it is GitHub's: a proxy's page of HTML is not quoted.
func (r *refusal) read(body io.Reader) {
	raw, _ := io.ReadAll(io.LimitReader(body, 1<<20))
	var said struct {
		Message string            `json:"message"`
		Docs    string            `json:"documentation_url"`
		Errors  []json.RawMessage `json:"errors"`
	}
	if json.Unmarshal(raw, &said) != nil {
		return
	}
	r.message, r.docs = said.Message, said.Docs
	for _, one := range said.Errors {
		if text := detail(one); text != "" {
			r.details = append(r.details, text)
		}
	}
}

// detail is one of the errors, which GitHub gives as text or as an object.
func detail(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var object struct{ Message, Field, Code, Resource string }
	if json.Unmarshal(raw, &object) != nil {
		return ""
	}
	if object.Message != "" {
		return object.Message
	}
	return strings.TrimSpace(object.Field + " " + object.Code)
}

// says looks for words in all that the forge said.
func (r refusal) says(words ...string) bool {
	all := strings.ToLower(r.message + "\n" + strings.Join(r.details, "\n"))
	for _, w := range words {
		if strings.Contains(all, w) {
			return true
		}
	}
	return false
}

func (r refusal) fault() *api.Error {
	if r.limited() {
		return r.rateFault()
	}
	switch r.status {
	case http.StatusUnauthorized:
		return &api.Error{
			Code: api.Unauthenticated, Reason: "credential_invalid", Message: "the forge refuses the bridge's credential",
			Hint: askOperator + " to renew it (ship credential add, or the GitHub App's key)", Err: r.cause(),
		}
	case http.StatusForbidden:
		return r.forbidden()
	case http.StatusNotFound:
		return &api.Error{Code: api.NotFound, Reason: missing, Message: "the forge has nothing there, or does not show it to the bridge", Err: r.cause()}
	case http.StatusGone:
		return r.gone()
	case http.StatusConflict:
		return &api.Error{Code: api.Conflict, Reason: "forge_conflict", Message: "the forge says that this conflicts with what is there" + r.quote(), Err: r.cause()}
	case http.StatusUnprocessableEntity, http.StatusBadRequest:
		return r.invalid()
	case http.StatusUnavailableForLegalReasons:
		return &api.Error{Code: api.Forbidden, Reason: "legal", Message: "the forge withholds this for legal reasons", Err: r.cause()}
	}
	return r.unexpected()
}

// unexpected is a status that says nothing of the request: of a write with a 5xx, nobody knows
// whether it was done.
func (r refusal) unexpected() *api.Error {
	e := &api.Error{
		Code: api.Unavailable, Reason: "forge_unavailable", Message: "the forge answered with HTTP " + strconv.Itoa(r.status),
		Hint: "try again in a minute", RetryAfterSeconds: max(r.retryAfter(), 10), Err: r.cause(),
	}
	switch {
	case r.write && (r.status >= 500 || r.status < 300):
		e.Code, e.Reason, e.RetryAfterSeconds = api.OutcomeUnknown, "forge_error", 0
		e.Message += ": the request may have been done"
		e.Hint = "look at the issue or pull request before you try again"
	case r.status == http.StatusAccepted:
		e.Reason, e.Message = "computing", "the forge is still computing the answer"
		e.Hint = "try again in a few seconds"
	case r.status < 500:
		e.Code, e.RetryAfterSeconds, e.Hint = api.Internal, 0, ""
		e.Reason = "forge_answer"
	}
	return e
}

// answered is the cause of a refusal's error: what the forge said, for the operator's log, and what
// else of it matters later.
type answered struct {
	text   string
	status int
	needs  string // the permissions that would do
}

func (a *answered) Error() string { return a.text }

func (r refusal) cause() error {
	text := "HTTP " + strconv.Itoa(r.status) + r.quote()
	if id := r.header.Get("X-GitHub-Request-Id"); id != "" && len(id) < 64 {
		text += " (request " + id + ")"
	}
	return &answered{text: text, status: r.status, needs: r.needs()}
}

// quote gives what the forge said, to be put behind a sentence of ours.
func (r refusal) quote() string {
	said := r.message
	if len(r.details) > 0 {
		said += " (" + strings.Join(r.details, "; ") + ")"
	}
	if said = r.scrub(said); said == "" {
		return ""
	}
	return `; it says: "` + said + `"`
}

// queries follow an address; a signed one's are a secret.
var queries = regexp.MustCompile(`(https?://[^\s"'<>?#]+)[?#][^\s"'<>]*`)

// scrub makes forge text fit to be quoted: one line, bounded, without credentials and without
// the queries of addresses.
func (r refusal) scrub(text string) string {
	text = strings.Join(strings.Fields(bridge.CleanText(escapes.ReplaceAllString(text, ""))), " ")
	// What an escape had split is whole now. A credential may have a question mark in it.
	text = maskText(queries.ReplaceAllString(r.mask(text), "$1"))
	if runes := []rune(text); len(runes) > maxQuote {
		text = string(runes[:maxQuote]) + "…"
	}
	return text
}
