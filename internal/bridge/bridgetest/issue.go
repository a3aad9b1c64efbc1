package bridgetest

import "time"

// Issue is an issue, or what every pull request has of one.
type Issue struct {
	repo      *Repo
	id        int64
	number    int
	title     string
	body      string
	by        string // "": a ghost, whose account was deleted
	labels    []string
	assignees []string
	milestone string
	closed    time.Time
	locked    bool
	deleted   bool
	movedTo   *Issue
	created   time.Time
	updated   time.Time
	comments  []*Comment
	pull      *Pull // nil: it is no pull request
}

// Comment is a comment of the conversation.
type Comment struct {
	issue   *Issue
	id      int64
	by      string
	body    string
	created time.Time
	updated time.Time
}

// Issue opens an issue by "ann".
func (r *Repo) Issue(title string) *Issue {
	r.gh.mu.Lock()
	defer r.gh.mu.Unlock()
	return r.open(title)
}

func (r *Repo) open(title string) *Issue {
	r.numbers++
	i := &Issue{repo: r, id: r.gh.id(), number: r.numbers, title: title, by: "ann", created: r.gh.tick()}
	i.updated = i.created
	r.issues = append(r.issues, i)
	return i
}

func (i *Issue) tell(what func()) *Issue {
	i.repo.gh.mu.Lock()
	defer i.repo.gh.mu.Unlock()
	what()
	return i
}

// Number is the issue's number.
func (i *Issue) Number() int { return i.number }

// By names the author; "" is a ghost.
func (i *Issue) By(login string) *Issue { return i.tell(func() { i.by = login }) }

// Body sets the text.
func (i *Issue) Body(text string) *Issue { return i.tell(func() { i.body = text }) }

// Label adds labels.
func (i *Issue) Label(names ...string) *Issue {
	return i.tell(func() { i.labels = append(i.labels, names...) })
}

// Assign adds assignees.
func (i *Issue) Assign(logins ...string) *Issue {
	return i.tell(func() { i.assignees = append(i.assignees, logins...) })
}

// Milestone puts the issue into a milestone.
func (i *Issue) Milestone(title string) *Issue { return i.tell(func() { i.milestone = title }) }

// Close closes the issue.
func (i *Issue) Close() *Issue {
	return i.tell(func() { i.closed = i.repo.gh.tick(); i.updated = i.closed })
}

// Lock locks the conversation: from now on only members may write.
func (i *Issue) Lock() *Issue { return i.tell(func() { i.locked = true }) }

// Delete deletes the issue: it is gone (410) for good.
func (i *Issue) Delete() *Issue { return i.tell(func() { i.deleted = true }) }

// TransferTo moves the issue to another repository, to which its address leads from now on.
func (i *Issue) TransferTo(to *Repo) *Issue {
	return i.tell(func() { i.movedTo = to.open(i.title) })
}

// Comment adds a comment.
func (i *Issue) Comment(login, body string) *Comment {
	var c *Comment
	i.tell(func() { c = i.comment(login, body, i.repo.gh.tick()) })
	return c
}

// comment is called with mu held.
func (i *Issue) comment(login, body string, at time.Time) *Comment {
	c := &Comment{issue: i, id: i.repo.gh.id(), by: login, body: body, created: at, updated: at}
	i.comments = append(i.comments, c)
	i.updated = at
	return c
}

// Edit changes the comment later on.
func (c *Comment) Edit(body string) *Comment {
	c.issue.tell(func() { c.body, c.updated = body, c.issue.repo.gh.tick() })
	return c
}

// Now makes it a comment of this moment; what a story tells is of months ago.
func (c *Comment) Now() *Comment {
	c.issue.tell(func() { c.created, c.updated = now(), now() })
	return c
}

// Texts are the comments' texts, oldest first.
func (i *Issue) Texts() []string {
	var texts []string
	i.tell(func() {
		for _, c := range i.comments {
			texts = append(texts, c.body)
		}
	})
	return texts
}
