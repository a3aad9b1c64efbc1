package bridge

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"fleet/api"
)

const (
	pullEvent = "pull_request"
	// maxOriginPulls is how many pull requests are looked at for one run.
	maxOriginPulls = 5
	maxWhys        = 3
)

// trustedEvents begin runs that hold no words but those of the trusted commit that they are of, or of
// whoever may write to the repository: what such people took over counts as theirs, as in a merge's
// message. Whatever else begins a run may be done by anybody, or after somebody's doing: a comment,
// an issue, a review, a fork, another run, a page of the wiki, a pull request on
// pull_request_target; under "dynamic" the forge runs agents of its own, on issues that anybody
// wrote. So what isn't here is withheld, and so is what the forge thinks of next. See
// https://docs.github.com/actions/reference/workflows-and-actions/events-that-trigger-workflows.
func trustedEvents() []string {
	return []string{
		"push", "create", "delete", "schedule", "workflow_dispatch", "repository_dispatch", "merge_group", "release",
		// Statuses, and checks of other apps, are set by whoever may write to the repository. An app's
		// summary may quote people outside all the same, as may the file that a test reads: nobody can
		// tell, and they go with their commit.
		api.NoRun,
	}
}

var eventName = regexp.MustCompile(`^[a-z_]{1,40}$`)

// screenedRuns withholds what stands in a trusted commit's answer of runs that people outside may
// have begun or given words to.
func (b *Broker) screenedRuns(ctx context.Context, c *order, v any, at api.Resolved) (any, error) {
	var whys []string
	n := 0
	judge := func(o api.Origin) (string, error) {
		why, err := b.outsideRun(ctx, c, o, at)
		if why != "" {
			n++
			if !slices.Contains(whys, why) {
				whys = append(whys, why)
			}
		}
		return why, err
	}
	switch v := v.(type) {
	case *api.Checks:
		for i := range v.Items {
			why, err := judge(v.Items[i].Origin)
			if err != nil {
				return nil, err
			}
			if why != "" {
				screenCheck(&v.Items[i], c.repo)
			}
		}
		v.Withheld = explainedRuns("checks", n, whys)
	case *api.FailedLogs:
		for i, job := range v.Jobs {
			why, err := judge(job.Origin)
			if err != nil {
				return nil, err
			}
			if why != "" {
				v.Jobs[i] = screenedJob(job, why, c.repo)
			}
		}
		v.Withheld = explainedRuns("failures", n, whys)
	default:
		return nil, internal(fmt.Errorf("no way to withhold anything of a %T", v))
	}
	return v, nil
}

// outsideRun says why a run of a trusted commit may hold the words of people outside, or "".
func (b *Broker) outsideRun(ctx context.Context, c *order, o api.Origin, at api.Resolved) (string, error) {
	switch {
	case slices.Contains(trustedEvents(), o.Event):
		return "", nil
	case o.Event == pullEvent:
		return b.outsidePullRun(ctx, c, o, at)
	case !eventName.MatchString(o.Event):
		return "nobody can tell what began their run", nil
	}
	return "their run was begun by " + o.Event + ", which people outside can bring about or give words to", nil
}

// outsidePullRun knows that anybody may open a pull request of a trusted commit, from a fork or from
// the repository's own branch, and that its title and text then stand in the run.
func (b *Broker) outsidePullRun(ctx context.Context, c *order, o api.Origin, at api.Resolved) (string, error) {
	untold := "nobody can tell whose pull request began their run"
	if at.Pull == 0 {
		untold += " (give pr, and the runs of that one are shown)"
	}
	asked := at.Pull != 0 && o.Head != "" && o.Head == at.Branch
	switch {
	case o.Head == "", len(o.Pulls) > maxOriginPulls:
		return untold, nil
	case strings.Contains(o.Head, ":"): // of a fork
		if !asked {
			return untold, nil
		}
		return "", nil
	case len(o.Pulls) == 0 && !asked:
		return untold, nil
	}
	for _, n := range o.Pulls {
		if n == at.Pull {
			continue // its author was looked at
		}
		e, _, err := b.resolve(ctx, c, api.Target{Pull: n})
		var refused *api.Error
		switch {
		case errors.As(err, &refused) && (refused.Code == api.NotFound || refused.Code == api.Invalid):
			return untold, nil
		case err != nil:
			return "", err
		}
		if by := e.value.(*api.Resolved).Author; by == nil {
			return untold, nil
		} else if !c.policy.trusts(*by) {
			return fmt.Sprintf("their run may be of pull request %d by %s, who is not a trusted author of this repository", n, who(*by)), nil
		}
	}
	return "", nil
}

func explainedRuns(what string, n int, whys []string) string {
	if n == 0 {
		return ""
	}
	if len(whys) > maxWhys {
		whys = append(whys[:maxWhys:maxWhys], "and more such reasons")
	}
	return fmt.Sprintf("names and words are withheld of %d %s here, since %s: %s. Next: ask a human to read them at their url and to tell you what matters",
		n, what, strings.Join(whys, "; "), withheldWhy)
}
