package github

import (
	"fmt"
	"strings"
	"testing"
)

func TestJobsThatDidNotFailAreLeftOut(t *testing.T) {
	f, p := newForge(t)
	h := newLogHost(t)
	ok, skipped, cancelled, failed := f.job(h, 100, "ok"), f.job(h, 101, "skipped"), f.job(h, 102, "cancelled"), f.job(h, 103, "late", "Error: x")
	ok["conclusion"], skipped["conclusion"], cancelled["conclusion"], failed["conclusion"] = "success", "skipped", "cancelled", "timed_out"
	f.failing(ok, skipped, cancelled, failed)
	got, err := p.FailedLogs(t.Context(), f.repo, target, "")
	if err != nil || len(got.Jobs) != 2 || got.Jobs[1].Names[0] != "late" || got.Jobs[1].Excerpt == "" || got.Jobs[0].Excerpt != "" {
		t.Errorf("got %+v, %v", got, err)
	}
	if n := f.count("GET /repos/acme/widgets/actions/jobs/"); n != 1 {
		t.Errorf("%d logs were asked for, want 1", n)
	}
}

func TestNothingFailedIsSaidWithCare(t *testing.T) {
	cases := map[string]struct {
		set  func(f *forge)
		says string
	}{
		"green":   {func(f *forge) { f.commit(nil, []object{statusJSON(1, "x", "success")}, nil) }, "nothing has failed"},
		"none":    {func(f *forge) { f.commit(nil, nil, nil) }, "no check"},
		"running": {func(f *forge) { f.commit(nil, []object{statusJSON(1, "x", "pending")}, nil) }, "so far"},
		"unreadable": {func(f *forge) {
			f.commit(nil, nil, nil)
			f.refuse("GET", "commits/"+headSHA+"/check-runs", 403, `{"message":"Resource not accessible by personal access token"}`)
		}, "not everything"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f, p := newForge(t)
			c.set(f)
			got, err := p.FailedLogs(t.Context(), f.repo, target, "")
			if err != nil || len(got.Jobs) != 0 || !strings.Contains(got.Note, c.says) {
				t.Errorf("got %+v, %v; want a note with %q", got, err, c.says)
			}
		})
	}
}

func TestFailuresAreChosenInOrderAndNoneTwice(t *testing.T) {
	var all []failure
	for i := range 3 * batch {
		all = append(all, failure{key: failureKey{kindJob, int64(i)}})
	}
	ids := func(c logsCursor) (first, last int64, after *failureKey) {
		chosen, after := c.choose(all)
		if len(chosen) > batch {
			t.Errorf("%d were chosen", len(chosen))
		}
		if len(chosen) == 0 {
			return -1, -1, after
		}
		return chosen[0].key.ID, chosen[len(chosen)-1].key.ID, after
	}
	key := func(id int64) *failureKey { return &failureKey{kindJob, id} }
	var full []failureKey
	for i := range batch {
		full = append(full, all[i].key)
	}
	cases := map[string]struct {
		from        logsCursor
		first, last int64
		after       *failureKey
	}{
		"from the start":          {logsCursor{}, 0, batch - 1, key(batch - 1)},
		"after one":               {logsCursor{After: key(9)}, 10, batch + 9, key(batch + 9)},
		"left over, and after":    {logsCursor{After: key(9), Left: []failureKey{*key(3)}}, 3, batch + 8, key(batch + 8)},
		"left over only":          {logsCursor{Left: []failureKey{*key(3), *key(5)}}, 3, 5, nil},
		"left over fills it":      {logsCursor{After: key(40), Left: full}, 0, batch - 1, key(40)},
		"the last":                {logsCursor{After: key(3*batch - 2)}, 3*batch - 1, 3*batch - 1, nil},
		"what was left has ended": {logsCursor{After: key(3*batch - 1), Left: []failureKey{{kindRun, 1}}}, -1, -1, nil},
	}
	for name, c := range cases {
		first, last, after := ids(c.from)
		if first != c.first || last != c.last || fmt.Sprint(after) != fmt.Sprint(c.after) {
			t.Errorf("%s: %d to %d, then after %v; want %d to %d, then after %v", name, first, last, after, c.first, c.last, c.after)
		}
	}
}

// TestJobThatDidBetterInANewerRunIsNotShown beside another of its run that did not.
func TestJobThatDidBetterInANewerRunIsNotShown(t *testing.T) {
	f, p := newForge(t)
	h := newLogHost(t)
	const actions = "github-actions"
	f.commit(
		[]object{checkJSON(100, 8, 1, actions, "build", "completed", "failure"), checkJSON(102, 8, 1, actions, "lint", "completed", "failure"), checkJSON(101, 9, 5, actions, "build", "completed", "success")}, nil,
		[]object{runJSON(5, 8, 1, "CI", "push", "completed", "failure"), runJSON(6, 9, 5, "CI", "push", "completed", "success")},
	)
	f.json("GET", "actions/runs/5/jobs", encoded(t, object{"jobs": []object{f.job(h, 100, "build", "Error: x"), f.job(h, 102, "lint", "Error: y")}}))
	got, err := p.FailedLogs(t.Context(), f.repo, target, "")
	if err != nil || len(got.Jobs) != 1 || got.Jobs[0].Names[0] != "lint" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestJobOfAnEarlierRunIsNotShown: a newer run of the same workflow did better.
func TestJobOfAnEarlierRunIsNotShown(t *testing.T) {
	f, p := newForge(t)
	h := newLogHost(t)
	f.commit(
		[]object{checkJSON(100, 8, 1, "github-actions", "build", "completed", "failure"), checkJSON(101, 9, 5, "github-actions", "build", "completed", "success")}, nil,
		[]object{runJSON(5, 8, 1, "CI", "push", "completed", "failure"), runJSON(6, 9, 5, "CI", "push", "completed", "success")},
	)
	f.json("GET", "actions/runs/5/jobs", encoded(t, object{"jobs": []object{f.job(h, 100, "build", "Error: x")}}))
	got, err := p.FailedLogs(t.Context(), f.repo, target, "")
	if err != nil || len(got.Jobs) != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestLogsAreReadWithoutCheckRuns is what a fine-grained token can do.
func TestLogsAreReadWithoutCheckRuns(t *testing.T) {
	f, p := newForge(t)
	h := newLogHost(t)
	f.failing(f.job(h, 100, "build", "Error: x"))
	f.refuse("GET", "commits/"+headSHA+"/check-runs", 403, `{"message":"Resource not accessible by personal access token"}`)
	got, err := p.FailedLogs(t.Context(), f.repo, target, "")
	if err != nil || len(got.Jobs) != 1 || !strings.Contains(got.Jobs[0].Excerpt, "Error: x") || len(got.Incomplete) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
}
