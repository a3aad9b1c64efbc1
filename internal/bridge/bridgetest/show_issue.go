package bridgetest

func (c *call) label(r *Repo, name string) object {
	id := int64(len(name)) + 1000
	return object{
		"id": id, "node_id": node("Label", id), "url": c.base + "/repos/" + r.path() + "/labels/" + name,
		"name": name, "description": "", "color": "d73a4a", "default": false,
	}
}

// common is what issues and pull requests show alike.
func (c *call) common(i *Issue) object {
	labels := []any{}
	for _, l := range i.labels {
		labels = append(labels, c.label(i.repo, l))
	}
	state := "open"
	if !i.closed.IsZero() {
		state = "closed"
	}
	o := object{
		"number": i.number, "state": state, "locked": i.locked, "title": i.title, "body": text(i.body), "labels": labels,
		"milestone": c.milestone(i), "assignee": nil, "assignees": c.users(i.assignees), "created_at": when(i.created),
		"updated_at": when(i.updated), "closed_at": when(i.closed), "author_association": i.repo.association(i.by),
	}
	if len(i.assignees) > 0 {
		o["assignee"] = c.user(i.assignees[0])
	}
	return o
}

func (c *call) milestone(i *Issue) any {
	if i.milestone == "" {
		return nil
	}
	at := c.base + "/repos/" + i.repo.path() + "/milestones/1"
	return object{
		"url": at, "html_url": web + i.repo.path() + "/milestone/1", "labels_url": at + "/labels", "id": 1, "node_id": node("Milestone", 1),
		"number": 1, "state": "open", "title": i.milestone, "description": nil, "creator": c.user("ann"), "open_issues": 1,
		"closed_issues": 0, "created_at": when(i.created), "updated_at": when(i.created), "closed_at": nil, "due_on": nil,
	}
}

// address is where people see the issue or pull request.
func (i *Issue) address() string {
	kind := "/issues/"
	if i.pull != nil {
		kind = "/pull/"
	}
	return web + i.repo.path() + kind + number(i.number)
}

func (c *call) issue(i *Issue) object {
	r := c.base + "/repos/" + i.repo.path()
	at := r + "/issues/" + number(i.number)
	o := merge(c.common(i), links(object{
		"id": i.id, "node_id": node("Issue", i.id), "url": at, "repository_url": r, "html_url": i.address(),
		"user": c.user(i.by), "comments": len(i.comments), "reactions": c.reactions(at),
	}, at, "labels comments events timeline"))
	if p := i.pull; p != nil {
		o["draft"] = p.draft
		o["pull_request"] = object{
			"url": r + "/pulls/" + number(i.number), "html_url": i.address(), "diff_url": i.address() + ".diff",
			"patch_url": i.address() + ".patch", "merged_at": when(p.merged),
		}
	}
	return o
}

func (c *call) reactions(at string) object {
	return object{
		"url": at + "/reactions", "total_count": 0, "+1": 0, "-1": 0, "laugh": 0, "confused": 0, "heart": 0, "hooray": 0,
		"eyes": 0, "rocket": 0,
	}
}

func (c *call) comment(k *Comment) object {
	r := c.base + "/repos/" + k.issue.repo.path()
	return object{
		"id": k.id, "node_id": node("IssueComment", k.id), "url": r + "/issues/comments/" + number(k.id),
		"html_url": k.issue.address() + "#issuecomment-" + number(k.id), "issue_url": r + "/issues/" + number(k.issue.number),
		"user": c.user(k.by), "body": k.body, "created_at": when(k.created), "updated_at": when(k.updated),
		"author_association": k.issue.repo.association(k.by),
	}
}
