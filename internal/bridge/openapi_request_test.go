package bridge

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"fleet/api"
)

func TestEachRouteTakesWhatIsDescribed(t *testing.T) {
	doc := loadContract(t).doc
	for _, r := range routes() {
		item := doc.Paths.Value(r.path)
		if item == nil || item.GetOperation(r.method) == nil {
			t.Errorf("%s %s is not described", r.method, r.path)
			continue
		}
		op := item.GetOperation(r.method)
		q := Request{Op: r.op}
		if !slices.Equal(op.Tags, []string{q.verb()}) {
			t.Errorf("%s is tagged %q, and needs %s", r.op, op.Tags, q.verb())
		}
		for name := range doc.Components.Parameters {
			takes := fillQuery(&Request{Op: r.op}, url.Values{name: {"1"}}) == nil
			if described := op.Parameters.GetByInAndName("query", name) != nil; takes != described {
				t.Errorf("%s takes the parameter %s: %v; described: %v", r.op, name, takes, described)
			}
		}
		key := op.Parameters.GetByInAndName("header", api.HeaderKey)
		if (key != nil && key.Required) != q.writes() || (op.RequestBody != nil) != q.writes() {
			t.Errorf("%s writes: %v; key %v and body %v are described", r.op, q.writes(), key, op.RequestBody)
		}
		if item.Parameters.GetByInAndName("header", api.HeaderWorkspace) == nil {
			t.Errorf("%s has no workspace", r.op)
		}
	}
}

func TestTheClientAsksAsDescribed(t *testing.T) {
	k := loadContract(t)
	f := &wordyForge{}
	b := openBench(t, "", &f.fakeForge, f.provider)
	server := httptest.NewServer(k.watch(t, b.Handler()))
	defer server.Close()
	ship := clientTo(t, server.URL, b.Local())
	for name, r := range map[string]Request{
		"info":           {Op: OpInfo},
		"issues":         {Op: OpIssueList, State: "all"},
		"issue":          {Op: OpIssueView, Number: 7},
		"pulls":          {Op: OpPRList},
		"pull":           {Op: OpPRView, Number: 7},
		"checks":         {Op: OpChecks, Target: api.Target{Pull: 7}},
		"of a ref":       {Op: OpChecks, Target: api.Target{Ref: "feature/a+b&c=d#1"}},
		"logs":           {Op: OpFailedLogs, Target: api.Target{Branch: "é", SHA: headSHA}},
		"comment":        {Op: OpIssueComment, Number: 7, Body: "é <b> \"q\""},
		"pull comment":   {Op: OpPRComment, Number: 7, Body: "done"},
		"approval":       {Op: OpPRReview, Number: 7, Event: "APPROVE"},
		"of a commit":    {Op: OpPRReview, Number: 7, Event: "REQUEST_CHANGES", Body: "no", Head: headSHA},
		"a cursor's end": {Op: OpPRView, Number: 7, Cursor: "-"},
	} {
		r.Repo, r.Workspace = "widgets", "wörk space"
		if r.writes() {
			r.Key = comment("").Key
		}
		raw, err := ship.Do(t.Context(), r)
		if r.Cursor != "" {
			expectError(t, err, "invalid/bad_cursor")
			continue
		}
		page := decode[struct {
			Next string `json:"next_cursor"`
		}](t, raw, err)
		if r.Cursor = page.Next; r.Cursor == "" {
			continue
		}
		if _, err := ship.Do(t.Context(), r); err != nil {
			t.Errorf("%s, the next page: %v", name, err)
		}
	}
}

func TestTheBridgeRefusesWhatTheDocumentForbids(t *testing.T) {
	k := loadContract(t)
	f := &wordyForge{}
	b := openBench(t, "", &f.fakeForge, f.provider)
	const at, comments, reviews = "/v1/repos/widgets", "/v1/repos/widgets/issues/7/comments", "/v1/repos/widgets/pulls/7/reviews"
	cases := map[string]struct {
		method, target, body string
		noKey, fine          bool
	}{
		"all":                {"GET", at + "/issues?state=all", "", false, true},
		"a commit":           {"GET", at + "/checks?branch=main&sha=" + headSHA, "", false, true},
		"a comment":          {"POST", comments, `{"body":"a comment"}`, false, true},
		"an approval":        {"POST", reviews, `{"event":"APPROVE"}`, false, true},
		"a longest comment":  {"POST", comments, `{"body":"` + strings.Repeat("é", 65_536) + `"}`, false, true},
		"a longer comment":   {"POST", comments, `{"body":"` + strings.Repeat("é", 65_537) + `"}`, false, false},
		"another state":      {"GET", at + "/issues?state=merged", "", false, false},
		"another parameter":  {"GET", at + "?limit=3", "", false, false},
		"number 0":           {"GET", at + "/issues/0", "", false, false},
		"a number beyond":    {"GET", at + "/issues/2147483648", "", false, false},
		"a word for number":  {"GET", at + "/issues/x", "", false, false},
		"a pull beyond":      {"GET", at + "/checks?pr=2147483648", "", false, false},
		"a longer ref":       {"GET", at + "/checks?ref=" + strings.Repeat("x", 1025), "", false, false},
		"half a commit":      {"GET", at + "/checks?branch=main&sha=1111", "", false, false},
		"no key":             {"POST", comments, `{"body":"no key"}`, true, false},
		"no body":            {"POST", comments, "", false, false},
		"no text":            {"POST", comments, "{}", false, false},
		"another member":     {"POST", comments, `{"body":"x","to":"y"}`, false, false},
		"a number for text":  {"POST", comments, `{"body":7}`, false, false},
		"null for text":      {"POST", comments, `{"body":null}`, false, false},
		"capitals":           {"POST", comments, `{"Body":"x"}`, false, false},
		"folded letters":     {"POST", comments, `{"body":"x","ſha":"y"}`, false, false},
		"a comment's event":  {"POST", comments, `{"body":"x","event":"APPROVE"}`, false, false},
		"a comment's head":   {"POST", comments, `{"body":"x","head":"` + headSHA + `"}`, false, false},
		"a list":             {"POST", comments, `["x"]`, false, false},
		"no commit at all":   {"POST", reviews, `{"event":"APPROVE","head":""}`, false, false},
		"an empty approval":  {"POST", reviews, `{"event":"APPROVE","body":""}`, false, true},
		"a review's capital": {"POST", reviews, `{"EVENT":"APPROVE"}`, false, false},
		"no verdict":         {"POST", reviews, `{"body":"x"}`, false, false},
		"another verdict":    {"POST", reviews, `{"body":"x","event":"MERGE"}`, false, false},
		"no for no reason":   {"POST", reviews, `{"event":"REQUEST_CHANGES"}`, false, false},
		"of half a commit":   {"POST", reviews, `{"event":"APPROVE","head":"1111"}`, false, false},
		"an address too far": {"GET", at + "/forks", "", false, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			key := comment("").Key
			if c.noKey {
				key = ""
			}
			r := httptest.NewRequest(c.method, c.target, nil)
			r.Header = http.Header{"Authorization": {"Bearer x"}, "Content-Type": {"application/json"}, api.HeaderKey: {key}}
			err := k.request(r, c.body)
			w := k.send(t, b.Handler(), b.Local(), c.method, c.target, key, c.body)
			if (err == nil) != c.fine || (w.Code == 200) != c.fine {
				t.Errorf("the document says %v, the bridge %d %s; want both to take it: %v", err, w.Code, w.Body, c.fine)
			}
		})
	}
}
