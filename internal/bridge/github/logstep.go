package github

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"time"

	gh "github.com/google/go-github/v89/github"
)

// A job's log is one text for all its steps, and says where a step begins only by what the runner
// prints and by the times of its lines, whose seconds the job's description has too.

// window is when a failed step ran.
type window struct {
	from, to string // seconds, inclusive
	// skip is how many steps before it began in its first second: so many sections that begin
	// then are not its own.
	skip  int
	post  bool // it is a step that cleans up
	alone bool // no other step ran in any of its seconds: the times of lines say all

	failed bool // an error of it has been seen
}

// failedSteps finds the steps of a job that made it fail: their names and when they ran.
func failedSteps(job *gh.WorkflowJob) (names []string, windows []window) {
	for i, s := range job.Steps {
		if !stepFailed(job, s) || s.GetStartedAt().IsZero() {
			continue
		}
		w := window{from: second(s.GetStartedAt().Time), to: second(s.GetCompletedAt().Time), post: strings.HasPrefix(s.GetName(), "Post ")}
		if s.GetCompletedAt().IsZero() {
			w.to = "9999"
		}
		w.among(job.Steps, i)
		names, windows = append(names, s.GetName()), append(windows, w)
	}
	return names, windows
}

// among looks at which other steps ran in the window's seconds.
func (w *window) among(steps []*gh.TaskStep, own int) {
	w.alone = true
	for i, s := range steps {
		if i == own || s.GetConclusion() == "skipped" || s.GetStartedAt().IsZero() {
			continue
		}
		from, to := second(s.GetStartedAt().Time), second(s.GetCompletedAt().Time)
		if from <= w.to && to >= w.from {
			w.alone = false
		}
		if i < own && from == w.from && s.GetName() != "Set up job" { // which has no section
			w.skip++
		}
	}
}

func stepFailed(job *gh.WorkflowJob, s *gh.TaskStep) bool {
	switch s.GetConclusion() {
	case "failure", "timed_out", "startup_failure":
		return true
	case "cancelled":
		// What ran out of time, or was called off while it ran.
		return job.GetConclusion() == "cancelled" || job.GetConclusion() == "timed_out"
	}
	return false
}

func second(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05") }

// sink takes a step's lines. The text is valid during the call only; nil text is a line that
// counts and is not worth showing.
type sink interface {
	push(text []byte)
	lines() int
}

// stepReader sends the failed step's lines to a sink. Where the runner's marks and the times of the
// lines do not agree, it falls back on the times, and then on the first section with an error.
type stepReader struct {
	windows []window
	newSink func() sink

	section sink // lines of the sections that begin in a window
	timed   sink // lines whose time is in a window
	marked  sink // the first section with an error, or the last before the cleaning up

	byTime  bool // the windows are alone
	in      int  // which window the current section belongs to; -1: none
	frozen  bool // marked has its lines
	errorIn bool // an error in marked
	header  bool // within the description of a step
	dump    bool // within its environment or inputs
}

func newStepReader(windows []window, newSink func() sink) *stepReader {
	return &stepReader{
		windows: slices.Clone(windows), newSink: newSink, section: newSink(), timed: newSink(), marked: newSink(), in: -1,
		byTime: !slices.ContainsFunc(windows, func(w window) bool { return !w.alone }),
	}
}

// read takes the whole log, and gives the sink that has the step. An error comes with what was
// read before it.
func (r *stepReader) read(log io.Reader) (sink, error) {
	l := newLogLines(log)
	var err error
	for more := true; more; {
		if more, err = l.next(); more {
			r.line(l.stamp, l.text)
		}
	}
	switch timed := r.timed.lines() > 0; {
	case timed && r.byTime:
		return r.timed, err
	case r.section.lines() > 0:
		return r.section, err
	case timed:
		return r.timed, err
	}
	return r.marked, err
}

var (
	groupRun   = []byte("##[group]Run ")
	endGroup   = []byte("##[endgroup]")
	errorMark  = []byte("##[error]")
	postJob    = []byte("Post job cleanup.")
	orphans    = []byte("Cleaning up orphan processes")
	envHeader  = []byte("env:")
	withHeader = []byte("with:")
)

func (r *stepReader) line(stamp, text []byte) {
	starts := bytes.HasPrefix(text, groupRun)
	cleans := bytes.HasPrefix(text, postJob) || bytes.HasPrefix(text, orphans)
	if starts || cleans {
		r.begin(stamp, cleans)
		r.header, r.dump = starts, false
	}
	shown := r.worth(text)
	failed := bytes.HasPrefix(text, errorMark)
	if r.in >= 0 {
		r.section.push(shown)
		r.windows[r.in].failed = r.windows[r.in].failed || failed
	}
	known := r.section.lines() > 0
	if (!known || r.byTime) && r.inTime(stamp) {
		r.timed.push(shown)
	}
	if !known && !r.frozen {
		r.marked.push(shown)
		r.errorIn = r.errorIn || failed
	}
}

// begin decides whose the section is that begins now.
func (r *stepReader) begin(stamp []byte, cleans bool) {
	r.in = -1
	for i := range r.windows {
		w := &r.windows[i]
		at := string(stamp)
		switch {
		case at < w.from, at > w.to, cleans && !w.post:
		case at == w.from && w.skip > 0:
			w.skip--
		case at == w.to && w.failed: // it has said its last
		default:
			r.in = i
		}
	}
	if r.frozen = r.frozen || r.errorIn || cleans; !r.frozen {
		r.marked = r.newSink()
	}
}

func (r *stepReader) inTime(stamp []byte) bool {
	for _, w := range r.windows {
		if at := string(stamp); at >= w.from && at <= w.to {
			return true
		}
	}
	return false
}

// worth gives the text, or nil for what the runner prints of a step's environment and inputs.
func (r *stepReader) worth(text []byte) []byte {
	if !r.header {
		return text
	}
	switch {
	case bytes.HasPrefix(text, endGroup):
		r.header, r.dump = false, false
		return nil
	case bytes.Equal(text, envHeader), bytes.Equal(text, withHeader):
		r.dump = true
	}
	if r.dump {
		return nil
	}
	return text
}
