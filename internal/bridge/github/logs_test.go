package github

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fleet/api"
)

// logHost is where the forge's signed addresses lead.
type logHost struct {
	server *httptest.Server
	logs   map[string]func(w http.ResponseWriter)
	signed atomic.Int64 // requests with a credential
}

func newLogHost(t testing.TB) *logHost {
	h := &logHost{logs: map[string]func(http.ResponseWriter){}}
	h.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			h.signed.Add(1)
		}
		if log := h.logs[r.URL.Path]; log != nil {
			log(w)
			return
		}
		w.WriteHeader(404)
		fmt.Fprint(w, "<Error><Code>BlobNotFound</Code></Error>")
	}))
	t.Cleanup(h.server.Close)
	return h
}

// job routes a failed job's log, and gives the job as the forge lists it.
func (f *forge) job(h *logHost, id int, name string, lines ...string) object {
	job, log := failedJob(lines...)
	path := fmt.Sprintf("/blob/%d", id)
	h.logs[path] = func(w http.ResponseWriter) { _, _ = io.WriteString(w, log) }
	f.refuse("GET", fmt.Sprintf("actions/jobs/%d/logs", id), 302, "", "Location: "+h.server.URL+path+"?sig=SECRETSIGNATURE")
	var steps []object
	for _, s := range job.Steps {
		steps = append(steps, object{"name": s.GetName(), "status": "completed", "conclusion": s.GetConclusion(), "number": s.GetNumber(), "started_at": s.GetStartedAt().Format(time.RFC3339), "completed_at": s.GetCompletedAt().Format(time.RFC3339)})
	}
	return object{
		"id": id, "run_id": 5, "name": name, "status": "completed", "conclusion": "failure", "head_sha": headSHA, "workflow_name": "CI",
		"completed_at": "2026-03-04T05:07:00Z", "steps": steps, "html_url": fmt.Sprintf("https://github.com/acme/widgets/actions/runs/5/job/%d", id),
	}
}

// failing sets one failed run with these jobs.
func (f *forge) failing(jobs ...object) {
	var checks []object
	for _, j := range jobs {
		checks = append(checks, checkJSON(j["id"].(int), 9, 1, "github-actions", j["name"].(string), j["status"].(string), fmt.Sprint(j["conclusion"])))
	}
	f.commit(checks, nil, []object{runJSON(5, 9, 1, "CI", "push", "completed", "failure")})
	f.json("GET", "actions/runs/5/jobs", encoded(f.t, object{"total_count": len(jobs), "jobs": jobs}))
}

var target = api.Resolved{SHA: headSHA}

func TestMatrixThatFailsAlikeIsOneItemWithAllNames(t *testing.T) {
	f, p := newForge(t)
	h := newLogHost(t)
	var jobs []object
	for i := range 12 {
		test := "TestSum"
		if i == 7 {
			test = "TestProduct"
		}
		jobs = append(jobs, f.job(h, 100+i, fmt.Sprintf("test (os-%d, 1.%d)", i, i), fmt.Sprintf("os-%d", i), fmt.Sprintf("--- FAIL: %s (0.%02ds)", test, i)))
	}
	f.failing(jobs...)
	got, err := p.FailedLogs(t.Context(), f.repo, target, "")
	if err != nil || len(got.Jobs) != 2 || len(got.Jobs[0].Names) != 11 || len(got.Jobs[1].Names) != 1 {
		t.Fatalf("got %+v, %v", got, err)
	}
	if j := got.Jobs[0]; !strings.Contains(j.Note, "11 jobs") || j.Names[10] != "test (os-11, 1.11)" || j.Step != "Test" || j.Workflow != "CI" {
		t.Errorf("got %+v", j)
	}
	if text := encoded(t, got); strings.Contains(text, "SECRETSIGNATURE") || h.signed.Load() != 0 {
		t.Errorf("the signed address shows, or %d requests to it had a credential", h.signed.Load())
	}
}

func TestFailuresBeyondOneAnswerAreReached(t *testing.T) {
	f, p := newForge(t)
	h := newLogHost(t)
	var jobs []object
	for i := range 30 {
		jobs = append(jobs, f.job(h, 100+i, fmt.Sprintf("job %d", i), distinct(i)...))
	}
	f.failing(jobs...)
	f.pages("actions/runs/5/jobs", encoded(t, object{"jobs": jobs[:20]}), encoded(t, object{"jobs": jobs[20:]}))
	seen := map[string]int{}
	for cursor, answers := "", 0; answers == 0 || cursor != ""; answers++ {
		got, err := p.FailedLogs(t.Context(), f.repo, target, cursor)
		if err != nil || answers > 60 || len(got.Jobs) == 0 {
			t.Fatal(err, answers, got)
		}
		if size := indented(got, ""); size > maxView {
			t.Errorf("an answer of %d bytes", size)
		}
		for _, j := range got.Jobs {
			for _, n := range j.Names {
				seen[n]++
			}
		}
		cursor = got.NextCursor
	}
	for i := range 30 {
		if n := seen[fmt.Sprintf("job %d", i)]; n != 1 {
			t.Errorf("job %d came %d times", i, n)
		}
	}
}

