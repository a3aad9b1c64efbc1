package bridgetest

import "time"

// States of a review.
const (
	Approved         = "APPROVED"
	ChangesRequested = "CHANGES_REQUESTED"
	Commented        = "COMMENTED"
	Dismissed        = "DISMISSED"
	Pending          = "PENDING"
)

// Pull is a pull request.
type Pull struct {
	issue     *Issue
	repo      *Repo
	branch    string
	fork      string // owner of the fork that the branch is in; "": the repository itself
	head      string
	base      string
	draft     bool
	merged    time.Time
	mergeable *bool
	asked     []string // reviewers
	reviews   []*Review
	threads   []*Thread
	racing    func() // what is done on the forge just before the next review is filed
}

// Review is a review of a pull request.
type Review struct {
	pull      *Pull
	id        int64
	by        string
	state     string
	body      string
	commit    string
	submitted time.Time
}

// Thread is a conversation on a line of the difference.
type Thread struct {
	pull     *Pull
	path     string
	line     int
	resolved bool
	outdated bool
	comments []*lineComment
}

type lineComment struct {
	thread  *Thread
	id      int64
	by      string
	body    string
	commit  string
	created time.Time
}

// Pull opens a pull request by "ann", from a branch of its own to main.
func (r *Repo) Pull(title string) *Pull {
	r.gh.mu.Lock()
	defer r.gh.mu.Unlock()
	i := r.open(title)
	yes := true
	p := &Pull{issue: i, repo: r, branch: "work-" + number(i.number), base: "main", mergeable: &yes}
	p.head = r.commit(title)
	r.branches[p.branch] = p.head
	i.pull = p
	return p
}

func (p *Pull) tell(what func()) *Pull {
	p.issue.tell(what)
	return p
}

// Number is the pull request's number.
func (p *Pull) Number() int { return p.issue.number }

// Issue is the pull request as an issue: its title, its conversation, its lock.
func (p *Pull) Issue() *Issue { return p.issue }

// Head is the hash that its branch is at now.
func (p *Pull) Head() string {
	var sha string
	p.tell(func() { sha = p.head })
	return sha
}

// By names the author; "" is a ghost.
func (p *Pull) By(login string) *Pull { return p.tell(func() { p.issue.by = login }) }

// Body sets the text.
func (p *Pull) Body(text string) *Pull { return p.tell(func() { p.issue.body = text }) }

// From names the branch it comes from.
func (p *Pull) From(branch string) *Pull {
	return p.tell(func() {
		delete(p.repo.branches, p.branch)
		p.branch = branch
		p.repo.branches[branch] = p.head
	})
}

// Fork makes it come from the fork of another account.
func (p *Pull) Fork(owner string) *Pull {
	return p.tell(func() {
		p.fork = owner
		delete(p.repo.branches, p.branch)
	})
}

// At makes its branch point to this commit, which others may be at too.
func (p *Pull) At(sha string) *Pull {
	return p.tell(func() {
		p.head = sha
		if p.fork == "" {
			p.repo.branches[p.branch] = sha
		}
	})
}

// Draft makes it a draft.
func (p *Pull) Draft() *Pull { return p.tell(func() { p.draft = true }) }

// Close closes it without a merge.
func (p *Pull) Close() *Pull { p.issue.Close(); return p }

// Merge merges it.
func (p *Pull) Merge() *Pull {
	p.issue.Close()
	return p.tell(func() { p.merged = p.issue.closed })
}

// Computing makes GitHub not know yet whether it can be merged.
func (p *Pull) Computing() *Pull { return p.tell(func() { p.mergeable = nil }) }

// AskReview asks for reviews.
func (p *Pull) AskReview(logins ...string) *Pull {
	return p.tell(func() { p.asked = append(p.asked, logins...) })
}

// Push moves its branch on by a commit, whose hash it gives.
func (p *Pull) Push() string {
	var sha string
	p.tell(func() { sha = p.push() })
	return sha
}

func (p *Pull) push() string {
	p.head = p.repo.commit("more on " + p.branch)
	if p.fork == "" {
		p.repo.branches[p.branch] = p.head
	}
	return p.head
}

// PushBeforeReview has somebody push just when the next review comes in.
func (p *Pull) PushBeforeReview() *Pull { return p.tell(func() { p.racing = func() { p.push() } }) }

// Comment adds a comment to the conversation.
func (p *Pull) Comment(login, body string) *Comment { return p.issue.Comment(login, body) }

// Review adds a review of the commit at its head.
func (p *Pull) Review(login, state, body string) *Review {
	var v *Review
	p.tell(func() { v = p.review(login, state, body, p.head, p.repo.gh.tick()) })
	return v
}

func (p *Pull) review(login, state, body, commit string, at time.Time) *Review {
	v := &Review{pull: p, id: p.repo.gh.id(), by: login, state: state, body: body, commit: commit, submitted: at}
	p.reviews = append(p.reviews, v)
	p.issue.updated = at
	return v
}

// LineComment begins a thread on a line of the difference.
func (p *Pull) LineComment(login, path string, line int, body string) *Thread {
	t := &Thread{pull: p, path: path, line: line}
	p.tell(func() { p.threads = append(p.threads, t) })
	return t.Reply(login, body)
}

// Reply adds a comment to the thread.
func (t *Thread) Reply(login, body string) *Thread {
	t.pull.tell(func() {
		g := t.pull.repo.gh
		t.comments = append(t.comments, &lineComment{thread: t, id: g.id(), by: login, body: body, commit: t.pull.head, created: g.tick()})
	})
	return t
}

// Resolve marks the thread as resolved.
func (t *Thread) Resolve() *Thread {
	t.pull.tell(func() { t.resolved = true })
	return t
}

// Outdate has the line change under the thread.
func (t *Thread) Outdate() *Thread {
	t.pull.tell(func() { t.outdated = true })
	return t
}

// ID is the number of the thread's first comment.
func (t *Thread) ID() int64 { return t.comments[0].id }

// Reviews are the submitted reviews, each as "STATE by LOGIN at COMMIT: TEXT".
func (p *Pull) Reviews() []string {
	var all []string
	p.tell(func() {
		for _, v := range p.reviews {
			all = append(all, v.state+" by "+v.by+" at "+v.commit[:7]+": "+v.body)
		}
	})
	return all
}
