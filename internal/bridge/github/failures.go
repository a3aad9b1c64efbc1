package github

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"

	gh "github.com/google/go-github/v89/github"

	"fleet/api"
)

// failure is something that failed on a commit: a job, a workflow run without jobs, or a check that
// is no job.
type failure struct {
	key  failureKey
	job  *gh.WorkflowJob // nil: there are no logs
	run  *gh.WorkflowRun // nil: not of GitHub Actions
	of   *entry          // nil: of a job whose check run could not be read
	lone bool            // a cancelled job in a run where nothing else failed
	why  error           // of a job: it could not be read
}

// failureKey orders failures, and finds them again: kind, then the forge's number.
type failureKey struct {
	Kind int   `json:"k"`
	ID   int64 `json:"i"`
}

func (k failureKey) compare(o failureKey) int {
	return cmp.Or(cmp.Compare(k.Kind, o.Kind), cmp.Compare(k.ID, o.ID))
}

// Kinds of failure, in the order in which they are shown.
const (
	kindJob = iota
	kindRun
	kindCheck
	kindStatus
)

// failures finds all that failed on a commit, in the order of their keys.
func (p *Provider) failures(ctx context.Context, at place, g *gathered) ([]failure, error) {
	byID := map[int64]*entry{}
	var all []failure
	for i := range g.entries {
		e := &g.entries[i]
		switch {
		case e.actionsJob():
			byID[e.id] = e
		case e.superseded || e.check.Bucket != api.BucketFail:
		case e.check.Source == sourceCheckRun:
			all = append(all, failure{key: failureKey{kindCheck, e.id}, of: e})
		case e.check.Source == sourceStatus:
			all = append(all, failure{key: failureKey{kindStatus, e.id}, of: e})
		}
	}
	for _, run := range g.runs {
		if !g.worthReading(run) {
			continue
		}
		jobs, err := p.jobs(ctx, at, run.GetID())
		if err != nil {
			if hasCode(err, api.RateLimited, api.Unauthenticated) {
				return nil, err
			}
			// By its number: whoever began the run may have a hand in its name.
			g.incomplete = append(g.incomplete, fmt.Sprintf("jobs of workflow run %d: %s", run.GetID(), reasonOf(err)))
			continue
		}
		all = append(all, failuresIn(run, jobs, byID)...)
	}
	all = append(all, p.stray(ctx, at, all, byID)...)
	slices.SortFunc(all, func(a, b failure) int { return a.key.compare(b.key) })
	return all, nil
}

// stray finds the failed jobs whose run is not known, such as where the runs could not be read.
func (p *Provider) stray(ctx context.Context, at place, found []failure, byID map[int64]*entry) []failure {
	known := map[int64]bool{}
	for _, f := range found {
		known[f.key.ID] = known[f.key.ID] || f.key.Kind == kindJob
	}
	var all []failure
	for id, e := range byID {
		if known[id] || e.superseded || e.check.Bucket != api.BucketFail {
			continue
		}
		f := failure{key: failureKey{kindJob, id}, of: e}
		var job gh.WorkflowJob
		if _, err := p.get(ctx, at.under(nil, "actions", "jobs", fmt.Sprint(id)), &job); err != nil {
			f.why = err
		} else {
			f.job, f.run = &job, &gh.WorkflowRun{}
		}
		all = append(all, f)
	}
	return all
}

// worthReading says that a run may have jobs that failed, and that no newer run is in its place.
func (g *gathered) worthReading(run *gh.WorkflowRun) bool {
	known, bad := false, false
	for i := range g.entries {
		e := &g.entries[i]
		if e.run != run.GetID() || e.superseded {
			continue
		}
		known = true
		bad = bad || e.check.Bucket == api.BucketFail || e.check.Bucket == api.BucketCancelled || e.check.Bucket == api.BucketPending
	}
	return known && bad
}

// jobs lists a run's jobs: of those that ran again, the newest attempt.
// See https://docs.github.com/rest/actions/workflow-jobs#list-jobs-for-a-workflow-run.
func (p *Provider) jobs(ctx context.Context, at place, run int64) (found []*gh.WorkflowJob, err error) {
	query := url.Values{"filter": {"latest"}, "per_page": {perPage}}
	_, err = walk(ctx, p, at.under(query, "actions", "runs", fmt.Sprint(run), "jobs"), maxPages, func(_ string, page gh.Jobs) bool {
		found = append(found, page.Jobs...)
		return true
	})
	return found, err
}

// failuresIn picks what failed among a run's jobs. Jobs that were cancelled because another failed
// are left out where that one is there.
func failuresIn(run *gh.WorkflowRun, jobs []*gh.WorkflowJob, byID map[int64]*entry) []failure {
	var failed, cancelled []failure
	for _, job := range jobs {
		e := byID[job.GetID()]
		if e != nil && e.superseded {
			continue
		}
		f := failure{key: failureKey{kindJob, job.GetID()}, job: job, run: run, of: e}
		switch {
		case jobFailed(job):
			failed = append(failed, f)
		case job.GetConclusion() == "cancelled":
			cancelled = append(cancelled, f)
		}
	}
	switch {
	case len(failed) == 0 && len(cancelled) > 0:
		for i := range cancelled {
			cancelled[i].lone = true
		}
		return cancelled
	case len(failed) > 0:
		return append(failed, cancelled...)
	case len(jobs) == 0 && run.GetStatus() == "completed" && runBucket(run.GetStatus(), run.GetConclusion()) == api.BucketFail:
		return []failure{{key: failureKey{kindRun, run.GetID()}, run: run}}
	}
	return nil
}

// jobFailed knows that a job that still runs may have a step that failed already.
func jobFailed(job *gh.WorkflowJob) bool {
	switch job.GetConclusion() {
	case "failure", "timed_out", "startup_failure", "action_required":
		return true
	case "":
		return slices.ContainsFunc(job.Steps, func(s *gh.TaskStep) bool { return s.GetConclusion() == "failure" })
	}
	return false
}