// distinct are lines that no other job has.
func distinct(job int) []string {
	var lines []string
	for i := range 200 {
		lines = append(lines, fmt.Sprintf("Error: %s %s", strings.Repeat(string(rune('A'+job%26)), 3+job), strings.Repeat(string(rune('a'+i%26)), 100)))
	}
	return lines
}

func TestRestOfALogIsReachedByItsOwnCursor(t *testing.T) {
	f, p := newForge(t)
	h := newLogHost(t)
	var lines []string
	for i := range 3000 {
		lines = append(lines, fmt.Sprintf("line %d of it", i))
	}
	job := f.job(h, 100, "build", lines...)
	f.failing(job)
	f.json("GET", "actions/jobs/100", encoded(t, job))
	got, err := p.FailedLogs(t.Context(), f.repo, target, "")
	if err != nil || len(got.Jobs) != 1 || got.Jobs[0].NextCursor == "" || got.Truncated {
		t.Fatalf("got %+v, %v", got, err)
	}
	all := ""
	for cursor := got.Jobs[0].NextCursor; cursor != ""; cursor = got.Jobs[0].NextCursor {
		if got, err = p.FailedLogs(t.Context(), f.repo, target, cursor); err != nil || len(got.Jobs) != 1 {
			t.Fatal(got, err)
		}
		all += got.Jobs[0].Excerpt + "\n"
	}
	for _, l := range lines {
		if !strings.Contains(all, l+"\n") {
			t.Fatalf("%q is not reached", l)
		}
	}
	_, err = p.FailedLogs(t.Context(), f.repo, api.Resolved{SHA: oldSHA}, encodeCursor(logsCursor{Job: 100, Line: 1}))
	refusedWith(t, err, api.Invalid, "bad_cursor")
}

// TestWhatIsNoJobSpeaksForItself has a check of another app, a status, a workflow that never
// started, and a job whose log is there.
func TestWhatIsNoJobSpeaksForItself(t *testing.T) {
	f, p := newForge(t)
	h := newLogHost(t)
	job := f.job(h, 100, "build", "Error: x")
	other := checkJSON(200, 10, 1, "scanner", "scan", "completed", "failure")
	other["output"] = object{"title": "2 findings", "summary": "look at ghp_" + strings.Repeat("a1", 18), "annotations_count": 2}
	f.commit(
		[]object{checkJSON(100, 9, 1, "github-actions", "build", "completed", "failure"), other},
		[]object{statusJSON(1, "jenkins", "failure"), statusJSON(2, "coverage", "success")},
		[]object{runJSON(5, 9, 1, "CI", "push", "completed", "failure"), runJSON(6, 11, 1, "Broken", "push", "completed", "startup_failure")},
	)
	f.json("GET", "actions/runs/5/jobs", encoded(t, object{"jobs": []object{job}}))
	f.json("GET", "actions/runs/6/jobs", `{"jobs":[]}`)
	f.json("GET", "check-runs/200/annotations", encoded(t, []object{
		{"path": "b.go", "start_line": 2, "annotation_level": "warning", "message": "maybe"}, {"path": "a.go", "start_line": 1, "annotation_level": "failure", "message": "surely"},
	}))
	got, err := p.FailedLogs(t.Context(), f.repo, target, "")
	if err != nil || len(got.Jobs) != 4 {
		t.Fatalf("got %+v, %v", got, err)
	}
	byName := map[string]api.FailedJob{}
	for _, j := range got.Jobs {
		byName[j.Names[0]] = j
	}
	const sentence = "a failing check that is not backed by GitHub Actions has no job log to fetch"
	if j := byName["scan"]; j.Note != sentence || j.Title != "2 findings" || !strings.Contains(j.Summary, masked) || j.URL != "https://scanner.example/1" || len(j.Annotations) != 2 || j.Annotations[0].Path != "a.go" {
		t.Errorf("check of another app: %+v", j)
	}
	if j := byName["jenkins"]; j.Note != sentence || j.Summary != "said" || j.URL != "https://ci.example/1" {
		t.Errorf("status: %+v", j)
	}
	if j := byName["Broken"]; !strings.Contains(j.Note, "never started") || j.Conclusion != "startup_failure" {
		t.Errorf("workflow: %+v", j)
	}
	if j := byName["build"]; !strings.Contains(j.Excerpt, "Error: x") {
		t.Errorf("job: %+v", j)
	}
}
