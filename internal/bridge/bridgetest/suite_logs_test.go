package bridgetest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"fleet/api"
	"fleet/internal/bridge/bridgetest"
)

// testRun is a run of a pull request's head.
func (s *scene) testRun() (*bridgetest.Pull, *bridgetest.Run) {
	p := s.repo.Pull("Fix")
	return p, s.repo.Run("CI", p.Head())
}

// failedLogs are those of a pull request, which must have so many items.
func (s *scene) failedLogs(p *bridgetest.Pull, items int) api.FailedLogs {
	s.Helper()
	l := get[api.FailedLogs](s, logsOf(p.Number()))
	if len(l.Jobs) != items {
		s.Fatalf("%d items, want %d: %+v", len(l.Jobs), items, l)
	}
	return l
}

// excerpt holds an excerpt to what it must and must not have.
func (s *scene) excerpt(j api.FailedJob, has, lacks []string) {
	s.Helper()
	for _, want := range has {
		if !strings.Contains(j.Excerpt, want) {
			s.Errorf("the excerpt of %q lacks %q:\n%s", j.Names, want, j.Excerpt)
		}
	}
	for _, not := range lacks {
		if strings.Contains(j.Excerpt, not) {
			s.Errorf("the excerpt of %q has %q:\n%s", j.Names, not, j.Excerpt)
		}
	}
}

func TestFailedLogs(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"the failed step, not the epilogue after it or the set-up before it": func(s *scene) {
			p, run := s.testRun()
			run.Job("test (1.25, linux)").Fails("Run go test ./...", "##[group]Run go test ./...\ngo test ./...\nenv:\n  GOFLAGS: -race\n##[endgroup]\n"+
				"ok  	a	0.1s\n--- FAIL: TestX (0.00s)\n    x_test.go:7: got 1, want 2\nFAIL\n##[error]Process completed with exit code 1.")
			j := s.failedLogs(p, 1).Jobs[0]
			s.excerpt(j, []string{"--- FAIL: TestX", "x_test.go:7: got 1, want 2", "go test ./..."},
				[]string{"Post job cleanup", "orphan processes", "Operating System", "GOFLAGS", "T0", "Z "})
			if j.Step != "Run go test ./..." || j.Conclusion != "failure" || j.Workflow != "CI" || j.Names[0] != "test (1.25, linux)" || j.URL == "" {
				s.Errorf("the job = %+v", j)
			}
		},
		"the hundred-and-thirtieth job of a matrix is found": func(s *scene) {
			p, run := s.testRun()
			for n := range 130 {
				run.Job(fmt.Sprintf("test (%d)", n))
			}
			run.Job("the last").Fails("Run it", "##[error]the needle")
			s.excerpt(s.failedLogs(p, 1).Jobs[0], []string{"the needle"}, nil)
		},
		"a job that timed out, and a run that never started, have failed too": func(s *scene) {
			p, run := s.testRun()
			run.Job("slow").Fails("Run it", "still going").Is("completed", "timed_out")
			s.repo.Run("Broken", p.Head()).Is("completed", "startup_failure")
			l := s.failedLogs(p, 2)
			if l.Jobs[0].Conclusion != "timed_out" || l.Jobs[1].Conclusion != "startup_failure" || !strings.Contains(l.Jobs[1].Note, "never started") {
				s.Errorf("jobs = %+v", l.Jobs)
			}
		},
		"colours, progress bars and times are gone, the text between them is not": func(s *scene) {
			p, run := s.testRun()
			run.Job("test").Fails("Run it", "\x1b[31;1mred\x1b[0m text\r\n 10 %\r 99 %\rdone \x1b]8;;http://x\x07link\x1b]8;;\x07\n##[error]\x1b[1mboom\x1b[0m \ufffd")
			s.excerpt(s.failedLogs(p, 1).Jobs[0], []string{"red text", "done", "boom"}, []string{"\x1b", "[31", "\r", " 10 %", "\x07"})
		},
	})
}

func TestLogsThatAreNotThere(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"a job that still runs has no log yet, and a time is given": func(s *scene) {
			p, run := s.testRun()
			run.Job("test").Step("Run it", "failure", "boom").Is("in_progress", "")
			s.refused(logsOf(p.Number()), api.Unavailable, "log_not_ready", "Retry after", "Next:")
		},
		"nothing failed so far is not nothing failed": func(s *scene) {
			p, run := s.testRun()
			run.Job("test").Is("in_progress", "")
			if l := s.failedLogs(p, 0); !strings.Contains(l.Note, "so far") {
				s.Errorf("note = %q", l.Note)
			}
			q := s.repo.Pull("Untested")
			if l := s.failedLogs(q, 0); !strings.Contains(l.Note, "no check") {
				s.Errorf("note = %q", l.Note)
			}
		},
		"a cancelled job never had a log": func(s *scene) {
			p, run := s.testRun()
			run.Job("test").Is("completed", "cancelled")
			if j := s.failedLogs(p, 1).Jobs[0]; j.Excerpt != "" || !strings.Contains(j.Note, "never") || j.Conclusion != "cancelled" {
				s.Errorf("the job = %+v", j)
			}
		},
		"a log that has expired says so": func(s *scene) {
			p, run := s.testRun()
			run.Job("test").Fails("Run it", "boom").Expire()
			if j := s.failedLogs(p, 1).Jobs[0]; j.Excerpt != "" || !strings.Contains(j.Note, "expired") {
				s.Errorf("the job = %+v", j)
			}
		},
	})
}

func TestLogsAreFetchedSafely(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"the log's host gets no credential, and nobody gets its address": func(s *scene) {
			p, run := s.testRun()
			run.Job("test").Fails("Run it", "boom")
			raw, _ := s.do(logsOf(p.Number()))
			requests := s.gh.LogRequests()
			if len(requests) != 1 || requests[0].Header.Get("Authorization") != "" || requests[0].Header.Get("Referer") != "" {
				s.Fatalf("the log's host got %+v", requests)
			}
			_, signature, _ := strings.Cut(requests[0].Query, "sig=")
			if strings.Contains(string(raw), signature) || strings.Contains(s.log.String(), signature) || len(signature) < 20 {
				s.Errorf("the signature %q shows: %s\n%s", signature, raw, s.log)
			}
		},
		"the archive of a whole run is never asked for": func(s *scene) {
			p, run := s.testRun()
			run.Job("test").Fails("Run it", "boom")
			s.failedLogs(p, 1)
			if n := s.gh.Count("", fmt.Sprintf("/actions/runs/%d/logs", run.ID())); n != 0 {
				s.Errorf("it was asked for %d times", n)
			}
		},
		"a log's host that breaks is an error of ours, without its address": func(s *scene) {
			for name, answer := range map[string]http.HandlerFunc{
				"a reset": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
				"a 500":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
				"an expired address": func(w http.ResponseWriter, r *http.Request) {
					http.Error(w, "signature expired: "+r.URL.String(), http.StatusForbidden)
				},
			} {
				p, run := s.testRun()
				run.Job("test").Fails("Run it", "boom")
				s.gh.BreakLogs(answer)
				_, e := s.do(logsOf(p.Number()))
				if e == nil || e.Code != api.Unavailable || strings.Contains(e.Text(), "sig=") || strings.Contains(e.Text(), s.gh.LogURL()) {
					s.Errorf("%s: %v", name, e)
				}
				s.gh.BreakLogs(nil)
			}
			s.healthy()
		},
	})
}
