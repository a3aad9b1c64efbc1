package bridgetest

func (c *call) check(k *Check) object {
	r := c.base + "/repos/" + k.repo.path()
	at := r + "/check-runs/" + number(k.id)
	return object{
		"id": k.id, "node_id": node("CheckRun", k.id), "head_sha": k.sha, "name": k.name, "url": at, "external_id": "",
		"html_url": web + k.repo.path() + "/runs/" + number(k.id), "details_url": k.details, "status": k.status,
		"conclusion": text(k.conclusion), "started_at": when(k.started), "completed_at": when(k.completed),
		"check_suite": object{"id": k.suite}, "app": c.app(k.app), "pull_requests": []any{},
		"output": object{
			"title": text(k.title), "summary": text(k.summary), "text": nil, "annotations_count": len(k.annotations),
			"annotations_url": at + "/annotations",
		},
	}
}

func (c *call) annotation(k *Check, a annotation) object {
	return object{
		"path": a.path, "blob_href": web + k.repo.path() + "/blob/" + k.sha + "/" + a.path, "start_line": a.line,
		"end_line": a.line, "start_column": nil, "end_column": nil, "annotation_level": a.level, "title": nil,
		"message": a.message, "raw_details": nil,
	}
}

func (c *call) status(r *Repo, s *status) object {
	return object{
		"id": s.id, "node_id": node("StatusContext", s.id), "url": c.base + "/repos/" + r.path() + "/statuses/" + s.sha,
		"state": s.state, "context": s.context, "description": text(s.description), "target_url": text(s.url),
		"avatar_url": nil, "created_at": when(s.created), "updated_at": when(s.created),
	}
}

func (c *call) run(n *Run) object {
	r := c.base + "/repos/" + n.repo.path()
	at := r + "/actions/runs/" + number(n.id)
	workflow := n.repo.workflows[n.workflow]
	k := n.repo.commits[n.sha]
	person := object{"name": "Ann", "email": "ann@example.com"}
	from := c.minimal(n.repo)
	if n.fork != "" {
		from["id"], from["full_name"], from["fork"] = n.repo.id+1_000_000, n.fork+"/"+n.repo.name, true
	}
	var head any
	title := n.workflow
	if k != nil {
		title = k.message
		head = object{"id": k.sha, "tree_id": k.sha, "message": k.message, "timestamp": when(k.made), "author": person, "committer": person}
	}
	return links(object{
		"id": n.id, "name": n.workflow, "node_id": node("WorkflowRun", n.id), "check_suite_id": n.suite,
		"check_suite_node_id": node("CheckSuite", n.suite), "head_branch": text(n.branch), "head_sha": n.sha,
		"path": ".github/workflows/ci.yml", "display_title": title, "run_number": n.number, "run_attempt": n.attempt,
		"event": n.event, "status": n.status, "conclusion": text(n.conclusion), "workflow_id": workflow, "url": at,
		"html_url": web + n.repo.path() + "/actions/runs/" + number(n.id), "pull_requests": c.pullsOf(n), "created_at": when(n.created),
		"updated_at": when(n.created), "actor": c.user("ann"), "triggering_actor": c.user("ann"), "run_started_at": when(n.created),
		"check_suite_url": r + "/check-suites/" + number(n.suite), "workflow_url": r + "/actions/workflows/" + number(workflow),
		"previous_attempt_url": nil, "head_commit": head, "repository": c.minimal(n.repo), "head_repository": from,
	}, at, "jobs logs artifacts cancel rerun")
}

// pullsOf are the open pull requests from a run's branch, whatever began it; of a fork's, GitHub
// names none.
func (c *call) pullsOf(n *Run) []any {
	found := []any{}
	at := c.base + "/repos/" + n.repo.path()
	in := object{"id": n.repo.id, "url": at, "name": n.repo.name}
	for _, i := range n.repo.issues {
		if p := i.pull; p != nil && n.fork == "" && p.fork == "" && p.branch == n.branch && i.closed.IsZero() {
			found = append(found, object{
				"id": i.id, "number": i.number, "url": at + "/pulls/" + number(i.number),
				"head": object{"ref": p.branch, "sha": p.head, "repo": in},
				"base": object{"ref": p.base, "sha": n.repo.branches[p.base], "repo": in},
			})
		}
	}
	return found
}

func (c *call) job(j *Job) object {
	k := j.check
	r := c.base + "/repos/" + k.repo.path()
	steps := []any{}
	for n, s := range j.steps {
		steps = append(steps, object{
			"name": s.name, "status": s.status, "conclusion": text(s.conclusion), "number": n + 1,
			"started_at": when(s.started), "completed_at": when(s.completed),
		})
	}
	return object{
		"id": k.id, "run_id": j.run.id, "run_url": r + "/actions/runs/" + number(j.run.id), "run_attempt": j.run.attempt,
		"node_id": node("CheckRun", k.id), "head_sha": k.sha, "url": r + "/actions/jobs/" + number(k.id), "html_url": k.details,
		"status": k.status, "conclusion": text(k.conclusion), "created_at": when(k.started), "started_at": when(k.started),
		"completed_at": when(k.completed), "name": k.name, "steps": steps, "check_run_url": r + "/check-runs/" + number(k.id),
		"labels": []any{"ubuntu-latest"}, "runner_id": 1, "runner_name": "GitHub Actions 1", "runner_group_id": 0,
		"runner_group_name": "GitHub Actions", "workflow_name": j.run.workflow, "head_branch": text(j.run.branch),
	}
}

func (c *call) workflow(name string, id int64) object {
	at := c.base + "/repos/" + c.repo.path() + "/actions/workflows/" + number(id)
	return object{
		"id": id, "node_id": node("Workflow", id), "name": name, "path": ".github/workflows/ci.yml", "state": "active",
		"created_at": when(c.repo.created), "updated_at": when(c.repo.created), "url": at,
		"html_url": web + c.repo.path() + "/blob/main/.github/workflows/ci.yml", "badge_url": web + c.repo.path() + "/workflows/ci/badge.svg",
	}
}
