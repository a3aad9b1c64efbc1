package github

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	gh "github.com/google/go-github/v89/github"

	"fleet/api"
)

const actionsApp = "github-actions"

// entry is one check, with what tells it from another of the same name.
type entry struct {
	check      api.Check
	workflow   int64 // id; 0: not of a workflow
	event      string
	run        int64 // of the workflow; 0: not known
	suite      int64
	id         int64
	started    time.Time
	superseded bool

	title, summary string // of its output
	annotations    int
}

// actionsJob says that the check is a job of GitHub Actions: only such have a log. A check run's
// id is its job's.
func (e *entry) actionsJob() bool {
	return e.check.Source == sourceCheckRun && e.check.App == actionsApp
}

// gathered is all that GitHub knows of a commit's checks.
type gathered struct {
	entries    []entry
	runs       []*gh.WorkflowRun
	checksRead bool // the check runs could be read
	incomplete []string
}

// gather reads the three lists side by side. What the credential may not read, or the forge does
// not give, is named in incomplete; where nothing can be read, the error is the first.
func (p *Provider) gather(ctx context.Context, at place, sha string) (*gathered, error) {
	if !isSHA(sha) {
		return nil, &api.Error{Code: api.Invalid, Reason: "bad_sha", Message: "the commit's hash is none"}
	}
	var checks []*gh.CheckRun
	var statuses []*gh.RepoStatus
	g := &gathered{}
	names := []string{"check runs", "commit statuses", "workflow runs"}
	errs, cut := make([]error, 3), make([]string, 3)
	var work sync.WaitGroup
	work.Go(func() { checks, cut[0], errs[0] = p.checkRuns(ctx, at, sha) })
	work.Go(func() { statuses, cut[1], errs[1] = p.statuses(ctx, at, sha) })
	work.Go(func() { g.runs, cut[2], errs[2] = p.workflowRuns(ctx, at, sha) })
	work.Wait()
	failed := 0
	for i, err := range errs {
		switch {
		case err == nil && cut[i] != "":
			g.incomplete = append(g.incomplete, fmt.Sprintf("%s: there are too many to read them all", names[i]))
		case err == nil:
		case hasCode(err, api.RateLimited, api.Unauthenticated, api.Invalid, api.Conflict):
			return nil, err
		default:
			failed++
			g.incomplete = append(g.incomplete, names[i]+": "+reasonOf(err))
		}
	}
	if failed == len(errs) || isMissing(errs[0]) && isMissing(errs[1]) {
		return nil, p.absent(ctx, at, errs[0], "no_such_commit", fmt.Sprintf("%s has no commit %.12s on the forge", at.Name, sha), "push it first, or give pr or ref")
	}
	g.checksRead = errs[0] == nil
	g.merge(checks, statuses)
	g.supersede()
	return g, nil
}

// checkRuns lists them, with filter=latest: of each check suite, its newest run of each name.
// See https://docs.github.com/rest/checks/runs#list-check-runs-for-a-git-reference.
func (p *Provider) checkRuns(ctx context.Context, at place, sha string) (found []*gh.CheckRun, next string, err error) {
	first := at.under(url.Values{"filter": {"latest"}, "per_page": {perPage}}, "commits", sha, "check-runs")
	next, err = walk(ctx, p, first, maxPages, func(_ string, page gh.ListCheckRunsResults) bool {
		found = append(found, page.CheckRuns...)
		return true
	})
	return found, next, err
}

// statuses lists the newest status of each context. The combined state that comes with them is
// not used: it is "pending" where there are none.
// See https://docs.github.com/rest/commits/statuses#get-the-combined-status-for-a-specific-reference.
func (p *Provider) statuses(ctx context.Context, at place, sha string) (found []*gh.RepoStatus, next string, err error) {
	first := at.under(url.Values{"per_page": {perPage}}, "commits", sha, "status")
	next, err = walk(ctx, p, first, maxPages, func(_ string, page gh.CombinedStatus) bool {
		found = append(found, page.Statuses...)
		return true
	})
	return found, next, err
}

// workflowRuns lists those of GitHub Actions.
// See https://docs.github.com/rest/actions/workflow-runs#list-workflow-runs-for-a-repository.
func (p *Provider) workflowRuns(ctx context.Context, at place, sha string) (found []*gh.WorkflowRun, next string, err error) {
	first := at.under(url.Values{"head_sha": {sha}, "per_page": {perPage}}, "actions", "runs")
	next, err = walk(ctx, p, first, maxPages, func(_ string, page gh.WorkflowRuns) bool {
		found = append(found, page.WorkflowRuns...)
		return true
	})
	return found, next, err
}

