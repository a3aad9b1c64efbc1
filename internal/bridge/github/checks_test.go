package github

import (
	"fmt"
	"strings"
	"testing"

	"fleet/api"
)

func runJSON(id, suite, minute int, name, event, status, conclusion string) object {
	return object{
		"id": id, "name": name, "workflow_id": 100 + len(name), "event": event, "status": status, "conclusion": orNull(conclusion), "check_suite_id": suite,
		"head_sha": headSHA, "run_started_at": at(minute), "updated_at": at(minute + 1), "html_url": fmt.Sprintf("https://github.com/acme/widgets/actions/runs/%d", id), "path": ".github/workflows/x.yml",
	}
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func checkJSON(id, suite, minute int, app, name, status, conclusion string) object {
	return object{
		"id": id, "name": name, "status": status, "conclusion": orNull(conclusion), "app": object{"slug": app}, "check_suite": object{"id": suite},
		"started_at": at(minute), "html_url": "https://github.com/acme/widgets/runs/1", "details_url": "https://" + app + ".example/1", "output": object{"title": nil, "summary": nil, "annotations_count": 0},
	}
}

func statusJSON(id int, context, state string) object {
	return object{"id": id, "context": context, "state": state, "description": "said", "target_url": "https://ci.example/1", "created_at": at(1), "updated_at": at(2)}
}

// commit sets what the forge knows of headSHA.
func (f *forge) commit(checks, statuses, runs []object) {
	f.json("GET", "commits/"+headSHA+"/check-runs", encoded(f.t, object{"total_count": len(checks), "check_runs": orEmpty(checks)}))
	f.json("GET", "commits/"+headSHA+"/status", encoded(f.t, object{"state": "pending", "total_count": len(statuses), "sha": headSHA, "statuses": orEmpty(statuses)}))
	f.json("GET", "actions/runs", encoded(f.t, object{"total_count": len(runs), "workflow_runs": orEmpty(runs)}))
}

func orEmpty(o []object) []object {
	if o == nil {
		return []object{}
	}
	return o
}

func TestOverallIsTheWorstOfWhatCounts(t *testing.T) {
	const actions = "github-actions"
	cases := map[string]struct {
		checks, statuses, runs []object
		overall                string
		items                  string // name bucket source, in order
		reason                 string
	}{
		"nothing at all":          {overall: api.BucketNone, reason: "no check"},
		"a status alone":          {statuses: []object{statusJSON(1, "jenkins", "success")}, overall: api.BucketPass, items: "jenkins pass status"},
		"an expected status":      {statuses: []object{statusJSON(1, "jenkins", "expected")}, overall: api.BucketPending, items: "jenkins pending status"},
		"actions alone":           {checks: []object{checkJSON(1, 9, 1, actions, "build", "completed", "success")}, runs: []object{runJSON(5, 9, 1, "CI", "push", "completed", "success")}, overall: api.BucketPass, items: "build pass check_run"},
		"all skipped":             {checks: []object{checkJSON(1, 9, 1, actions, "build", "completed", "skipped"), checkJSON(2, 9, 1, actions, "lint", "completed", "neutral")}, overall: api.BucketSkipped, items: "build skipped check_run, lint skipped check_run", reason: "proves nothing"},
		"a file that is no YAML":  {runs: []object{runJSON(5, 9, 1, "CI", "push", "completed", "startup_failure")}, overall: api.BucketFail, items: "CI fail workflow_run", reason: "never started"},
		"a fork without approval": {runs: []object{runJSON(5, 9, 1, "CI", "pull_request", "completed", "action_required")}, overall: api.BucketPending, items: "CI pending workflow_run", reason: "approval"},
		"queued":                  {runs: []object{runJSON(5, 9, 1, "CI", "push", "queued", "")}, overall: api.BucketPending, items: "CI pending workflow_run"},
		"a red run with a newer green one": {
			checks:  []object{checkJSON(1, 8, 1, actions, "build", "completed", "failure"), checkJSON(2, 9, 5, actions, "build", "completed", "success")},
			runs:    []object{runJSON(5, 8, 1, "CI", "push", "completed", "failure"), runJSON(6, 9, 5, "CI", "push", "completed", "success")},
			overall: api.BucketPass, items: "build pass check_run", reason: "newer",
		},
		"a red push beside a green pull request": {
			checks:  []object{checkJSON(1, 8, 1, actions, "build", "completed", "failure"), checkJSON(2, 9, 5, actions, "build", "completed", "success")},
			runs:    []object{runJSON(5, 8, 1, "CI", "push", "completed", "failure"), runJSON(6, 9, 5, "CI", "pull_request", "completed", "success")},
			overall: api.BucketFail, items: "build fail check_run, build pass check_run",
		},
		"a red run that runs anew": {
			checks:  []object{checkJSON(1, 8, 1, actions, "build", "completed", "failure")},
			runs:    []object{runJSON(5, 8, 1, "CI", "push", "completed", "failure"), runJSON(6, 9, 5, "CI", "push", "queued", "")},
			overall: api.BucketPending, items: "CI pending workflow_run", reason: "newer",
		},
		"jobs that share a name": {
			checks:  []object{checkJSON(1, 8, 1, actions, "test", "completed", "failure"), checkJSON(2, 8, 5, actions, "test", "completed", "success")},
			runs:    []object{runJSON(5, 8, 1, "CI", "push", "completed", "failure")},
			overall: api.BucketFail, items: "test fail check_run, test pass check_run",
		},
		"two apps and a status of one name": {
			checks:   []object{checkJSON(1, 8, 1, "one", "test", "completed", "failure"), checkJSON(2, 9, 5, "two", "test", "completed", "success")},
			statuses: []object{statusJSON(3, "test", "success")}, overall: api.BucketFail, items: "test fail check_run, test pass check_run, test pass status",
		},
		"cancelled and taken up again": {
			checks:  []object{checkJSON(1, 8, 1, actions, "build", "completed", "cancelled"), checkJSON(2, 9, 5, actions, "build", "completed", "success")},
			runs:    []object{runJSON(5, 8, 1, "CI", "push", "completed", "cancelled"), runJSON(6, 9, 5, "CI", "push", "completed", "success")},
			overall: api.BucketPass, items: "build pass check_run", reason: "newer",
		},
		"cancelled for good": {checks: []object{checkJSON(1, 8, 1, actions, "build", "completed", "cancelled")}, statuses: []object{statusJSON(1, "x", "success")}, overall: api.BucketCancelled, items: "build cancelled check_run, x pass status", reason: "blocks"},
		"worst states":       {checks: []object{checkJSON(1, 8, 1, "a", "a", "completed", "timed_out"), checkJSON(2, 8, 1, "a", "b", "completed", "action_required"), checkJSON(3, 8, 1, "a", "c", "completed", "stale"), checkJSON(4, 8, 1, "a", "d", "in_progress", "")}, overall: api.BucketFail, items: "a fail check_run, b fail check_run, c fail check_run, d pending check_run"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f, p := newForge(t)
			f.commit(c.checks, c.statuses, c.runs)
			got, err := p.Checks(t.Context(), f.repo, api.Resolved{SHA: headSHA}, "")
			if err != nil {
				t.Fatal(err)
			}
			var items []string
			for _, i := range got.Items {
				items = append(items, i.Name+" "+i.Bucket+" "+i.Source)
			}
			if s := strings.Join(items, ", "); got.Overall != c.overall || s != c.items || !strings.Contains(got.Reason, c.reason) || c.reason == "" && got.Reason != "" {
				t.Errorf("overall %s (%s) of %s\nwant %s (%s) of %s", got.Overall, got.Reason, s, c.overall, c.reason, c.items)
			}
		})
	}
}

