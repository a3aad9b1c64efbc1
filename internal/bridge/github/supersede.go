package github

import (
	"time"

	"fleet/api"
)

// sameCheck is what two runs of the same check have in common. A status and a check run of one
// name are two checks, and so are those of two apps, and of a push and its pull request.
type sameCheck struct {
	source, app, event, name string
	workflow                 int64
}

// sameWorkflow is what two runs of a workflow have in common.
type sameWorkflow struct {
	workflow int64
	event    string
}

// supersede marks the checks in whose place a newer run of the same commit has come. GitHub itself
// does so within a check suite only. Within a suite nothing is marked: jobs may share a name.
func (g *gathered) supersede() {
	newest := map[sameCheck]*entry{}
	for i := range g.entries {
		e := &g.entries[i]
		if n := newest[e.same()]; n == nil || e.newer(n) {
			newest[e.same()] = e
		}
	}
	runs := map[sameWorkflow]*entry{} // the newest without check runs yet
	latest := map[sameWorkflow]int64{}
	for i := range g.entries {
		e := &g.entries[i]
		of := sameWorkflow{e.workflow, e.event}
		latest[of] = max(latest[of], e.run)
		if e.check.Source == sourceRun && e.check.Bucket == api.BucketPending && (runs[of] == nil || e.run > runs[of].run) {
			runs[of] = e
		}
	}
	for i := range g.entries {
		e := &g.entries[i]
		of := sameWorkflow{e.workflow, e.event}
		switch n := newest[e.same()]; {
		case n != e && !e.sameSuite(n):
			e.superseded = true
		case e.workflow == 0:
		case e.check.Source == sourceRun:
			e.superseded = e.run < latest[of]
		case runs[of] != nil && e.run < runs[of].run:
			e.superseded = true // its jobs will be these again
		}
	}
}

func (e *entry) same() sameCheck {
	s := sameCheck{source: e.check.Source, app: e.check.App, event: e.event, name: e.check.Name, workflow: e.workflow}
	if e.workflow != 0 && e.check.Source == sourceRun {
		s.name = "" // which may be the run's own
	}
	return s
}

func (e *entry) sameSuite(o *entry) bool { return e.suite != 0 && e.suite == o.suite }

// newer compares by start, then by id. What has not started is newest.
func (e *entry) newer(o *entry) bool {
	a, b := startOf(e), startOf(o)
	if !a.Equal(b) {
		return a.After(b)
	}
	return e.id > o.id
}

func startOf(e *entry) time.Time {
	if e.started.IsZero() && e.check.Bucket == api.BucketPending {
		return time.Unix(1<<40, 0)
	}
	return e.started
}
