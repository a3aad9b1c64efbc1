package bridgetest_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"fleet/internal/bridge/bridgetest"
)

// ask sends one request to the stand-in under its own credential, and gives status and body.
func ask(t *testing.T, g *bridgetest.GitHub, method, path, body string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, g.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+g.Token())
	req.Header.Set("User-Agent", "test")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp, string(raw)
}

// world is a repository with something of everything.
func world(g *bridgetest.GitHub) *bridgetest.Repo {
	r := g.Repo("acme/widgets").Describe("Widgets").Member("mia", "MEMBER")
	r.Issue("Crash").Body("it crashes").Label("bug").Assign("bob").Milestone("1.0").Comment("bob", "me too").Edit("me too!")
	p := r.Pull("Fix").From("fix").Body("fixes it").AskReview("bob")
	p.Comment("mia", "nice")
	p.Review("bob", bridgetest.Approved, "good")
	p.Review("", bridgetest.Commented, "a ghost")
	p.LineComment("bob", "main.go", 3, "why?").Reply("ann", "because").Resolve()
	p.LineComment("bob", "main.go", 9, "old").Outdate()
	run := r.Run("CI", p.Head())
	run.Job("lint")
	run.Job("test (1.25)").Fails("Run go test", "--- FAIL: TestX").Annotate("x_test.go", 7, "failure", "boom")
	run.Job("deploy").Is("in_progress", "")
	r.Check("codecov", "coverage", p.Head()).Is("completed", "neutral").Output("80 %", "less than before")
	r.Status(p.Head(), "ci/jenkins", "failure", "broken")
	return r
}

func TestEveryAddressOfTheStandInKeepsToGitHubsDescription(t *testing.T) {
	g := bridgetest.NewGitHub(t)
	r := world(g)
	pull, run, job := "2", "", ""
	_, runs := ask(t, g, "GET", "/repos/acme/widgets/actions/runs", "")
	run = first(t, runs, "workflow_runs")
	_, jobs := ask(t, g, "GET", "/repos/acme/widgets/actions/runs/"+run+"/jobs", "")
	job = first(t, jobs, "jobs")
	statuses := map[string]int{
		"GET /repos/acme/widgets":                                          200,
		"GET /repos/acme/widgets/issues?state=all&per_page=1":              200,
		"GET /repos/acme/widgets/issues/1":                                 200,
		"GET /repos/acme/widgets/issues/2":                                 200,
		"GET /repos/acme/widgets/issues/99":                                404,
		"GET /repos/acme/widgets/issues/1/comments":                        200,
		"GET /repos/acme/widgets/pulls?state=closed":                       200,
		"GET /repos/acme/widgets/pulls":                                    200,
		"GET /repos/acme/widgets/pulls/" + pull:                            200,
		"GET /repos/acme/widgets/pulls/" + pull + "/reviews":               200,
		"GET /repos/acme/widgets/pulls/" + pull + "/comments":              200,
		"GET /repos/acme/widgets/branches/fix":                             200,
		"GET /repos/acme/widgets/branches/none":                            404,
		"GET /repos/acme/widgets/commits/heads%2Ffix":                      200,
		"GET /repos/acme/widgets/commits/none":                             422,
		"GET /repos/acme/widgets/commits/fix/check-runs?filter=latest":     200,
		"GET /repos/acme/widgets/commits/fix/status":                       200,
		"GET /repos/acme/widgets/check-runs/" + job + "/annotations":       200,
		"GET /repos/acme/widgets/actions/runs/" + run:                      200,
		"GET /repos/acme/widgets/actions/runs/" + run + "/artifacts":       200,
		"GET /repos/acme/widgets/actions/jobs/" + job:                      200,
		"GET /repos/acme/widgets/actions/jobs/" + job + "/logs":            302,
		"GET /repos/acme/nothing":                                          404,
		"GET /user":                                                        200,
		"GET /meta":                                                        200,
		"GET /rate_limit":                                                  200,
		"POST /repos/acme/widgets/issues/1/comments {\"body\":\"hello\"}":  201,
		"POST /repos/acme/widgets/issues/1/comments {\"body\":\" \"}":      422,
		"POST /repos/acme/widgets/issues/99/comments {\"body\":\"hello\"}": 404,
		"POST /repos/acme/widgets/pulls/2/reviews {\"event\":\"APPROVE\"}": 200,
		"POST /graphql {\"query\":\"query { viewer { login } }\"}":         200,
	}
	for what, want := range statuses {
		parts := strings.SplitN(what, " ", 3)
		body := ""
		if len(parts) == 3 {
			body = parts[2]
		}
		for _, base := range []string{"", "/api/v3"} {
			path := base + parts[1]
			if parts[1] == "/graphql" && base != "" {
				path = "/api/graphql"
			}
			if resp, text := ask(t, g, parts[0], path, body); resp.StatusCode != want {
				t.Errorf("%s: status %d, want %d; body %.300s", what, resp.StatusCode, want, text)
			}
		}
	}
	r.Rename("acme/gadgets")
	if resp, _ := ask(t, g, "GET", "/repos/acme/widgets/issues?state=all", ""); resp.StatusCode != 301 {
		t.Errorf("GET of a renamed repository: status %d, want 301", resp.StatusCode)
	}
}