// TestUnreadableCheckRunsAreNoGreen is what a fine-grained token makes: GitHub has no permission
// for checks that it could have.
func TestUnreadableCheckRunsAreNoGreen(t *testing.T) {
	f, p := newForge(t)
	f.commit(nil, []object{statusJSON(1, "jenkins", "success")}, []object{runJSON(5, 9, 1, "CI", "push", "completed", "success")})
	f.refuse("GET", "commits/"+headSHA+"/check-runs", 403, `{"message":"Resource not accessible by personal access token"}`, "X-Accepted-GitHub-Permissions: checks=read")
	got, err := p.Checks(t.Context(), f.repo, api.Resolved{SHA: headSHA}, "")
	if err != nil {
		t.Fatal(err)
	}
	if got.Overall != api.BucketUnknown || len(got.Items) != 2 || len(got.Incomplete) != 1 || !strings.Contains(got.Incomplete[0], "checks:read") {
		t.Errorf("overall %s, %d items, incomplete %v", got.Overall, len(got.Items), got.Incomplete)
	}
}

func TestUnknownCommitIsNotACommitWithoutChecks(t *testing.T) {
	f, p := newForge(t)
	f.commit(nil, nil, nil)
	f.refuse("GET", "commits/"+headSHA+"/check-runs", 422, `{"message":"No commit found for SHA: 1111"}`)
	f.refuse("GET", "commits/"+headSHA+"/status", 404, `{"message":"Not Found"}`)
	_, err := p.Checks(t.Context(), f.repo, api.Resolved{SHA: headSHA}, "")
	refusedWith(t, err, api.NotFound, "no_such_commit")
}

