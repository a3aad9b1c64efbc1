package api

import "time"

// Target says what checks and logs are asked of: a pull request, a ref, or the workspace's
// branch. At most one of Pull and Ref is set; with neither, Branch and SHA are the workspace's.
type Target struct {
	Pull   int    `json:"pr,omitempty"`
	Ref    string `json:"ref,omitempty"`
	Branch string `json:"branch,omitempty"`
	SHA    string `json:"sha,omitempty"` // of the workspace's HEAD; the forge's may differ
}

// Resolved is the commit that a Target came to.
type Resolved struct {
	Pull   int    `json:"pr,omitempty"`
	Ref    string `json:"ref,omitempty"`
	Branch string `json:"branch,omitempty"`
	SHA    string `json:"sha"`
	// Author is the pull request's, where Pull is set.
	Author *Author `json:"author,omitempty"`
	Note   string  `json:"note,omitempty"` // such as: the workspace is ahead of what was pushed
}

// Buckets of checks.
const (
	BucketPass      = "pass"
	BucketFail      = "fail"
	BucketPending   = "pending"
	BucketSkipped   = "skipped"
	BucketCancelled = "cancelled"
	BucketNone      = "none"    // overall only: there is no check, which is not success
	BucketUnknown   = "unknown" // overall only: nothing bad was seen, but not everything could be
)

// Checks is every check of a commit: check runs, statuses, and workflow runs that made none.
type Checks struct {
	Target     Resolved       `json:"target"`
	Overall    string         `json:"overall"`
	Reason     string         `json:"reason,omitempty"` // why overall is what it is, where that needs a word
	Counts     map[string]int `json:"counts"`
	Items      []Check        `json:"items"`
	Returned   int            `json:"returned"`
	Truncated  bool           `json:"truncated"`
	NextCursor string         `json:"next_cursor,omitempty"`
	Incomplete []string       `json:"incomplete,omitempty"`
	Withheld   string         `json:"withheld,omitempty"` // as in List
	Age        *Age           `json:"age,omitempty"`
}

// Check is one check.
type Check struct {
	Name        string     `json:"name"`
	Source      string     `json:"source"` // check_run, status or workflow_run
	Bucket      string     `json:"bucket"`
	State       string     `json:"state"` // as the forge has it
	App         string     `json:"app,omitempty"`
	Workflow    string     `json:"workflow,omitempty"`
	Summary     string     `json:"summary,omitempty"` // title of its output or description of the status
	URL         string     `json:"url,omitempty"`
	StartedAt   *time.Time `json:"started_at,omitempty"`
	CompletedAt *time.Time `json:"completed_at,omitempty"`
	HasLog      bool       `json:"has_log"` // repo_failed_logs has its job's log
	Origin      Origin     `json:"-"`
}

// Origin is what began the workflow run that a check or job is of, as the forge has it: by it the
// bridge decides whose words may stand in the run's names and logs. Nothing of it is passed on, and
// the zero Origin says that nobody can tell.
type Origin struct {
	Event string `json:"e,omitempty"` // such as push, or NoRun
	// Of a pull request's run alone: the branch it is of, as in PullItem, and the pull requests that
	// are open from that branch. The forge doesn't say which one of them began the run.
	Head  string `json:"h,omitempty"`
	Pulls []int  `json:"p,omitempty"`
}

// NoRun is the Event of what is of no workflow run: statuses, and checks of other apps. No event of a
// forge is called so.
const NoRun = "no run"

// FailedLogs is what is worth reading of the failed jobs of a commit, 64 KiB of it at most.
type FailedLogs struct {
	Target     Resolved    `json:"target"`
	Jobs       []FailedJob `json:"jobs"`
	Note       string      `json:"note,omitempty"` // such as: nothing has failed
	Truncated  bool        `json:"truncated"`
	NextCursor string      `json:"next_cursor,omitempty"`
	Incomplete []string    `json:"incomplete,omitempty"`
	Withheld   string      `json:"withheld,omitempty"` // as in List
	Age        *Age        `json:"age,omitempty"`
}

// FailedJob is a failed job, or several whose logs say the same.
type FailedJob struct {
	Names       []string     `json:"names"` // each job in full
	Workflow    string       `json:"workflow,omitempty"`
	Conclusion  string       `json:"conclusion"`
	Step        string       `json:"step,omitempty"` // the failed one
	Excerpt     string       `json:"excerpt,omitempty"`
	Lines       int          `json:"lines,omitempty"`       // of the step's whole log
	Shown       []string     `json:"shown,omitempty"`       // ranges of lines in the excerpt, as "1-20"
	Note        string       `json:"note,omitempty"`        // why there is no excerpt, or what it is
	Title       string       `json:"title,omitempty"`       // of a check that is no Actions job
	Summary     string       `json:"summary,omitempty"`     // likewise
	Annotations []Annotation `json:"annotations,omitempty"` // likewise, and of jobs
	URL         string       `json:"url"`
	NextCursor  string       `json:"next_cursor,omitempty"` // leads to the whole of the step's log, from its first line
	Origin      Origin       `json:"-"`
}

// Annotation is a check's remark on a file.
type Annotation struct {
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Level   string `json:"level"`
	Message string `json:"message"`
}
