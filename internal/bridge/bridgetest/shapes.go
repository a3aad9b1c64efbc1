package bridgetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// shape is what an address that GitHub's description (in testdata) lacks takes and gives, from
// GitHub's pages.
type shape struct {
	query  []string // parameters
	fields string   // of the answer, each with the JSON type of its value
	docs   string
}

// shapes are all routes that the description lacks.
func shapes() map[string]shape {
	return map[string]shape{
		"GET /repos/{owner}/{repo}/commits/{ref}": {
			query:  []string{"page", "per_page"},
			fields: "author:object comments_url:string commit:object committer:object html_url:string node_id:string parents:array sha:string url:string",
			docs:   "https://docs.github.com/rest/commits/commits#get-a-commit",
		},
		"GET /repos/{owner}/{repo}/actions/runs/{run_id}": {
			query: []string{"exclude_pull_requests"},
			fields: "id:number name:string head_branch:string head_sha:string status:string event:string workflow_id:number " +
				"jobs_url:string html_url:string run_attempt:number check_suite_id:number",
			docs: "https://docs.github.com/rest/actions/workflow-runs#get-a-workflow-run",
		},
		"GET /repos/{owner}/{repo}/actions/runs/{run_id}/artifacts": {
			query: []string{"per_page", "page", "name"}, fields: "total_count:number artifacts:array",
			docs: "https://docs.github.com/rest/actions/artifacts#list-workflow-run-artifacts",
		},
		"GET /repos/{owner}/{repo}/actions/workflows": {
			query: []string{"per_page", "page"}, fields: "total_count:number workflows:array",
			docs: "https://docs.github.com/rest/actions/workflows#list-repository-workflows",
		},
		"GET /repos/{owner}/{repo}/actions/workflows/{workflow_id}": {
			fields: "id:number node_id:string name:string path:string state:string created_at:string updated_at:string url:string html_url:string badge_url:string",
			docs:   "https://docs.github.com/rest/actions/workflows#get-a-workflow",
		},
		"GET /meta":     {fields: "verifiable_password_authentication:boolean", docs: "https://docs.github.com/rest/meta/meta"},
		"POST /graphql": {docs: "https://docs.github.com/graphql"}, // graphQL checks the question itself
	}
}

// checkByHand holds a request (where r is nil) or an answer to its shape.
func (c *call) checkByHand(r *reply) error {
	s, ok := shapes()[c.route.method+" "+c.route.path]
	if !ok {
		return errors.New("neither GitHub's description nor the table of shapes has this address")
	}
	if r == nil {
		for name := range c.query {
			if !slices.Contains(s.query, name) {
				return fmt.Errorf("GitHub has no parameter %s there (%s)", name, s.docs)
			}
		}
		return nil
	}
	var body map[string]any
	if err := json.Unmarshal(r.encodeBody(), &body); err != nil {
		return fmt.Errorf("it is no object: %w", err)
	}
	var faults []string
	for one := range strings.FieldsSeq(s.fields) {
		name, kind, _ := strings.Cut(one, ":")
		if got := kindOf(body[name]); got != kind {
			faults = append(faults, fmt.Sprintf("%s is %s, not %s", name, got, kind))
		}
	}
	if len(faults) > 0 {
		sort.Strings(faults)
		return fmt.Errorf("%s (%s)", strings.Join(faults, "; "), s.docs)
	}
	return nil
}

func kindOf(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case float64:
		return "number"
	case bool:
		return "boolean"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "missing"
}

// checkRefusal: whatever GitHub refuses, it says so in one form.
func checkRefusal(r *reply) error {
	var body struct {
		Message       *string
		Documentation *string `json:"documentation_url"`
	}
	if err := json.Unmarshal(r.encodeBody(), &body); err != nil || body.Message == nil || body.Documentation == nil {
		return errors.New("a refusal needs message and documentation_url")
	}
	return nil
}
