package bridgetest

func (c *call) pullSimple(p *Pull) object {
	i := p.issue
	r := c.base + "/repos/" + p.repo.path()
	at := r + "/pulls/" + number(i.number)
	issue := r + "/issues/" + number(i.number)
	statuses := r + "/statuses/" + p.head
	link := func(address string) object { return object{"href": address} }
	headOwner, label := p.repo.owner, p.repo.owner+":"+p.branch
	head := c.within(p.repo)
	if p.fork != "" {
		headOwner, label = p.fork, p.fork+":"+p.branch
		head["id"], head["full_name"], head["fork"] = p.repo.id+1_000_000, p.fork+"/"+p.repo.name, true
	}
	return merge(c.common(i), object{
		"id": i.id, "node_id": node("PullRequest", i.id), "url": at, "html_url": i.address(), "diff_url": i.address() + ".diff",
		"patch_url": i.address() + ".patch", "issue_url": issue, "commits_url": at + "/commits",
		"review_comments_url": at + "/comments", "review_comment_url": r + "/pulls/comments{/number}",
		"comments_url": issue + "/comments", "statuses_url": statuses, "user": c.somebody(i.by),
		"merged_at": when(p.merged), "merge_commit_sha": nil, "requested_reviewers": c.users(p.asked), "requested_teams": []any{},
		"head": object{"label": label, "ref": p.branch, "sha": p.head, "user": c.somebody(headOwner), "repo": head},
		"base": object{
			"label": p.repo.owner + ":" + p.base, "ref": p.base, "sha": p.repo.branches[p.base],
			"user": c.somebody(p.repo.owner), "repo": c.within(p.repo),
		},
		"_links": object{
			"self": link(at), "html": link(i.address()), "issue": link(issue), "comments": link(issue + "/comments"),
			"review_comments": link(at + "/comments"), "review_comment": link(r + "/pulls/comments{/number}"),
			"commits": link(at + "/commits"), "statuses": link(statuses),
		},
		"auto_merge": nil, "draft": p.draft,
	})
}

func (c *call) pull(p *Pull) object {
	lines := 0
	for _, t := range p.threads {
		lines += len(t.comments)
	}
	o := merge(c.pullSimple(p), object{
		"merged": !p.merged.IsZero(), "mergeable": nil, "mergeable_state": "unknown", "merged_by": nil,
		"comments": len(p.issue.comments), "review_comments": lines, "maintainer_can_modify": false, "commits": 1,
		"additions": 10, "deletions": 2, "changed_files": 1,
	})
	if p.mergeable != nil {
		o["mergeable"], o["mergeable_state"] = *p.mergeable, "clean"
	}
	if !p.merged.IsZero() {
		o["merged_by"] = c.user("ann")
	}
	return o
}

func (c *call) review(v *Review) object {
	pull := c.base + "/repos/" + v.pull.repo.path() + "/pulls/" + number(v.pull.issue.number)
	address := v.pull.issue.address() + "#pullrequestreview-" + number(v.id)
	o := object{
		"id": v.id, "node_id": node("PullRequestReview", v.id), "user": c.user(v.by), "body": v.body, "state": v.state,
		"html_url": address, "pull_request_url": pull, "commit_id": v.commit, "author_association": v.pull.repo.association(v.by),
		"_links": object{"html": object{"href": address}, "pull_request": object{"href": pull}},
	}
	if v.state != Pending {
		o["submitted_at"] = when(v.submitted)
	}
	return o
}

// lineAddress is where people see a comment on a line, and by which GraphQL names it.
func (k *lineComment) address() string {
	return k.thread.pull.issue.address() + "#discussion_r" + number(k.id)
}

func (c *call) lineComment(k *lineComment) object {
	t := k.thread
	r := c.base + "/repos/" + t.pull.repo.path()
	pull := r + "/pulls/" + number(t.pull.issue.number)
	at := r + "/pulls/comments/" + number(k.id)
	o := object{
		"url": at, "pull_request_review_id": nil, "id": k.id, "node_id": node("PullRequestReviewComment", k.id),
		"diff_hunk": "@@ -1,3 +1,3 @@", "path": t.path, "commit_id": k.commit, "original_commit_id": k.commit,
		"user": c.user(k.by), "body": k.body, "created_at": when(k.created), "updated_at": when(k.created),
		"html_url": k.address(), "pull_request_url": pull, "author_association": t.pull.repo.association(k.by),
		"_links": object{
			"self": object{"href": at}, "html": object{"href": k.address()}, "pull_request": object{"href": pull},
		},
		"original_line": t.line, "side": "RIGHT", "subject_type": "line",
	}
	// GitHub's description calls them integers; of a line that is gone, they are left out here.
	if !t.outdated {
		o["line"], o["position"] = t.line, t.line
	}
	if first := t.comments[0]; first != k {
		o["in_reply_to_id"] = first.id
	}
	return o
}
