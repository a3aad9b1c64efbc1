package github

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	gh "github.com/google/go-github/v89/github"

	"fleet/api"
)

const (
	maxAnnotations = 10
	maxAnnotation  = 500 // bytes of one's text
)

// emit adds groups while there is room, at least one; what had none is left to the cursor.
func (p *Provider) emit(ctx context.Context, at place, found *api.FailedLogs, groups [][]report, after *failureKey) {
	next := logsCursor{After: after}
	room := maxView - indented(found, "") - 2<<10
	for i, group := range groups {
		job := p.item(ctx, at, group)
		if room -= indented(job, "    "); room < 0 && i > 0 {
			for _, rest := range groups[i:] {
				for _, r := range rest {
					next.Left = append(next.Left, r.key)
				}
			}
			break
		}
		found.Jobs = append(found.Jobs, job)
	}
	if after != nil || len(next.Left) > 0 {
		found.Truncated, found.NextCursor = true, encodeCursor(next)
	}
}

// item is one group as it is shown: the first one's log, and the names of all.
func (p *Provider) item(ctx context.Context, at place, group []report) api.FailedJob {
	first := group[0]
	job := first.job
	job.Annotations = p.annotations(ctx, at, first.of)
	for _, r := range group[1:] {
		job.Names = append(job.Names, r.job.Names...)
	}
	if len(group) > 1 && first.signature != "" {
		job.Note = joinWords(fmt.Sprintf("%d jobs failed alike; the excerpt is of the first", len(group)), job.Note)
	}
	return job
}

// annotations are a check's remarks on files, the worst first. They are an extra: without them the
// answer stands.
// See https://docs.github.com/rest/checks/runs#list-check-run-annotations.
func (p *Provider) annotations(ctx context.Context, at place, e *entry) []api.Annotation {
	if e == nil || e.check.Source != sourceCheckRun || e.annotations == 0 {
		return nil
	}
	var all []*gh.CheckRunAnnotation
	address := at.under(url.Values{"per_page": {perPage}}, "check-runs", fmt.Sprint(e.id), "annotations")
	if _, err := p.get(ctx, address, &all); err != nil {
		p.log.Warn("annotations could not be read", "reason", reasonOf(err))
		return nil
	}
	level := func(a *gh.CheckRunAnnotation) int {
		return slices.Index([]string{"failure", "warning", "notice"}, a.GetAnnotationLevel())
	}
	slices.SortStableFunc(all, func(a, b *gh.CheckRunAnnotation) int { return level(a) - level(b) })
	var found []api.Annotation
	for _, a := range all {
		if e.actionsJob() && a.GetPath() == ".github" { // the runner's own epilogue
			continue
		}
		if found = append(found, api.Annotation{
			Path: a.GetPath(), Line: a.GetStartLine(), Level: a.GetAnnotationLevel(), Message: shorten(maskText(a.GetMessage()), maxAnnotation),
		}); len(found) == maxAnnotations {
			break
		}
	}
	return found
}

// moreOfLog gives the next stretch of one job's failed step.
func (p *Provider) moreOfLog(ctx context.Context, at place, target api.Resolved, from logsCursor) (*api.FailedLogs, error) {
	var job gh.WorkflowJob
	if _, err := p.get(ctx, at.under(nil, "actions", "jobs", fmt.Sprint(from.Job)), &job); err != nil {
		return nil, p.absent(ctx, at, err, "no_such_job", "the job is not there any more", "call again without cursor")
	}
	if job.GetHeadSHA() != target.SHA {
		return nil, badCursor(nil)
	}
	log, err := p.openLog(ctx, at, &job)
	if err != nil {
		note, err := noLog(&job, err)
		if err == nil {
			err = &api.Error{Code: api.NotFound, Reason: "no_log", Message: note}
		}
		return nil, err
	}
	defer func() { _ = log.Close() }()
	names, windows := failedSteps(&job)
	item := api.FailedJob{
		Names: []string{job.GetName()}, Workflow: job.GetWorkflowName(), Conclusion: cmp.Or(job.GetConclusion(), job.GetStatus()),
		Step: strings.Join(names, ", "), URL: job.GetHTMLURL(), Origin: from.Of,
	}
	if err := p.readPage(log, windows, from, &item); err != nil {
		return nil, err
	}
	return &api.FailedLogs{Target: target, Jobs: []api.FailedJob{item}}, nil
}

func (p *Provider) readPage(log io.Reader, windows []window, from logsCursor, item *api.FailedJob) error {
	found, err := newStepReader(windows, func() sink { return newPage(from.Line, p.guard.Mask) }).read(log)
	if err != nil {
		return err
	}
	shown := found.(*page)
	var next int
	item.Excerpt, item.Shown, next = shown.render()
	item.Lines = shown.count
	if next > 0 {
		item.NextCursor = encodeCursor(logsCursor{Job: from.Job, Line: next, Of: from.Of})
	}
	return nil
}