func TestAllPagesOfCheckRunsAreRead(t *testing.T) {
	f, p := newForge(t)
	f.commit(nil, nil, nil)
	var pages []string
	for n := range 3 {
		var checks []object
		for i := range 100 {
			checks = append(checks, checkJSON(n*100+i+1, 8, 1, "app", fmt.Sprintf("check %d", n*100+i), "completed", map[bool]string{true: "failure", false: "success"}[n == 2 && i == 99]))
		}
		pages = append(pages, encoded(t, object{"total_count": 300, "check_runs": checks}))
	}
	f.pages("commits/"+headSHA+"/check-runs", pages...)
	got, err := p.Checks(t.Context(), f.repo, api.Resolved{SHA: headSHA}, "")
	if err != nil || len(got.Items) != 300 || got.Overall != api.BucketFail || got.Items[0].Name != "check 299" {
		t.Errorf("got %d items, overall %v, %v", len(got.Items), got.Overall, err)
	}
}

func TestRefsReachNothingElse(t *testing.T) {
	cases := map[string]struct {
		ref  string
		path string // escaped, below commits; "": refused without a request
	}{
		"branch":            {"main", "main"},
		"slashes":           {"feature/one", "feature%2Fone"},
		"another resource":  {"main/check-runs", "main%2Fcheck-runs"},
		"full ref":          {"refs/heads/main", "heads%2Fmain"},
		"hash sign":         {"a#b", "a%23b"},
		"percent":           {"a%2fb", "a%252fb"},
		"not ASCII":         {"größe", "gr%C3%B6%C3%9Fe"},
		"ampersand":         {"a&b=c", "a&b=c"},
		"up":                {"../../x", ""},
		"escaped up":        {"%2e%2e", ""},
		"escaped up within": {"a/%2e%2e/b", ""},
		"question mark":     {"a?b", ""},
		"blank":             {"a b", ""},
		"line end":          {"a\nb", ""},
		"dot":               {".", ""},
		"option":            {"--upload-pack=x", ""},
		"revision syntax":   {"main~1", ""},
		"slash at the end":  {"a/", ""},
		"two slashes":       {"a//b", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f, p := newForge(t)
			f.json("GET", "commits/"+c.path, encoded(t, object{"sha": headSHA}))
			got, err := p.Resolve(t.Context(), f.repo, api.Target{Ref: c.ref})
			if c.path == "" {
				refusedWith(t, err, api.Invalid, "bad_ref")
				if n := len(f.asked()); n != 0 {
					t.Errorf("%d requests", n)
				}
				return
			}
			if err != nil || got.SHA != headSHA || got.Ref != c.ref || len(f.asked()) != 1 {
				t.Errorf("got %+v, %v after %v", got, err, f.asked())
			}
		})
	}
}

func TestWorkspaceBranchIsTakenAsPushed(t *testing.T) {
	f, p := newForge(t)
	f.json("GET", "branches/feature%2Fone", encoded(t, object{"name": "feature/one", "commit": object{"sha": headSHA}}))
	got, err := p.Resolve(t.Context(), f.repo, api.Target{Branch: "feature/one", SHA: oldSHA})
	if err != nil || got.SHA != headSHA || !strings.Contains(got.Note, oldSHA[:12]) {
		t.Errorf("ahead: got %+v, %v", got, err)
	}
	if got, err = p.Resolve(t.Context(), f.repo, api.Target{Branch: "feature/one", SHA: headSHA}); err != nil || got.Note != "" {
		t.Errorf("pushed: got %+v, %v", got, err)
	}
	_, err = p.Resolve(t.Context(), f.repo, api.Target{Branch: "mine", SHA: oldSHA})
	if e := refusedWith(t, err, api.NotFound, "not_pushed"); !strings.Contains(e.Hint, "git push") {
		t.Errorf("hint %q", e.Hint)
	}
	_, err = p.Resolve(t.Context(), f.repo, api.Target{Pull: 3, Ref: "main"})
	refusedWith(t, err, api.Invalid, "two_targets")
	_, err = p.Resolve(t.Context(), f.repo, api.Target{SHA: oldSHA})
	refusedWith(t, err, api.Invalid, "no_target")
	_, err = p.Resolve(t.Context(), f.repo, api.Target{Pull: 3})
	refusedWith(t, err, api.NotFound, "no_such_pull")
	_, err = p.Resolve(t.Context(), f.repo, api.Target{Ref: "nowhere"})
	refusedWith(t, err, api.NotFound, "no_such_ref")
}
