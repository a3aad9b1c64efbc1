package bridge

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"fleet/api"
)

func TestABodyIsTakenExactlyAsDescribed(t *testing.T) {
	f := &fakeForge{}
	b := openBench(t, "", f)
	const comments, reviews = "/v1/repos/widgets/issues/7/comments", "/v1/repos/widgets/pulls/7/reviews"
	cases := map[string]struct {
		target, body  string
		types         []string // Content-Type
		keys          int      // how many keys come along
		reason, names string   // "": it is posted; what the refusal names
	}{
		"as it is":              {comments, `{"body":"1"}`, []string{"application/json"}, 1, "", ""},
		"with a charset":        {comments, `{"body":"2"}`, []string{"Application/JSON; charset=UTF-8"}, 1, "", ""},
		"no type":               {comments, `{"body":"x"}`, nil, 1, "content_type", "application/json"},
		"a form":                {comments, `{"body":"x"}`, []string{"application/x-www-form-urlencoded"}, 1, "content_type", "application/json"},
		"plain text":            {comments, `{"body":"x"}`, []string{"text/plain"}, 1, "content_type", "application/json"},
		"another charset":       {comments, `{"body":"x"}`, []string{"application/json; charset=latin1"}, 1, "content_type", "application/json"},
		"two types":             {comments, `{"body":"x"}`, []string{"application/json", "text/plain"}, 1, "content_type", "application/json"},
		"two keys":              {comments, `{"body":"x"}`, []string{"application/json"}, 2, "header", "Idempotency-Key"},
		"a member twice":        {comments, `{"body":"x","body":"y"}`, []string{"application/json"}, 1, "body_json", `"body" comes twice`},
		"twice, once escaped":   {comments, `{"body":"x","b\u006fdy":"y"}`, []string{"application/json"}, 1, "body_json", `"body" comes twice`},
		"a member in capitals":  {comments, `{"Body":"x"}`, []string{"application/json"}, 1, "body_json", `"Body"`},
		"a comment's verdict":   {comments, `{"body":"x","event":""}`, []string{"application/json"}, 1, "body_json", `"event"`},
		"a comment's commit":    {comments, `{"body":"x","head":null}`, []string{"application/json"}, 1, "body_json", `"head"`},
		"null for a text":       {reviews, `{"event":"APPROVE","body":null}`, []string{"application/json"}, 1, "body_json", `"body" is null`},
		"no commit of a review": {reviews, `{"event":"APPROVE","head":""}`, []string{"application/json"}, 1, "bad_sha", "head"},
		"null":                  {comments, `null`, []string{"application/json"}, 1, "body_json", "JSON object"},
		"half an object":        {comments, `{"body":"x"`, []string{"application/json"}, 1, "body_json", "JSON object"},
		"a comma too many":      {comments, `{"body":"x",}`, []string{"application/json"}, 1, "body_json", "JSON object"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest("POST", c.target, strings.NewReader(c.body))
			r.Header.Set("Authorization", "Bearer "+b.Local().Reveal())
			r.Header["Content-Type"] = c.types
			for range c.keys {
				r.Header.Add(api.HeaderKey, comment("").Key)
			}
			before := f.called("Write")
			w := httptest.NewRecorder()
			b.Handler().ServeHTTP(w, r)
			var p api.Problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
				t.Fatal(err)
			}
			if p.Reason != c.reason || !strings.Contains(p.Detail, c.names) || (w.Code == 200) != (c.reason == "") {
				t.Errorf("%d %s, want the reason %q and %s", w.Code, w.Body, c.reason, c.names)
			}
			if posted := f.called("Write") > before; posted != (c.reason == "") {
				t.Errorf("posted: %v", posted)
			}
		})
	}
}
