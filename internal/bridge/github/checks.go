package github

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"fleet/api"
	"fleet/internal/bridge"
)

// Sources of checks.
const (
	sourceCheckRun = "check_run"
	sourceStatus   = "status"
	sourceRun      = "workflow_run"
)

// Checks merges what GitHub keeps apart: check runs, commit statuses, and workflow runs that made
// no check run. It gives all of them at once, what needs a look first, and makes no cursors.
func (p *Provider) Checks(ctx context.Context, r bridge.Repo, target api.Resolved, cursor string) (*api.Checks, error) {
	at, err := placeOf(r)
	if err != nil {
		return nil, err
	}
	if cursor != "" {
		return nil, badCursor(nil)
	}
	g, err := p.gather(ctx, at, target.SHA)
	if err != nil {
		return nil, err
	}
	found := &api.Checks{Target: target, Counts: map[string]int{}, Items: []api.Check{}, Incomplete: g.incomplete}
	left := 0
	for _, e := range g.entries {
		if e.superseded {
			left++
			continue
		}
		found.Items = append(found.Items, e.check)
		found.Counts[e.check.Bucket]++
	}
	sortChecks(found.Items)
	found.Returned = len(found.Items)
	found.Overall, found.Reason = overall(found)
	if left > 0 {
		found.Reason = joinWords(found.Reason, fmt.Sprintf("%d checks of earlier runs on this commit are left out: newer ones took their place", left))
	}
	return found, nil
}

var bucketOrder = []string{api.BucketFail, api.BucketCancelled, api.BucketPending, api.BucketPass, api.BucketSkipped}

func sortChecks(items []api.Check) {
	slices.SortStableFunc(items, func(a, b api.Check) int {
		return cmp.Or(
			cmp.Compare(slices.Index(bucketOrder, a.Bucket), slices.Index(bucketOrder, b.Bucket)),
			strings.Compare(a.Workflow, b.Workflow), strings.Compare(a.Name, b.Name),
		)
	})
}

// overall is the worst that is there. It is pass only where something passed, nothing else was
// seen, and everything could be.
func overall(c *api.Checks) (bucket, reason string) {
	n := c.Counts
	states := map[string]bool{}
	for _, item := range c.Items {
		if item.Source == sourceRun {
			states[item.State] = true
		}
	}
	switch {
	case n[api.BucketFail] > 0 && states["startup_failure"]:
		return api.BucketFail, "a workflow run never started: its file is probably invalid"
	case n[api.BucketFail] > 0:
		return api.BucketFail, ""
	case n[api.BucketPending] > 0 && states["action_required"]:
		return api.BucketPending, "a workflow run waits for a maintainer's approval, as those from forks do"
	case n[api.BucketPending] > 0:
		return api.BucketPending, ""
	case n[api.BucketCancelled] > 0:
		return api.BucketCancelled, "a check was cancelled and did not run again: where it is required, it blocks"
	case len(c.Incomplete) > 0:
		return api.BucketUnknown, "nothing bad was seen, but not every check could be read: see incomplete"
	case n[api.BucketPass] > 0:
		return api.BucketPass, ""
	case n[api.BucketSkipped] > 0:
		return api.BucketSkipped, "every check was skipped, which proves nothing"
	}
	return api.BucketNone, "the commit has no check, status or workflow run: none has started yet, or none is set up for it"
}

func joinWords(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// checkBucket sorts the state of a check run or workflow run.
func checkBucket(status, conclusion string) string {
	if status != "completed" {
		return api.BucketPending
	}
	switch conclusion {
	case "success":
		return api.BucketPass
	case "skipped", "neutral":
		return api.BucketSkipped
	case "cancelled":
		return api.BucketCancelled
	case "":
		return api.BucketPending
	}
	return api.BucketFail // failure, timed_out, action_required, startup_failure, stale
}

func statusBucket(state string) string {
	switch state {
	case "success":
		return api.BucketPass
	case "pending", "expected":
		return api.BucketPending
	}
	return api.BucketFail // failure, error
}

// runBucket is checkBucket for a workflow run without check runs, where action_required means
// that somebody must let it run at all.
func runBucket(status, conclusion string) string {
	if conclusion == "action_required" {
		return api.BucketPending
	}
	return checkBucket(status, conclusion)
}
