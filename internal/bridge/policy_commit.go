package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"fleet/api"
)

const withheldName = "[withheld]"

// outside says why a commit's checks and logs are somebody's outside, or "". A pull request's are
// its author's: its files name the jobs, and its code writes the logs. What is on a branch of the
// repository was put there by somebody who may. Of another commit the forge tells who says to have
// written it, which anybody can say, and it shows those of every fork: it counts as outside.
func (b *Broker) outside(ctx context.Context, c *order, at api.Resolved) (string, error) {
	switch {
	case !c.policy.TrustedAuthorsOnly:
		return "", nil
	case at.Pull != 0 && at.Author == nil:
		return "nobody can tell who made the pull request", nil
	case at.Pull != 0 && c.policy.trusts(*at.Author):
		return "", nil
	case at.Pull != 0:
		return "the pull request is by " + who(*at.Author) + ", who is not a trusted author of this repository", nil
	case at.Ref == "" && at.Branch != "":
		return "", nil
	}
	branch := strings.TrimPrefix(strings.TrimPrefix(at.Ref, "refs/"), "heads/")
	e, _, err := b.resolve(ctx, c, api.Target{Branch: branch})
	var refused *api.Error
	switch {
	case err == nil && e.value.(*api.Resolved).SHA == at.SHA:
		return "", nil
	case err == nil, errors.As(err, &refused) && (refused.Code == api.NotFound || refused.Code == api.Invalid):
		return "this commit is not where a branch of the repository points, so that nobody can tell who wrote it: give pr, or a branch by its name", nil
	}
	return "", err
}

// screenedCommit withholds what the code of a commit, or its author, could have put into v. States,
// counts, times, and the addresses under which the forge itself keeps runs stay.
func screenedCommit(v any, why string, r Repo) (any, error) {
	if why == "" {
		return v, nil
	}
	switch v := v.(type) {
	case *api.Checks:
		for i := range v.Items {
			screenCheck(&v.Items[i], r)
		}
		v.Incomplete = withheldLines(v.Incomplete)
		v.Withheld = "what the checks are called and say is withheld, since " + why + ": " + withheldWhy + ". Next: " + withheldNext
	case *api.FailedLogs:
		for i := range v.Jobs {
			v.Jobs[i] = screenedJob(v.Jobs[i], why, r)
		}
		v.Incomplete = withheldLines(v.Incomplete)
		v.Withheld = "names and logs are withheld, since " + why + ": " + withheldWhy + ". Next: " + withheldNext
	default:
		return nil, internal(fmt.Errorf("no way to withhold anything of a %T", v))
	}
	return v, nil
}

// screenedFault withholds the words of a fault, which may quote a job's name.
func screenedFault(err error, why string) error {
	var e *api.Error
	if why == "" || !errors.As(err, &e) {
		return err
	}
	own := *e
	own.Message = "what failed there could not be read (" + cmp.Or(e.Reason, string(e.Code)) + "); more is withheld, since " + why
	return &own
}

func screenCheck(c *api.Check, r Repo) {
	c.Name = withheldName
	for _, text := range []*string{&c.Workflow, &c.Summary} {
		if *text != "" {
			*text = withheldName
		}
	}
	if c.URL != "" && !isRunAddress(c.URL, r) {
		c.URL = withheldName
	}
	c.HasLog, c.Origin = false, api.Origin{}
}

// screenedJob keeps of a job what it is not on a list to lose.
func screenedJob(job api.FailedJob, why string, r Repo) api.FailedJob {
	kept := api.FailedJob{
		Conclusion: job.Conclusion, Lines: job.Lines, URL: withheldName,
		Note: "[withheld: name and log, since " + why + "; a human can read them on the forge]",
	}
	for range max(len(job.Names), 1) {
		kept.Names = append(kept.Names, withheldName)
	}
	if isRunAddress(job.URL, r) {
		kept.URL = job.URL
	}
	return kept
}

// withheldLines keeps how many things could not be read.
func withheldLines(lines []string) []string {
	for i := range lines {
		lines[i] = "something could not be read; what, is withheld"
	}
	return lines
}

// runPath is of a run, a job or a check on the forge's own pages: numbers alone.
var runPath = regexp.MustCompile(`^/(actions/runs/[0-9]+(/attempts/[0-9]+)?(/job/[0-9]+)?|runs/[0-9]+)$`)

// isRunAddress says that nobody but the forge chose what stands in an address.
func isRunAddress(address string, r Repo) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.RawPath != "" {
		return false
	}
	own := "/" + r.Path
	return len(u.Path) > len(own) && strings.EqualFold(u.Path[:len(own)], own) && runPath.MatchString(u.Path[len(own):])
}
