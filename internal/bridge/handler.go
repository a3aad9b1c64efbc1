package bridge

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"fleet/api"
)

const jsonType = "application/json"

// route is one operation's place in the HTTP API. Handler and client both go by it.
type route struct {
	op     string
	method string
	path   string // {repo} and {number} stand for one segment each
}

func routes() []route {
	return []route{
		{OpInfo, http.MethodGet, "/v1/repos/{repo}"},
		{OpIssueList, http.MethodGet, "/v1/repos/{repo}/issues"},
		{OpIssueView, http.MethodGet, "/v1/repos/{repo}/issues/{number}"},
		{OpIssueComment, http.MethodPost, "/v1/repos/{repo}/issues/{number}/comments"},
		{OpPRList, http.MethodGet, "/v1/repos/{repo}/pulls"},
		{OpPRView, http.MethodGet, "/v1/repos/{repo}/pulls/{number}"},
		{OpPRComment, http.MethodPost, "/v1/repos/{repo}/pulls/{number}/comments"},
		{OpPRReview, http.MethodPost, "/v1/repos/{repo}/pulls/{number}/reviews"},
		{OpChecks, http.MethodGet, "/v1/repos/{repo}/checks"},
		{OpFailedLogs, http.MethodGet, "/v1/repos/{repo}/failed-logs"},
	}
}

// match gives the values of the placeholders, where path is one of the route's. Segments are
// compared as they were sent and decoded one by one, so that no %2F makes two of one.
func (r route) match(path string) (repo, number string, ok bool) {
	want, got := strings.Split(r.path, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return "", "", false
	}
	for i, w := range want {
		switch w {
		case "{repo}":
			repo = got[i]
		case "{number}":
			number = got[i]
		default:
			if w != got[i] {
				return "", "", false
			}
		}
	}
	return repo, number, true
}

// Handler is the bridge's HTTP API, for ships. It redirects nowhere.
func (b *Broker) Handler() http.Handler {
	return identified(b.log, http.HandlerFunc(b.serve))
}

func (b *Broker) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/healthz" {
		b.health(w, r)
		return
	}
	ship := bearer(r)
	if _, err := b.desk.grants.find(ship); err != nil { // before anything of a stranger's is read
		sendProblem(w, asError(err))
		return
	}
	request, refusal := parseRequest(w, r)
	if refusal != nil {
		sendProblem(w, refusal)
		return
	}
	answer, err := b.do(r.Context(), ship, request, w.Header().Get(api.HeaderRequestID))
	if err != nil {
		sendProblem(w, asError(err))
		return
	}
	w.Header().Set("Content-Type", jsonType)
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(answer)
}

// health says that the bridge serves, to everyone. Whoever shows a credential learns too whether it
// is a ship's.
func (b *Broker) health(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		sendProblem(w, otherMethod(w, http.MethodGet, http.MethodHead))
		return
	}
	if ship := bearer(r); !ship.IsZero() {
		if _, err := b.desk.grants.find(ship); err != nil {
			sendProblem(w, asError(err))
			return
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ok\n")
}

// otherMethod refuses what isn't one of the methods that an address takes, and lists them as
// RFC 9110 §15.5.6 wants.
func otherMethod(w http.ResponseWriter, allowed ...string) *api.Error {
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	return &api.Error{Code: api.Invalid, Reason: "method", Message: "this address takes " + strings.Join(allowed, " and ") + " only"}
}

// bearer takes the credential of RFC 6750 §2.1. More than one header is none.
func bearer(r *http.Request) Secret {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return Secret{}
	}
	scheme, credential, ok := strings.Cut(values[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return Secret{}
	}
	return NewSecret(strings.TrimLeft(credential, " "))
}

// parseRequest makes a Request of an HTTP request. What it refuses, it refuses to everyone alike:
// it looks at nothing but the request's form.
func parseRequest(w http.ResponseWriter, r *http.Request) (Request, *api.Error) {
	var allowed []string
	for _, one := range routes() {
		repo, number, ok := one.match(r.URL.EscapedPath())
		if !ok {
			continue
		}
		if one.method != r.Method {
			allowed = append(allowed, one.method)
			continue
		}
		return fillRequest(w, r, Request{Op: one.op}, repo, number)
	}
	if len(allowed) > 0 {
		return Request{}, otherMethod(w, allowed...)
	}
	return Request{}, &api.Error{Code: api.NotFound, Reason: "no_route", Message: "the bridge has nothing at this address"}
}

func fillRequest(w http.ResponseWriter, r *http.Request, q Request, repo, number string) (Request, *api.Error) {
	for _, name := range []string{api.HeaderWorkspace, api.HeaderKey} {
		if len(r.Header.Values(name)) > 1 {
			return q, &api.Error{Code: api.Invalid, Reason: "header", Message: "the header " + name + " comes twice"}
		}
	}
	var errs [3]error
	q.Repo, errs[0] = url.PathUnescape(repo)
	q.Workspace, errs[1] = url.PathUnescape(r.Header.Get(api.HeaderWorkspace))
	if number != "" {
		q.Number = parseNumber(number)
	}
	q.Key = r.Header.Get(api.HeaderKey)
	var values url.Values
	values, errs[2] = url.ParseQuery(r.URL.RawQuery)
	if errors.Join(errs[:]...) != nil || !utf8.ValidString(q.Repo) {
		return q, &api.Error{Code: api.Invalid, Reason: "escape", Message: "the address or a header is not escaped as it should be"}
	}
	if err := fillQuery(&q, values); err != nil {
		return q, err
	}
	if r.Method != http.MethodPost {
		return q, nil
	}
	return q, fillBody(w, r, &q)
}

// fillQuery takes the parameters of the operation, each once at most, and no others.
func fillQuery(q *Request, values url.Values) *api.Error {
	known := map[string][]string{
		OpIssueList: {"state", "cursor"}, OpPRList: {"state", "cursor"}, OpIssueView: {"cursor"}, OpPRView: {"cursor"},
		OpChecks: {"pr", "ref", "branch", "sha", "cursor"}, OpFailedLogs: {"pr", "ref", "branch", "sha", "cursor"},
	}[q.Op]
	for name, all := range values {
		if !slices.Contains(known, name) || len(all) != 1 || all[0] == "" {
			return &api.Error{Code: api.Invalid, Reason: "parameter", Message: "the address's parameter " + quoted(name) + " is unknown, empty or comes twice"}
		}
	}
	q.State, q.Cursor = values.Get("state"), values.Get("cursor")
	q.Target = api.Target{Ref: values.Get("ref"), Branch: values.Get("branch"), SHA: values.Get("sha")}
	if pull := values.Get("pr"); pull != "" {
		q.Target.Pull = parseNumber(pull)
	}
	return nil
}

// parseNumber gives -1, which no request may have, for what isn't a number's plain digits: 007 and
// +7 would be other names of 7.
func parseNumber(s string) int {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n <= 0 || strconv.FormatInt(n, 10) != s {
		return -1
	}
	return int(n)
}