// first gives the number of the first item of a list within an answer.
func first(t *testing.T, body, list string) string {
	t.Helper()
	var all map[string]json.RawMessage
	var items []struct{ ID json.Number }
	if json.Unmarshal([]byte(body), &all) != nil || json.Unmarshal(all[list], &items) != nil || len(items) == 0 {
		t.Fatalf("%s has no %s", body, list)
	}
	return items[0].ID.String()
}

func TestARuleBreaksTheAnswerWhereItSays(t *testing.T) {
	g := bridgetest.NewGitHub(t)
	i := g.Repo("acme/widgets").Issue("Crash")
	post := func() string {
		conn, err := net.Dial("tcp", strings.TrimPrefix(g.URL(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_, err = io.WriteString(conn, "POST /repos/acme/widgets/issues/1/comments HTTP/1.1\r\nHost: x\r\nUser-Agent: t\r\nAuthorization: Bearer "+g.Token()+
			"\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{\"body\":\"x\"}")
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := io.ReadAll(conn) // which a reset may end
		return string(raw)
	}
	for name, c := range map[string]struct {
		breaks func(*bridgetest.Rule)
		bytes  int
		stored int
	}{
		"cut":                       {func(r *bridgetest.Rule) { r.CutAfter(20) }, 20, 1},
		"reset":                     {func(r *bridgetest.Rule) { r.ResetAfter(33) }, 33, 1},
		"closed before anything":    {func(r *bridgetest.Rule) { r.DropBefore() }, 0, 0},
		"closed without an answer":  {func(r *bridgetest.Rule) { r.CutAfter(0) }, 0, 1},
		"a page, nothing done":      {func(r *bridgetest.Rule) { r.Page(502) }, -1, 0},
		"a page, though it is done": {func(r *bridgetest.Rule) { r.FailAfter(500) }, -1, 1},
		"half a JSON":               {func(r *bridgetest.Rule) { r.HalfJSON() }, -1, 1},
		"slow":                      {func(r *bridgetest.Rule) { r.Slow(500, time.Millisecond) }, -1, 1},
	} {
		before := len(i.Texts())
		rule := g.When("POST", "/repos/*/*/issues/*/comments").Times(1)
		c.breaks(rule)
		answer := post()
		if c.bytes >= 0 && len(answer) != c.bytes || c.bytes < 0 && !strings.HasPrefix(answer, "HTTP/1.1 ") || len(i.Texts())-before != c.stored || rule.Hits() != 1 {
			t.Errorf("%s: %d bytes, %d comments stored, %d hits: %.60q", name, len(answer), len(i.Texts())-before, rule.Hits(), answer)
		}
	}
}
