package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	gh "github.com/google/go-github/v89/github"

	"fleet/api"
	"fleet/internal/bridge"
)

const (
	maxLog = 2 << 30 // bytes of a log that are read at all

	// uploading is for how long after its end a job's log may not be there yet.
	uploading  = 2 * time.Minute
	retryLogIn = 20 // seconds
)

// openLog opens a job's log as text. The forge answers with a signed address, which is a secret;
// it is fetched without a credential, and named nowhere.
// See https://docs.github.com/rest/actions/workflow-jobs#download-job-logs-for-a-workflow-run.
func (p *Provider) openLog(ctx context.Context, at place, job *gh.WorkflowJob) (io.ReadCloser, error) {
	address := at.under(nil, "actions", "jobs", fmt.Sprint(job.GetID()), "logs")
	req, err := p.request(bridge.WithLogRedirect(ctx), http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := p.client.BareDo(req)
	var redirect *gh.RedirectionError
	switch {
	case err == nil: // a forge that serves its logs itself
		return resp.Body, nil
	case errors.As(err, &redirect):
		return p.guard.Download(ctx, resp.Header.Get("Location"), maxLog)
	default:
		return nil, p.fault(ctx, false, resp, err)
	}
}

// noLog says why a job has no log, from what the forge answered when it was asked for one: which
// does not tell apart what is not there yet, what has gone, and what never was.
func noLog(job *gh.WorkflowJob, err error) (note string, left error) {
	var e *api.Error
	if !errors.As(err, &e) {
		return "", err
	}
	switch {
	case e.Reason == "gone":
		return "log_expired: the forge keeps logs for a time only, and this one has been deleted", nil
	case e.Reason != missing && e.Reason != "log_gone":
		return "", err
	case job.GetStatus() != "completed", time.Since(job.GetCompletedAt().Time) < uploading:
		return "", &api.Error{
			Code: api.Unavailable, Reason: "log_not_ready", RetryAfterSeconds: retryLogIn,
			// By its number: whoever began the run may have a hand in the job's name.
			Message: fmt.Sprintf("the log of job %d is not written yet: the forge has it once the job has ended", job.GetID()),
			Hint:    "ask again then; repo_checks says whether it still runs", Err: err,
		}
	case job.GetConclusion() == "cancelled":
		return neverRan, nil
	}
	return "log_gone: the forge has no log of this job, and will have none; it may never have reached a runner", nil
}

const neverRan = "log_never: the job was cancelled before it wrote a log, so there is none and will be none"

// report is what there is to say of one failure.
type report struct {
	failure
	job       api.FailedJob
	signature string
	err       error // the log could not be had this time
}

// report reads a failed job's log.
func (p *Provider) report(ctx context.Context, at place, f failure) report {
	job := f.job
	r := report{failure: f, job: api.FailedJob{
		Names: []string{job.GetName()}, Workflow: cmp.Or(workflowName(f.run), job.GetWorkflowName()),
		Conclusion: cmp.Or(job.GetConclusion(), job.GetStatus()), URL: job.GetHTMLURL(), Origin: originOf(f.run),
	}}
	names, windows := failedSteps(job)
	r.job.Step = strings.Join(names, ", ")
	switch {
	case job.GetConclusion() != "cancelled":
	case !ranAtAll(job):
		r.job.Note = neverRan
		return r
	case !f.lone:
		r.job.Note = "cancelled, most likely because another job of the run failed; its log is left out"
		return r
	}
	log, err := p.openLog(ctx, at, job)
	if err != nil {
		r.job.Note, r.err = noLog(job, err)
		return r
	}
	defer func() { _ = log.Close() }()
	r.read(log, windows, p.guard.Mask)
	return r
}

func ranAtAll(job *gh.WorkflowJob) bool {
	for _, s := range job.Steps {
		if !s.GetStartedAt().IsZero() && s.GetConclusion() != "skipped" {
			return true
		}
	}
	return false
}

// read makes the excerpt. Nothing is never reported as success: an empty log says so.
func (r *report) read(log io.Reader, windows []window, mask func(string) string) {
	found, err := newStepReader(windows, func() sink { return newExcerpt(mask) }).read(log)
	x := found.(*excerpt)
	if err != nil && x.count == 0 {
		r.err = bridge.AsError(context.Background(), err)
		return
	}
	r.job.Excerpt, r.job.Shown = x.render(maxExcerpt)
	r.job.Lines = x.count
	r.signature = x.signature(r.failure.job.GetName())
	switch {
	case err != nil:
		r.job.Note = "the log broke off while it was read: " + reasonOf(err)
	case x.count == 0:
		r.job.Note = "the log is empty"
	case len(windows) == 0:
		r.job.Note = "the forge does not say which step failed: this is the part of the log with the first error"
	}
	if x.count > 0 && !wholeShown(r.job.Shown, x.count) {
		r.job.NextCursor = encodeCursor(logsCursor{Job: r.failure.job.GetID(), Line: 1, Of: r.job.Origin})
	}
}

func wholeShown(shown []string, count int) bool {
	return len(shown) == 1 && shown[0] == fmt.Sprintf("1-%d", count)
}
