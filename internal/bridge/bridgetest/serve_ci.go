package bridgetest

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
)

func showBranch(c *call) reply {
	name := c.params["branch"]
	sha := c.repo.branches[name]
	if sha == "" {
		return refuse(http.StatusNotFound, "Branch not found")
	}
	at := c.base + "/repos/" + c.repo.path() + "/branches/" + url.PathEscape(name)
	return ok(object{
		"name": name, "commit": c.commit(c.repo, c.repo.commits[sha]), "protected": false, "protection": object{"enabled": false},
		"protection_url": at + "/protection", "_links": object{"self": at, "html": web + c.repo.path() + "/tree/" + name},
	})
}

// withCommit answers for a ref that is none.
func (c *call) withCommit(serve func(*commit) reply) reply {
	if k := c.repo.find(c.params["ref"]); k != nil {
		return serve(k)
	}
	return refuse(http.StatusUnprocessableEntity, "No commit found for SHA: "+c.params["ref"])
}

func showCommit(c *call) reply {
	return c.withCommit(func(k *commit) reply { return ok(c.commit(c.repo, k)) })
}

// listChecks gives the newest first. With filter=latest, which is the usual, those of one suite
// with the same name are one.
func listChecks(c *call) reply {
	return c.withCommit(func(k *commit) reply {
		var all []*Check
		for _, one := range slices.Backward(c.repo.checks) {
			older := func(o *Check) bool { return o.suite == one.suite && o.name == one.name }
			if one.sha == k.sha && (c.query.Get("filter") == "all" || !slices.ContainsFunc(all, older)) {
				all = append(all, one)
			}
		}
		return listIn(c, all, c.check, func(items []any) any { return object{"total_count": len(all), "check_runs": items} })
	})
}

// showStatus combines the newest status of each context. Of none, GitHub says "pending".
func showStatus(c *call) reply {
	return c.withCommit(func(k *commit) reply {
		var all []*status
		state := "success"
		for _, s := range slices.Backward(c.repo.statuses) {
			if s.sha != k.sha || slices.ContainsFunc(all, func(o *status) bool { return o.context == s.context }) {
				continue
			}
			all = append(all, s)
			if s.state == "error" || s.state == "failure" {
				state = "failure"
			} else if s.state == "pending" && state == "success" {
				state = "pending"
			}
		}
		if len(all) == 0 {
			state = "pending"
		}
		at := c.base + "/repos/" + c.repo.path() + "/commits/" + k.sha
		return listIn(c, all, func(s *status) object { return c.status(c.repo, s) }, func(items []any) any {
			return object{
				"state": state, "statuses": items, "sha": k.sha, "total_count": len(all), "repository": c.minimal(c.repo),
				"commit_url": at, "url": at + "/status",
			}
		})
	})
}

func listAnnotations(c *call) reply {
	for _, k := range c.repo.checks {
		if number(k.id) == c.params["check_run_id"] {
			return list(c, k.annotations, func(a annotation) object { return c.annotation(k, a) })
		}
	}
	return refuse(http.StatusNotFound, "Not Found")
}

func listRuns(c *call) reply {
	all := slices.Clone(c.repo.runs)
	slices.Reverse(all)
	all = slices.DeleteFunc(all, func(n *Run) bool {
		differs := func(name, value string) bool { return c.query.Has(name) && c.query.Get(name) != value }
		return differs("head_sha", n.sha) || differs("branch", n.branch) || differs("event", n.event) ||
			differs("check_suite_id", number(n.suite))
	})
	return listIn(c, all, c.run, func(items []any) any { return object{"total_count": len(all), "workflow_runs": items} })
}

func (c *call) withRun(serve func(*Run) reply) reply {
	for _, n := range c.repo.runs {
		if number(n.id) == c.params["run_id"] {
			return serve(n)
		}
	}
	return refuse(http.StatusNotFound, "Not Found")
}

func showRun(c *call) reply { return c.withRun(func(n *Run) reply { return ok(c.run(n)) }) }

func listJobs(c *call) reply {
	return c.withRun(func(n *Run) reply {
		return listIn(c, n.jobs, c.job, func(items []any) any { return object{"total_count": len(n.jobs), "jobs": items} })
	})
}

func listArtifacts(c *call) reply {
	return c.withRun(func(*Run) reply { return ok(object{"total_count": 0, "artifacts": []any{}}) })
}

func listWorkflows(c *call) reply {
	names := slices.Sorted(maps.Keys(c.repo.workflows))
	return listIn(c, names, func(name string) object { return c.workflow(name, c.repo.workflows[name]) }, func(items []any) any {
		return object{"total_count": len(names), "workflows": items}
	})
}

func showWorkflow(c *call) reply {
	for name, id := range c.repo.workflows {
		if number(id) == c.params["workflow_id"] {
			return ok(c.workflow(name, id))
		}
	}
	return refuse(http.StatusNotFound, "Not Found")
}

func (c *call) withJob(serve func(*Job) reply) reply {
	for _, k := range c.repo.checks {
		if k.job != nil && number(k.id) == c.params["job_id"] {
			return serve(k.job)
		}
	}
	return refuse(http.StatusNotFound, "Not Found")
}

func showJob(c *call) reply { return c.withJob(func(j *Job) reply { return ok(c.job(j)) }) }

// jobLogs leads to another host, which has the log for whoever has the address.
func jobLogs(c *call) reply {
	return c.withJob(func(j *Job) reply {
		switch j.kept {
		case logExpired:
			return refuse(http.StatusGone, "The logs for this run have expired")
		case logNever:
			return refuse(http.StatusNotFound, "Not Found")
		case logThere, logNotReady:
		}
		return reply{status: http.StatusFound}.with("Location", c.gh.logs.address(j))
	})
}
