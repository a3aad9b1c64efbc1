package github

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"fleet/api"
)

func TestJobsWithoutALogSayWhy(t *testing.T) {
	gone := func(status int, body string) func(*forge, *logHost) {
		return func(f *forge, _ *logHost) { f.refuse("GET", "actions/jobs/100/logs", status, body) }
	}
	cases := map[string]struct {
		job  object
		log  func(*forge, *logHost)
		note string
	}{
		"expired":           {nil, gone(410, `{"message":"Server Error"}`), "log_expired"},
		"gone":              {nil, gone(404, `{"message":"Not Found"}`), "log_gone"},
		"blob gone":         {nil, func(_ *forge, h *logHost) { delete(h.logs, "/blob/100") }, "log_gone"},
		"empty":             {nil, func(_ *forge, h *logHost) { h.logs["/blob/100"] = func(http.ResponseWriter) {} }, "empty"},
		"cancelled early":   {object{"conclusion": "cancelled", "steps": []object{}}, nil, "log_never"},
		"cancelled, no log": {object{"conclusion": "cancelled"}, gone(404, "{}"), "log_never"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f, p := newForge(t)
			h := newLogHost(t)
			job := f.job(h, 100, "build", "Error: x")
			maps.Copy(job, c.job)
			f.failing(job)
			if c.log != nil {
				c.log(f, h)
			}
			got, err := p.FailedLogs(t.Context(), f.repo, target, "")
			if err != nil || len(got.Jobs) != 1 || !strings.Contains(got.Jobs[0].Note, c.note) || got.Jobs[0].Excerpt != "" {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestLogsThatCannotBeHadNowAreErrors(t *testing.T) {
	running := object{"status": "in_progress", "conclusion": nil, "completed_at": nil}
	cases := map[string]struct {
		job    object
		log    func(f *forge, h *logHost)
		code   api.Code
		reason string
	}{
		"not written yet": {running, func(f *forge, _ *logHost) { f.refuse("GET", "actions/jobs/100/logs", 404, "{}") }, api.Unavailable, "log_not_ready"},
		"being uploaded":  {object{"completed_at": time.Now().UTC().Format(time.RFC3339)}, func(_ *forge, h *logHost) { delete(h.logs, "/blob/100") }, api.Unavailable, "log_not_ready"},
		"host refuses":    {nil, func(_ *forge, h *logHost) { h.logs["/blob/100"] = func(w http.ResponseWriter) { w.WriteHeader(403) } }, api.Unavailable, "log_address_refused"},
		"host breaks":     {nil, func(_ *forge, h *logHost) { h.logs["/blob/100"] = func(w http.ResponseWriter) { w.WriteHeader(500) } }, api.Unavailable, "log_answer"},
		"connection breaks": {nil, func(_ *forge, h *logHost) {
			h.logs["/blob/100"] = func(http.ResponseWriter) { panic(http.ErrAbortHandler) }
		}, api.Unavailable, "connection_broken"},
		"address of another kind": {nil, func(f *forge, _ *logHost) {
			f.refuse("GET", "actions/jobs/100/logs", 302, "", "Location: ftp://x/?sig=SECRETSIGNATURE")
		}, api.Forbidden, "log_address"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f, p := newForge(t)
			h := newLogHost(t)
			job := f.job(h, 100, "build", "Error: x")
			maps.Copy(job, c.job)
			f.failing(job)
			c.log(f, h)
			_, err := p.FailedLogs(t.Context(), f.repo, target, "")
			e := refusedWith(t, err, c.code, c.reason)
			if strings.Contains(e.Text(), "SECRET") || strings.Contains(e.Text(), h.server.URL) {
				t.Errorf("the signed address shows: %s", e.Text())
			}
			if (e.RetryAfterSeconds > 0) != (c.reason == "log_not_ready") {
				t.Errorf("retry after %d", e.RetryAfterSeconds)
			}
		})
	}
}

func TestLogThatBreaksOffIsShownAsFarAsItCame(t *testing.T) {
	f, p := newForge(t)
	h := newLogHost(t)
	f.failing(f.job(h, 100, "build", "Error: x"))
	_, log := failedJob("Error: seen", "rest")
	h.logs["/blob/100"] = func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", fmt.Sprint(len(log)))
		_, _ = io.WriteString(w, log[:strings.Index(log, "rest")])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	got, err := p.FailedLogs(t.Context(), f.repo, target, "")
	if err != nil || len(got.Jobs) != 1 || !strings.Contains(got.Jobs[0].Excerpt, "Error: seen") || !strings.Contains(got.Jobs[0].Note, "broke off") {
		t.Errorf("got %+v, %v", got, err)
	}
}
