package github

import (
	"reflect"
	"strings"
	"testing"

	"fleet/api"
)

func TestAnOriginSaysNoMoreThanTheForgeTells(t *testing.T) {
	repo := func(path string) object { return object{"full_name": path} }
	pulls := func(n int) (all []object) {
		for i := range n {
			all = append(all, object{"number": i + 1})
		}
		return all
	}
	for name, c := range map[string]struct {
		run  object
		want api.Origin
	}{
		"a push":                         {object{"event": "push", "head_branch": "x", "pull_requests": pulls(1)}, api.Origin{Event: "push"}},
		"no event":                       {object{}, api.Origin{}},
		"a pull request of a branch":     {object{"head_branch": "x", "repository": repo("acme/widgets"), "head_repository": repo("ACME/Widgets"), "pull_requests": pulls(2)}, api.Origin{Head: "x", Pulls: []int{1, 2}}},
		"a pull request of a fork":       {object{"head_branch": "x", "repository": repo("acme/widgets"), "head_repository": repo("mallory/widgets")}, api.Origin{Head: "mallory:x"}},
		"of a fork that is gone":         {object{"head_branch": "x", "repository": repo("acme/widgets"), "head_repository": nil}, api.Origin{}},
		"of a branch that is not told":   {object{"head_branch": nil, "repository": repo("acme/widgets"), "head_repository": repo("acme/widgets")}, api.Origin{}},
		"of a branch with a long name":   {object{"head_branch": strings.Repeat("x", 256), "repository": repo("acme/widgets"), "head_repository": repo("acme/widgets")}, api.Origin{}},
		"of a branch with many of them":  {object{"head_branch": "x", "repository": repo("acme/widgets"), "head_repository": repo("acme/widgets"), "pull_requests": pulls(11)}, api.Origin{}},
		"of a repository that has moved": {object{"head_branch": "x", "repository": nil, "head_repository": repo("acme/widgets")}, api.Origin{}},
	} {
		t.Run(name, func(t *testing.T) {
			f, p := newForge(t)
			run := runJSON(5, 8, 1, "CI", "pull_request", "queued", "")
			if strings.Contains(name, "event") {
				delete(run, "event")
			} else if c.want.Event == "" {
				c.want.Event = "pull_request"
			}
			for k, v := range c.run {
				run[k] = v
			}
			f.commit(nil, nil, []object{run})
			got, err := p.Checks(t.Context(), f.repo, target, "")
			if err != nil || len(got.Items) != 1 || !reflect.DeepEqual(got.Items[0].Origin, c.want) {
				t.Errorf("got %+v, %v; want origin %+v", got, err, c.want)
			}
		})
	}
}

// A run of any event may make a check through the API, and the forge puts it into the suite of any
// other. What a job's own check never has is words of its own.
func TestACheckOfActionsWithWordsOfItsOwnIsOfNoKnownRun(t *testing.T) {
	for name, c := range map[string]struct {
		app     string
		title   any
		summary any
		want    api.Origin
	}{
		"a job":                  {actionsApp, nil, nil, api.Origin{Event: "push"}},
		"made, with a title":     {actionsApp, "please", nil, api.Origin{}},
		"made, with a summary":   {actionsApp, nil, "please", api.Origin{}},
		"of another app":         {"sonar", "1 issue", "see below", api.Origin{Event: api.NoRun}},
		"of another app, silent": {"sonar", nil, nil, api.Origin{Event: api.NoRun}},
	} {
		t.Run(name, func(t *testing.T) {
			f, p := newForge(t)
			check := checkJSON(100, 8, 1, c.app, "build", "completed", "success")
			check["output"] = object{"title": c.title, "summary": c.summary, "annotations_count": 0}
			f.commit([]object{check}, nil, []object{runJSON(5, 8, 1, "CI", "push", "completed", "success")})
			got, err := p.Checks(t.Context(), f.repo, target, "")
			if err != nil || len(got.Items) != 1 || !reflect.DeepEqual(got.Items[0].Origin, c.want) {
				t.Errorf("got %+v, %v; want origin %+v", got, err, c.want)
			}
		})
	}
}