func (g *gathered) merge(checks []*gh.CheckRun, statuses []*gh.RepoStatus) {
	bySuite := map[int64]*gh.WorkflowRun{}
	for _, run := range g.runs {
		if run.GetCheckSuiteID() != 0 {
			bySuite[run.GetCheckSuiteID()] = run
		}
	}
	suites := map[int64]bool{}
	for _, c := range checks {
		suites[c.GetCheckSuite().GetID()] = true
		g.entries = append(g.entries, checkEntry(c, bySuite[c.GetCheckSuite().GetID()]))
	}
	for _, s := range statuses {
		g.entries = append(g.entries, statusEntry(s))
	}
	for _, run := range g.runs {
		if !suites[run.GetCheckSuiteID()] || run.GetCheckSuiteID() == 0 {
			g.entries = append(g.entries, runEntry(run))
		}
	}
}

func checkEntry(c *gh.CheckRun, run *gh.WorkflowRun) entry {
	e := entry{
		check: api.Check{
			Name: c.GetName(), Source: sourceCheckRun, Bucket: checkBucket(c.GetStatus(), c.GetConclusion()),
			State: c.GetStatus(), App: c.GetApp().GetSlug(), Summary: oneLine(c.GetOutput().GetTitle()),
			URL: cmp.Or(c.GetHTMLURL(), c.GetDetailsURL()), StartedAt: timePointer(c.StartedAt), CompletedAt: timePointer(c.CompletedAt),
			Origin: checkOrigin(c, run),
		},
		suite: c.GetCheckSuite().GetID(), id: c.GetID(), started: c.GetStartedAt().Time,
		title: c.GetOutput().GetTitle(), summary: c.GetOutput().GetSummary(), annotations: c.GetOutput().GetAnnotationsCount(),
	}
	if c.GetStatus() == "completed" {
		e.check.State = c.GetConclusion()
	}
	if e.check.App != actionsApp {
		e.check.URL = cmp.Or(c.GetDetailsURL(), c.GetHTMLURL())
	}
	if run != nil {
		e.check.Workflow, e.workflow, e.event, e.run = workflowName(run), run.GetWorkflowID(), run.GetEvent(), run.GetID()
	}
	e.check.HasLog = e.actionsJob() && e.check.Bucket == api.BucketFail
	return e
}

func statusEntry(s *gh.RepoStatus) entry {
	return entry{
		check: api.Check{
			Name: s.GetContext(), Source: sourceStatus, Bucket: statusBucket(s.GetState()), State: s.GetState(),
			Summary: oneLine(s.GetDescription()), URL: s.GetTargetURL(), StartedAt: timePointer(s.CreatedAt), CompletedAt: timePointer(s.UpdatedAt),
			Origin: api.Origin{Event: api.NoRun},
		},
		id: s.GetID(), started: s.GetCreatedAt().Time, summary: s.GetDescription(),
	}
}

// runEntry is a workflow run that made no check run: it has not begun, may not, or could not.
func runEntry(run *gh.WorkflowRun) entry {
	state := run.GetConclusion()
	if run.GetStatus() != "completed" && state == "" {
		state = run.GetStatus()
	}
	words := map[string]string{
		"startup_failure": "the run never started: the workflow's file is probably invalid",
		"action_required": "waits for a maintainer to approve the run",
		"queued":          "waits for a runner",
		"waiting":         "waits for a deployment's approval",
	}
	e := entry{
		check: api.Check{
			Name: workflowName(run), Source: sourceRun, Bucket: runBucket(run.GetStatus(), run.GetConclusion()), State: state,
			App: actionsApp, Workflow: workflowName(run), Summary: words[state], URL: run.GetHTMLURL(),
			StartedAt: timePointer(run.RunStartedAt), Origin: originOf(run),
		},
		workflow: run.GetWorkflowID(), event: run.GetEvent(), run: run.GetID(), suite: run.GetCheckSuiteID(), id: run.GetID(),
		started: run.GetRunStartedAt().Time,
	}
	if run.GetStatus() == "completed" {
		e.check.CompletedAt = timePointer(run.UpdatedAt)
	}
	e.check.HasLog = e.check.Bucket == api.BucketFail && state != "startup_failure"
	return e
}

func workflowName(run *gh.WorkflowRun) string {
	file, _, _ := strings.Cut(path.Base(run.GetPath()), "@")
	return cmp.Or(run.GetName(), file)
}
