package github

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"fleet/api"
	"fleet/internal/bridge"
)

const (
	batch    = 24 // logs that are read for one answer, so that a matrix can be seen to fail alike
	parallel = 4  // of them at once
)

// logsCursor goes on with the failures after one, and with those that had no room before, or, with
// Job, through the whole of one step's log.
type logsCursor struct {
	After *failureKey  `json:"a,omitempty"`
	Left  []failureKey `json:"l,omitempty"`
	Job   int64        `json:"j,omitempty"`
	Line  int          `json:"n,omitempty"`
	Of    api.Origin   `json:"o,omitzero"` // the job's, which the forge tells of its run only
}

// FailedLogs gives, of each job of the commit that failed, the part of its log that says why; and
// of each other check that failed what it says of itself, since only jobs of GitHub Actions have
// logs that can be fetched. Jobs whose logs say the same are one item that names them all.
func (p *Provider) FailedLogs(ctx context.Context, r bridge.Repo, target api.Resolved, cursor string) (*api.FailedLogs, error) {
	at, err := placeOf(r)
	if err != nil {
		return nil, err
	}
	var from logsCursor
	if cursor != "" {
		if err := decodeCursor(cursor, &from); err != nil {
			return nil, err
		}
	}
	if from.Job != 0 {
		return p.moreOfLog(ctx, at, target, from)
	}
	g, err := p.gather(ctx, at, target.SHA)
	if err != nil {
		return nil, err
	}
	all, err := p.failures(ctx, at, g)
	if err != nil {
		return nil, err
	}
	found := &api.FailedLogs{Target: target, Jobs: []api.FailedJob{}, Incomplete: g.incomplete}
	if len(all) == 0 {
		found.Note = nothingFailed(g)
		return found, nil
	}
	chosen, after := from.choose(all)
	reports, err := p.reports(ctx, at, chosen)
	if err != nil {
		return nil, err
	}
	p.emit(ctx, at, found, grouped(reports, r.ByOrigin), after)
	return found, nil
}

func nothingFailed(g *gathered) string {
	pending := 0
	for i := range g.entries {
		if !g.entries[i].superseded && g.entries[i].check.Bucket == api.BucketPending {
			pending++
		}
	}
	switch {
	case pending > 0:
		return fmt.Sprintf("nothing has failed so far; %d checks have not ended, and a job's log is there once it has", pending)
	case len(g.incomplete) > 0:
		return "nothing that failed was found, but not everything could be read: see incomplete"
	case len(g.entries) == 0:
		return "there is no check on this commit, so nothing has failed and nothing has passed"
	}
	return "nothing has failed"
}

// choose takes the next failures to report, and says after which further ones come; nil: there
// are none.
func (c logsCursor) choose(all []failure) (chosen []failure, after *failureKey) {
	after = c.After
	for _, f := range all {
		if slices.Contains(c.Left, f.key) {
			chosen = append(chosen, f)
		}
	}
	for _, f := range all {
		if c.After == nil && len(c.Left) > 0 || c.After != nil && f.key.compare(*c.After) <= 0 {
			continue
		}
		if len(chosen) == batch {
			return chosen, after
		}
		chosen, after = append(chosen, f), &f.key
	}
	return chosen, nil
}

// reports reads the logs, a few at a time. Where not one of them could be had, the error is the
// first one's.
func (p *Provider) reports(ctx context.Context, at place, chosen []failure) ([]report, error) {
	found := make([]report, len(chosen))
	places := make(chan struct{}, parallel)
	var work sync.WaitGroup
	for i, f := range chosen {
		if f.job == nil {
			found[i] = logless(f)
			continue
		}
		work.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			found[i] = p.report(ctx, at, f)
		})
	}
	work.Wait()
	var first error
	failed := 0
	for i := range found {
		r := &found[i]
		switch {
		case r.err == nil:
			continue
		case hasCode(r.err, api.RateLimited, api.Unauthenticated):
			return nil, r.err
		case first == nil:
			first = r.err
		}
		failed++
		r.job.Note = noteOf(r.err)
	}
	if failed > 0 && failed == len(found) {
		return nil, first
	}
	return found, nil
}

func noteOf(err error) string {
	e := bridge.AsError(context.Background(), err)
	note := cmp.Or(e.Reason, string(e.Code)) + ": " + e.Message
	if e.RetryAfterSeconds > 0 {
		note += fmt.Sprintf("; retry after %d seconds", e.RetryAfterSeconds)
	}
	return note
}

// logless is a failure that has no log: its own words are all there is.
func logless(f failure) report {
	if f.run != nil {
		return report{failure: f, job: api.FailedJob{
			Names: []string{workflowName(f.run)}, Workflow: workflowName(f.run), Conclusion: f.run.GetConclusion(), URL: f.run.GetHTMLURL(),
			Origin: originOf(f.run),
			Note:   "the workflow run never started a job, so there is no log and will be none: its file is probably invalid; the page at url says where",
		}}
	}
	e := f.of
	if f.why != nil {
		return report{failure: f, err: f.why, job: api.FailedJob{Names: []string{e.check.Name}, Conclusion: e.check.State, URL: e.check.URL}}
	}
	return report{failure: f, job: api.FailedJob{
		Names: []string{e.check.Name}, Conclusion: e.check.State, URL: e.check.URL,
		Title: oneLine(e.title), Summary: shorten(maskText(e.summary), maxDetail), Origin: e.check.Origin,
		Note: "a failing check that is not backed by GitHub Actions has no job log to fetch",
	}}
}

// grouped puts failures that say the same together, in the order of their first; byOrigin: of runs
// that were begun alike.
func grouped(reports []report, byOrigin bool) [][]report {
	var groups [][]report
	index := map[string]int{}
	for _, r := range reports {
		key := strings.Join([]string{r.job.Workflow, r.job.Conclusion, r.job.Step, r.signature}, "\x00")
		if byOrigin {
			key += fmt.Sprintf("\x00%v", r.job.Origin)
		}
		if r.signature == "" {
			key += "\x00" + r.job.Note
		}
		if r.failure.job == nil {
			key = fmt.Sprint(r.key)
		}
		i, ok := index[key]
		if !ok {
			i = len(groups)
			index[key], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], r)
	}
	return groups
}
