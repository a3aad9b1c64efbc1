package bridgetest

import (
	"strings"
	"time"
)

// Run is a run of an Actions workflow.
type Run struct {
	repo       *Repo
	id         int64
	suite      int64
	workflow   string
	event      string
	branch     string
	fork       string // owner of the fork that the branch is in; "": the repository itself
	sha        string
	status     string
	conclusion string
	attempt    int
	number     int
	created    time.Time
	jobs       []*Job
}

// Check is a check run. Each Actions job has one, under the same number.
type Check struct {
	repo        *Repo
	id          int64
	suite       int64
	app         string
	name        string
	sha         string
	status      string
	conclusion  string
	title       string
	summary     string
	details     string
	started     time.Time
	completed   time.Time
	annotations []annotation
	job         *Job // nil: not of Actions
}

type annotation struct {
	path, level, message string
	line                 int
}

// Job is a job of a run.
type Job struct {
	run   *Run
	check *Check
	steps []step
	log   string
	kept  logState
}

type step struct {
	name, status, conclusion string
	started, completed       time.Time
}

type logState int

const (
	logThere logState = iota
	logNotReady
	logNever
	logExpired
)

type status struct {
	id             int64
	sha            string
	context, state string
	description    string
	url            string
	created        time.Time
}

// Run starts a run of a workflow on a commit, by a push. It succeeds, until a job of it doesn't.
func (r *Repo) Run(workflow, sha string) *Run {
	r.gh.mu.Lock()
	defer r.gh.mu.Unlock()
	n := &Run{
		repo: r, id: r.gh.id(), suite: r.gh.id(), workflow: workflow, event: "push", branch: r.branchOf(sha), sha: sha,
		status: "completed", conclusion: "success", attempt: 1, number: len(r.runs) + 1, created: r.gh.tick(),
	}
	if r.workflows[workflow] == 0 {
		r.workflows[workflow] = r.gh.id()
	}
	r.runs = append(r.runs, n)
	return n
}

func (r *Repo) branchOf(sha string) string {
	for name, at := range r.branches {
		if at == sha {
			return name
		}
	}
	return "main"
}

func (n *Run) tell(what func()) *Run {
	n.repo.gh.mu.Lock()
	defer n.repo.gh.mu.Unlock()
	what()
	return n
}

// ID is the run's number.
func (n *Run) ID() int64 { return n.id }

// On says what started the run, such as issue_comment. A run on pull_request is of the newest pull
// request of its commit.
func (n *Run) On(event string) *Run {
	return n.tell(func() {
		n.event = event
		if event != "pull_request" {
			return
		}
		for _, i := range n.repo.issues {
			if p := i.pull; p != nil && p.head == n.sha {
				n.branch, n.fork = p.branch, p.fork
			}
		}
	})
}

// Is sets the run's own status and conclusion, such as completed and startup_failure.
func (n *Run) Is(status, conclusion string) *Run {
	return n.tell(func() { n.status, n.conclusion = status, conclusion })
}

// Job adds a job that succeeded.
func (n *Run) Job(name string) *Job {
	r := n.repo
	var j *Job
	n.tell(func() {
		c := r.addCheck("github-actions", name, n.sha, n.suite)
		j = &Job{run: n, check: c}
		c.job = j
		c.details = web + r.path() + "/actions/runs/" + number(n.id) + "/job/" + number(c.id)
		n.jobs = append(n.jobs, j)
	})
	return j
}

// Is sets status and conclusion. Where it isn't completed, there is no conclusion and no log yet;
// a cancelled or skipped one never had a log.
func (j *Job) Is(status, conclusion string) *Job {
	j.run.tell(func() {
		j.check.set(status, conclusion)
		switch {
		case status != "completed":
			j.kept, j.run.status, j.run.conclusion = logNotReady, "in_progress", ""
		case conclusion == "cancelled", conclusion == "skipped":
			j.kept = logNever
		}
		if conclusion != "success" && conclusion != "skipped" && status == "completed" && j.run.status == "completed" {
			j.run.conclusion = conclusion
		}
	})
	return j
}

// Step adds a step that took a minute, with what it printed: lines without times, which the stand-in
// puts before them, as the runner does.
func (j *Job) Step(name, conclusion, output string) *Job {
	j.run.tell(func() {
		began := j.run.repo.gh.tick()
		j.steps = append(j.steps, step{name, "completed", conclusion, began, began.Add(50 * time.Second)})
		lines := strings.Split(strings.TrimSuffix(output, "\n"), "\n")
		var log strings.Builder
		for n, line := range lines {
			at := began.Add(40 * time.Second * time.Duration(n) / time.Duration(len(lines)))
			log.WriteString(at.Format("2006-01-02T15:04:05.0000000Z") + " " + line + "\n")
		}
		j.log += log.String()
		j.check.completed = began.Add(time.Minute)
	})
	return j
}

// Fails makes it a failed job with the usual steps around one that failed.
func (j *Job) Fails(step, output string) *Job {
	j.Step("Set up job", "success", "Current runner version: '2.330.0'\n##[group]Operating System\nUbuntu\n##[endgroup]")
	j.Step(step, "failure", output)
	j.Step("Post Run actions/checkout@v5", "success", "Post job cleanup.\n[command]/usr/bin/git version")
	j.Step("Complete job", "success", "Cleaning up orphan processes")
	return j.Is("completed", "failure")
}

// Expire removes the log, as GitHub does after some months.
func (j *Job) Expire() *Job {
	j.run.tell(func() { j.kept = logExpired })
	return j
}

// Annotate adds an annotation to the job's check run.
func (j *Job) Annotate(path string, line int, level, message string) *Job {
	j.check.Annotate(path, line, level, message)
	return j
}

// Check adds a check run of an app that isn't Actions. It succeeded.
func (r *Repo) Check(app, name, sha string) *Check {
	r.gh.mu.Lock()
	defer r.gh.mu.Unlock()
	c := r.addCheck(app, name, sha, r.gh.id())
	c.details = "https://" + app + ".example/builds/" + number(c.id)
	return c
}

func (r *Repo) addCheck(app, name, sha string, suite int64) *Check {
	c := &Check{repo: r, id: r.gh.id(), suite: suite, app: app, name: name, sha: sha, started: r.gh.tick()}
	c.set("completed", "success")
	r.checks = append(r.checks, c)
	return c
}

func (c *Check) set(status, conclusion string) {
	c.status, c.conclusion, c.completed = status, conclusion, time.Time{}
	if status == "completed" {
		c.completed = c.repo.gh.tick()
	}
}

func (c *Check) tell(what func()) *Check {
	c.repo.gh.mu.Lock()
	defer c.repo.gh.mu.Unlock()
	what()
	return c
}

// Is sets status and conclusion.
func (c *Check) Is(status, conclusion string) *Check {
	return c.tell(func() { c.set(status, conclusion) })
}

// Output sets the check's own words.
func (c *Check) Output(title, summary string) *Check {
	return c.tell(func() { c.title, c.summary = title, summary })
}

// Annotate adds an annotation; level is notice, warning or failure.
func (c *Check) Annotate(path string, line int, level, message string) *Check {
	return c.tell(func() { c.annotations = append(c.annotations, annotation{path, level, message, line}) })
}

// Status files a commit status: state is error, failure, pending or success.
func (r *Repo) Status(sha, context, state, description string) *Repo {
	return r.tell(func() {
		r.statuses = append(r.statuses, &status{
			id: r.gh.id(), sha: sha, context: context, state: state, description: description,
			url: "https://ci.example/" + context, created: r.gh.tick(),
		})
	})
}
