package github

import (
	"strings"

	gh "github.com/google/go-github/v89/github"

	"fleet/api"
)

const (
	maxOriginHead  = 255 // bytes: an origin travels in cursors
	maxOriginPulls = 10
)

// originOf says what began a run. What doesn't fit into a cursor is left out, so that nobody can
// tell. See https://docs.github.com/actions/reference/workflows-and-actions/events-that-trigger-workflows.
func originOf(run *gh.WorkflowRun) api.Origin {
	o := api.Origin{Event: run.GetEvent()}
	if o.Event != "pull_request" {
		return o
	}
	own, head := run.GetRepository().GetFullName(), run.GetHeadRepository().GetFullName()
	if own == "" || head == "" || run.GetHeadBranch() == "" {
		return o
	}
	o.Head = run.GetHeadBranch()
	if !strings.EqualFold(own, head) {
		owner, _, _ := strings.Cut(head, "/")
		o.Head = owner + ":" + o.Head
	}
	if len(o.Head) > maxOriginHead || len(run.PullRequests) > maxOriginPulls {
		return api.Origin{Event: o.Event}
	}
	for _, pull := range run.PullRequests {
		o.Pulls = append(o.Pulls, pull.GetNumber())
	}
	return o
}

// checkOrigin knows that a job's check says nothing of itself: one of Actions that does was made
// through the API, by a run of any event, and the forge puts it beside the jobs of some other run.
// See https://docs.github.com/rest/checks/runs#create-a-check-run.
func checkOrigin(c *gh.CheckRun, run *gh.WorkflowRun) api.Origin {
	switch {
	case c.GetApp().GetSlug() != actionsApp:
		return api.Origin{Event: api.NoRun}
	case run == nil, c.GetOutput().GetTitle() != "", c.GetOutput().GetSummary() != "":
		return api.Origin{}
	}
	return originOf(run)
}
