package bridgetest

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// violationsOf sends a request to a stand-in of its own, which the story was told to, and gives
// what was found to be wrong.
func violationsOf(t *testing.T, story func(*Repo), method, path, body string) []string {
	t.Helper()
	g, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	r := g.Repo("acme/widgets")
	r.Issue("an issue")
	r.Pull("a pull request")
	if story != nil {
		story(r)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, g.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+g.Token())
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return g.Violations()
}

func TestWhatGitHubDoesNotTakeIsAViolation(t *testing.T) {
	const comments, reviews = "/repos/acme/widgets/issues/1/comments", "/repos/acme/widgets/pulls/2/reviews"
	cases := map[string]struct{ method, path, body, want string }{
		"a comment without a body":             {"POST", comments, `{"text":"hello"}`, "body"},
		"a comment whose body is a number":     {"POST", comments, `{"body":7}`, "body"},
		"a comment that is no JSON":            {"POST", comments, `hello`, "request body"},
		"an event of another forge":            {"POST", reviews, `{"event":"APPROVED","body":"x"}`, "event"},
		"a state that no list has":             {"GET", "/repos/acme/widgets/issues?state=merged", "", "state"},
		"a parameter that GitHub has not":      {"GET", "/repos/acme/widgets/issues?limit=50", "", "limit"},
		"a parameter of another address":       {"GET", "/repos/acme/widgets/actions/runs?sha=abc", "", "sha"},
		"a page that is no number":             {"GET", "/repos/acme/widgets/issues?page=two", "", "page"},
		"a number that is none":                {"GET", "/repos/acme/widgets/issues/one", "", "issue_number"},
		"an address that GitHub has not":       {"GET", "/repos/acme/widgets/merge_requests", "", "no address"},
		"a method that the address has not":    {"PUT", comments, `{"body":"x"}`, "no address"},
		"a parameter beside the description":   {"GET", "/repos/acme/widgets/commits/main?limit=1", "", "limit"},
		"a GraphQL query that is none":         {"POST", "/graphql", `{"query":"query { viewer { login }"}`, "GraphQL"},
		"a GraphQL field that is none":         {"POST", "/graphql", `{"query":"query { viewer { token } }"}`, "token"},
		"a GraphQL variable of another type":   {"POST", "/graphql", `{"query":"query($n: Int!) { viewer { login } }","variables":{"n":"x"}}`, "$n"},
		"a GraphQL list without a size":        {"POST", "/graphql", `{"query":"query { repository(owner: \"acme\", name: \"widgets\") { pullRequest(number: 2) { reviewThreads { nodes { id } } } } }"}`, "first"},
		"a check's annotations without a list": {"GET", "/repos/acme/widgets/check-runs/x/annotations", "", "check_run_id"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			found := violationsOf(t, nil, c.method, c.path, c.body)
			if len(found) == 0 || !strings.Contains(strings.Join(found, "\n"), c.want) {
				t.Errorf("%s %s %s: violations %q, want one about %q", c.method, c.path, c.body, found, c.want)
			}
		})
	}
	if found := violationsOf(t, nil, "POST", comments, `{"body":"hello"}`); len(found) != 0 {
		t.Errorf("a good request: violations %q", found)
	}
}

func TestAWrongAnswerOfTheStandInIsAViolation(t *testing.T) {
	stories := map[string]struct {
		story func(*Repo)
		path  string
		want  string
	}{
		"a check in a state that GitHub has not": {
			func(r *Repo) { r.Check("app", "lint", r.Branch("x")).Is("sleeping", "") }, "/commits/x/check-runs", "status",
		},
		"a check with a conclusion that GitHub has not": {
			func(r *Repo) { r.Check("app", "lint", r.Branch("x")).Is("completed", "exploded") }, "/commits/x/check-runs", "conclusion",
		},
		"an association that GitHub has not": {func(r *Repo) { r.Member("ann", "FRIEND") }, "/issues/1", "author_association"},
	}
	for name, c := range stories {
		t.Run(name, func(t *testing.T) {
			found := violationsOf(t, c.story, "GET", "/repos/acme/widgets"+c.path, "")
			if !strings.Contains(strings.Join(found, "\n"), c.want) {
				t.Errorf("violations %q, want one about %s", found, c.want)
			}
		})
	}
}

func TestAnswersAreHeldToTheDescriptionToTheLastField(t *testing.T) {
	for name, change := range map[string]func(object){
		"a field is missing":          func(o object) { delete(o, "html_url") },
		"a field has another type":    func(o object) { o["id"] = "7" },
		"a field is of our own wish":  func(o object) { o["is_nice"] = true },
		"a field within is missing":   func(o object) { delete(o["user"].(object), "node_id") },
		"a field within is our wish":  func(o object) { o["user"].(object)["mood"] = "good" },
		"a text is null that may not": func(o object) { o["body"] = nil },
	} {
		t.Run(name, func(t *testing.T) {
			c := &call{gh: &GitHub{accounts: map[string]*account{}}, base: "http://x", route: &route{method: "GET", path: repository + "/issues/{issue_number}/comments"}}
			c.req, _ = http.NewRequestWithContext(t.Context(), "GET", "http://x/repos/acme/widgets/issues/1/comments", nil)
			c.params = map[string]string{"owner": "acme", "repo": "widgets", "issue_number": "1"}
			i := &Issue{repo: &Repo{gh: c.gh, owner: "acme", name: "widgets"}, number: 1}
			shown := c.comment(&Comment{issue: i, id: 7, by: "bob", body: "hello", created: now(), updated: now()})
			c.checkAnswer(&reply{status: 200, body: []any{shown}})
			if len(c.gh.violations) != 0 {
				t.Fatalf("a good answer: violations %q", c.gh.violations)
			}
			change(shown)
			c.checkAnswer(&reply{status: 200, body: []any{shown}})
			if len(c.gh.violations) != 1 {
				t.Errorf("violations %q, want one", c.gh.violations)
			}
		})
	}
}
