package api

import "time"

// What the bridge answers of a repository, and so what the repo_* tools print. Text that people
// wrote on the forge is data: it comes with its author and what the forge says of his standing,
// without invisible and bidirectional control characters, and otherwise unchanged.

// Author is who wrote something. A deleted account is "ghost".
type Author struct {
	Login       string `json:"login"`
	Association string `json:"association,omitempty"` // OWNER, MEMBER, COLLABORATOR, CONTRIBUTOR, NONE …
	Bot         bool   `json:"bot,omitempty"`
}

// RepoInfo is the registered repository as its forge knows it.
type RepoInfo struct {
	Repo          string    `json:"repo"` // its key in the atlas
	Forge         string    `json:"forge"`
	FullName      string    `json:"full_name"`
	Description   string    `json:"description"`
	URL           string    `json:"url"`
	DefaultBranch string    `json:"default_branch"`
	Visibility    string    `json:"visibility"` // public, private or internal
	Archived      bool      `json:"archived"`
	HasIssues     bool      `json:"has_issues"`
	OpenIssues    int       `json:"open_issues_and_pulls"`
	UpdatedAt     time.Time `json:"updated_at"`
	Age           *Age      `json:"age,omitempty"`
}

// Age says that an answer is older than asked for, because the forge limits our rate.
type Age struct {
	Seconds           int `json:"age_seconds"`
	RetryAfterSeconds int `json:"retry_after_seconds,omitempty"`
}

// List is a page of a list, newest activity first.
type List[T any] struct {
	Items      []T    `json:"items"`
	Returned   int    `json:"returned"`
	Total      *int   `json:"total,omitempty"` // only where the forge tells
	Truncated  bool   `json:"truncated"`       // there is more: follow NextCursor
	NextCursor string `json:"next_cursor,omitempty"`
	Withheld   string `json:"withheld,omitempty"` // what is withheld from agents, why, and what a human can do
	Age        *Age   `json:"age,omitempty"`
}

// IssueItem is an issue in a list, without its text.
type IssueItem struct {
	Number       int       `json:"number"`
	Title        string    `json:"title"`
	State        string    `json:"state"` // open or closed
	Author       Author    `json:"author"`
	Labels       []string  `json:"labels,omitempty"`
	CommentCount int       `json:"comment_count"`
	UpdatedAt    time.Time `json:"updated_at"`
	URL          string    `json:"url"`
}

// PullItem is a pull request in a list, without its text.
type PullItem struct {
	Number    int       `json:"number"`
	Title     string    `json:"title"`
	State     string    `json:"state"` // open, closed or merged
	Draft     bool      `json:"draft,omitempty"`
	Author    Author    `json:"author"`
	Labels    []string  `json:"labels,omitempty"`
	Head      string    `json:"head"` // branch, or OWNER:BRANCH from a fork
	Base      string    `json:"base"`
	HeadSHA   string    `json:"head_sha"`
	UpdatedAt time.Time `json:"updated_at"`
	URL       string    `json:"url"`
}

// Text is what somebody wrote, at most 8 KiB of it.
type Text struct {
	Body      string `json:"body"`
	Truncated bool   `json:"body_truncated,omitempty"`
}

// Kinds of Comment.
const (
	KindComment       = "comment"        // of the conversation
	KindReview        = "review"         // a review's own text and verdict
	KindReviewComment = "review_comment" // on a line of the difference
)

// Comment is one contribution to an issue or pull request.
type Comment struct {
	ID        int64     `json:"id"`
	Kind      string    `json:"kind"`
	Author    Author    `json:"author"`
	CreatedAt time.Time `json:"created_at"`
	Edited    bool      `json:"edited,omitempty"`
	Text
	URL string `json:"url"`

	State     string `json:"state,omitempty"`       // review: APPROVED, CHANGES_REQUESTED, COMMENTED, DISMISSED, PENDING
	CommitSHA string `json:"commit_sha,omitempty"`  // review: what was reviewed
	Stale     bool   `json:"stale,omitempty"`       // review: of an older commit than the head
	Path      string `json:"path,omitempty"`        // review_comment
	Line      int    `json:"line,omitempty"`        // review_comment; 0: outdated or the file
	InReplyTo int64  `json:"in_reply_to,omitempty"` // review_comment: the thread's first comment
	Resolved  *bool  `json:"resolved,omitempty"`    // review_comment: nil where the forge does not tell
	Outdated  bool   `json:"outdated,omitempty"`    // review_comment
}

// Thread is the bounded part of an issue's or pull request's comments that a view carries: the
// newest, in order of time. NextCursor leads to older ones.
type Thread struct {
	Comments   []Comment `json:"comments"`
	Returned   int       `json:"returned"`
	Total      *int      `json:"total,omitempty"`
	Truncated  bool      `json:"truncated"`
	NextCursor string    `json:"next_cursor,omitempty"`
	Incomplete []string  `json:"incomplete,omitempty"` // what could not be read, and why
	Withheld   string    `json:"withheld,omitempty"`   // as in List
	Age        *Age      `json:"age,omitempty"`
}

// IssueView is an issue with its comments. A pull request asked for as an issue has Kind "pull".
type IssueView struct {
	Kind string `json:"kind"` // issue or pull
	Note string `json:"note,omitempty"`
	IssueItem
	CreatedAt time.Time `json:"created_at"`
	Locked    bool      `json:"locked,omitempty"`
	Milestone string    `json:"milestone,omitempty"`
	Assignees []string  `json:"assignees,omitempty"`
	Text
	Thread
}

// PullView is a pull request with its comments and reviews.
type PullView struct {
	Kind string `json:"kind"` // pull
	Note string `json:"note,omitempty"`
	PullItem
	CreatedAt    time.Time `json:"created_at"`
	BaseSHA      string    `json:"base_sha"`
	Mergeable    string    `json:"mergeable"` // yes, no or unknown (still being computed)
	MergeState   string    `json:"merge_state,omitempty"`
	Locked       bool      `json:"locked,omitempty"`
	Commits      int       `json:"commits"`
	ChangedFiles int       `json:"changed_files"`
	Additions    int       `json:"additions"`
	Deletions    int       `json:"deletions"`
	Reviewers    []string  `json:"requested_reviewers,omitempty"`
	Verdicts     []Verdict `json:"verdicts,omitempty"` // each reviewer's last that was not a mere comment
	Text
	Thread
}

// Verdict is where a reviewer stands.
type Verdict struct {
	Author Author `json:"author"`
	State  string `json:"state"`
	Stale  bool   `json:"stale,omitempty"` // of an older commit than the head
}

// Written is the outcome of a comment or review.
type Written struct {
	ID          int64     `json:"id"`
	URL         string    `json:"url"`
	State       string    `json:"state,omitempty"` // of a review
	CommitSHA   string    `json:"commit_sha,omitempty"`
	CreatedAt   time.Time `json:"created_at"`
	DuplicateOf string    `json:"duplicate_of,omitempty"` // URL of what the same call had posted; nothing was posted now
	Note        string    `json:"note,omitempty"`
}
