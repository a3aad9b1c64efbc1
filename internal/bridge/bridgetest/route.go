package bridgetest

import (
	"net/http"
	"net/url"
	"strings"
)

// route is an address of the API.
type route struct {
	method string
	path   string // as GitHub's description writes it
	needs  string // permissions, as X-Accepted-GitHub-Permissions writes them
	serve  func(*call) reply
	open   bool // it has its own way to know who asks, or needs none
}

const (
	issuesRead   = "issues=read; pull_requests=read"
	pullsRead    = "pull_requests=read"
	pullsWrite   = "pull_requests=write"
	checksRead   = "checks=read"
	statusesRead = "statuses=read"
	actionsRead  = "actions=read"
	contentsRead = "contents=read"
	repository   = "/repos/{owner}/{repo}"
)

// routes are all addresses that the stand-in knows.
func routes() []route {
	get, post := http.MethodGet, http.MethodPost
	return []route{
		{method: get, path: repository, needs: "metadata=read", serve: showRepository},
		{method: get, path: repository + "/issues", needs: issuesRead, serve: listIssues},
		{method: get, path: repository + "/issues/{issue_number}", needs: issuesRead, serve: showIssue},
		{method: get, path: repository + "/issues/{issue_number}/comments", needs: issuesRead, serve: listComments},
		{method: post, path: repository + "/issues/{issue_number}/comments", needs: "issues=write", serve: postComment},
		{method: get, path: repository + "/pulls", needs: pullsRead, serve: listPulls},
		{method: get, path: repository + "/pulls/{pull_number}", needs: pullsRead, serve: showPull},
		{method: get, path: repository + "/pulls/{pull_number}/reviews", needs: pullsRead, serve: listReviews},
		{method: post, path: repository + "/pulls/{pull_number}/reviews", needs: pullsWrite, serve: postReview},
		{method: get, path: repository + "/pulls/{pull_number}/comments", needs: pullsRead, serve: listLineComments},
		{method: get, path: repository + "/branches/{branch}", needs: contentsRead, serve: showBranch},
		{method: get, path: repository + "/commits/{ref}", needs: contentsRead, serve: showCommit},
		{method: get, path: repository + "/commits/{ref}/check-runs", needs: checksRead, serve: listChecks},
		{method: get, path: repository + "/commits/{ref}/status", needs: statusesRead, serve: showStatus},
		{method: get, path: repository + "/check-runs/{check_run_id}/annotations", needs: checksRead, serve: listAnnotations},
		{method: get, path: repository + "/actions/runs", needs: actionsRead, serve: listRuns},
		{method: get, path: repository + "/actions/runs/{run_id}", needs: actionsRead, serve: showRun},
		{method: get, path: repository + "/actions/runs/{run_id}/jobs", needs: actionsRead, serve: listJobs},
		{method: get, path: repository + "/actions/runs/{run_id}/artifacts", needs: actionsRead, serve: listArtifacts},
		{method: get, path: repository + "/actions/workflows", needs: actionsRead, serve: listWorkflows},
		{method: get, path: repository + "/actions/workflows/{workflow_id}", needs: actionsRead, serve: showWorkflow},
		{method: get, path: repository + "/actions/jobs/{job_id}", needs: actionsRead, serve: showJob},
		{method: get, path: repository + "/actions/jobs/{job_id}/logs", needs: actionsRead, serve: jobLogs},
		{method: get, path: repository + "/installation", serve: showInstallation, open: true},
		{method: post, path: "/app/installations/{installation_id}/access_tokens", serve: mintToken, open: true},
		{method: get, path: "/user", serve: showUser},
		{method: get, path: "/meta", serve: showMeta},
		{method: get, path: "/rate_limit", serve: showQuota},
		{method: post, path: "/graphql", serve: graphQL},
	}
}

// find looks for the route of a request, for its parameters and its repository, and holds the
// request to GitHub's description.
func (c *call) find() {
	path := c.path
	if rest, ok := strings.CutPrefix(path, "/repositories/"); ok {
		id, below, _ := strings.Cut(rest, "/")
		for _, r := range c.gh.repos {
			if number(r.id) == id {
				c.repo = r
			}
		}
		path = strings.TrimSuffix("/repos/-/-/"+below, "/")
	}
	for _, one := range routes() {
		params, ok := one.match(path)
		if !ok || one.method != c.req.Method {
			continue
		}
		c.route, c.params = &one, params
		if c.repo == nil && strings.HasPrefix(c.path, "/repos/") {
			c.findRepo()
		}
		c.checkRequest()
		return
	}
}

// findRepo takes the repository by its name. A name that it had before leads on.
func (c *call) findRepo() {
	r, moved := c.gh.locate(c.params["owner"] + "/" + c.params["repo"])
	c.repo = r
	if !moved {
		return
	}
	_, below, _ := strings.Cut(strings.TrimPrefix(c.path, "/repos/"), "/")
	_, below, _ = strings.Cut(below, "/")
	to := strings.TrimSuffix(c.base+"/repositories/"+number(r.id)+"/"+below, "/")
	c.route = &route{method: c.route.method, path: c.route.path, needs: "metadata=read", serve: func(c *call) reply { return c.leadTo(to) }}
}

// leadTo redirects as GitHub does: a read with 301, a write with 307, which keeps it a write.
func (c *call) leadTo(to string) reply {
	if c.req.URL.RawQuery != "" {
		to += "?" + c.req.URL.RawQuery
	}
	status, message := http.StatusMovedPermanently, "Moved Permanently"
	if c.req.Method != http.MethodGet {
		status, message = http.StatusTemporaryRedirect, "Temporary Redirect"
	}
	return reply{status: status, body: object{
		"message": message, "url": to, "documentation_url": "https://docs.github.com/rest/guides/best-practices-for-using-the-rest-api#follow-redirects",
	}}.with("Location", to)
}

// match gives the parameters of a path, unescaped.
func (r route) match(path string) (map[string]string, bool) {
	want, have := strings.Split(r.path, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return nil, false
	}
	params := map[string]string{}
	for i, part := range want {
		if !strings.HasPrefix(part, "{") {
			if part != have[i] {
				return nil, false
			}
			continue
		}
		value, err := url.PathUnescape(have[i])
		if err != nil || value == "" {
			return nil, false
		}
		params[strings.Trim(part, "{}")] = value
	}
	return params, true
}

// needs says which permissions would do for the request. The conversation of a pull request is at
// an issue's address, and asks for a right to pull requests.
func (c *call) needs() string {
	if c.req.Method == http.MethodPost && strings.HasSuffix(c.route.path, "/issues/{issue_number}/comments") {
		if i := c.issueAsked(); i != nil && i.pull != nil {
			return pullsWrite
		}
	}
	return c.route.needs
}
