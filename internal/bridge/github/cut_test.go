package github

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"fleet/internal/bridge"
)

// oddSecret is a token of no known shape that has in it whatever the provider cuts a text at.
const oddSecret = "corpZQx7Lm2?Vt9Rk4/Wn8Hs3@Yp6Jd5Gf1"

type odd struct{ fixed }

func (odd) Authorization(context.Context) (bridge.Secret, error) {
	return bridge.NewSecret("Bearer " + oddSecret), nil
}

// hidden is v in JSON as a forge may write it: the secret's bytes don't stand in it.
func hidden(t *testing.T, v any) string {
	return strings.ReplaceAll(encoded(t, v), oddSecret, `\u0063`+oddSecret[1:])
}

// cutCase is a place where a text is cut. The secret stands behind from to until bytes.
type cutCase struct {
	from, until int
	serve       func(f *forge, h *logHost, text string)
	ask         func(p *Provider, f *forge) (any, error)
}

func askIssue(p *Provider, f *forge) (any, error) { return p.Issue(f.t.Context(), f.repo, 7, "") }
func askIssues(p *Provider, f *forge) (any, error) {
	return p.Issues(f.t.Context(), f.repo, "open", "")
}

func askPulls(p *Provider, f *forge) (any, error) { return p.Pulls(f.t.Context(), f.repo, "open", "") }

func askChecks(p *Provider, f *forge) (any, error) {
	return p.Checks(f.t.Context(), f.repo, target, "")
}

func askLogs(p *Provider, f *forge) (any, error) {
	return p.FailedLogs(f.t.Context(), f.repo, target, "")
}

func askLogPage(p *Provider, f *forge) (any, error) {
	return p.FailedLogs(f.t.Context(), f.repo, target, encodeCursor(logsCursor{Job: 100, Line: 1}))
}

func TestSecretAcrossACutIsMaskedWhole(t *testing.T) {
	for _, table := range []map[string]cutCase{cutsOfViews(t), cutsOfChecks(t), cutsOfLogs(t)} {
		for name, c := range table {
			t.Run(name, func(t *testing.T) { c.hold(t) })
		}
	}
}

// hold moves the secret over the cut, and looks for what is left of it.
func (c cutCase) hold(t *testing.T) {
	f, _ := newForge(t)
	h := newLogHost(t)
	guard, err := bridge.NewGuard(bridge.GuardConfig{API: f.repo.APIURL, Credential: odd{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(guard.Close)
	p, masked := New(guard, nil), false
	for pad := c.from; pad <= c.until; pad++ {
		c.serve(f, h, strings.Repeat("_", pad)+oddSecret+strings.Repeat("_", 200))
		answer, err := c.ask(p, f)
		shown := encoded(t, answer)
		for ; err != nil; err = errors.Unwrap(err) {
			shown += fmt.Sprintf(" %v %+v", err, err)
		}
		for i := range len(oddSecret) - 4 {
			if part := oddSecret[i : i+5]; strings.Contains(shown, part) {
				t.Fatalf("behind %d bytes, %q of the secret shows in …%.200s", pad, part, shown[max(0, strings.Index(shown, part)-100):])
			}
		}
		masked = masked || strings.Contains(shown, "[redacted]")
	}
	if !masked {
		t.Error("nowhere does it say that something was masked")
	}
}

func cutsOfViews(t *testing.T) map[string]cutCase {
	return map[string]cutCase{
		"the text of an issue": {maxText - 40, maxText + 5, func(f *forge, _ *logHost, text string) {
			i := issueJSON(7, false)
			i["body"], i["comments"] = text, 0
			f.json("GET", "issues/7", hidden(t, i))
		}, askIssue},
		"the text of a comment": {maxText - 40, maxText + 5, func(f *forge, _ *logHost, text string) {
			f.json("GET", "issues/7", hidden(t, issueJSON(7, false)))
			f.json("GET", "issues/7/comments", hidden(t, []object{commentJSON(1, 1, text)}))
		}, askIssue},
		"a title in a list": {350, 450, func(f *forge, _ *logHost, text string) {
			i := issueJSON(7, false)
			i["title"] = text
			f.json("GET", "issues", hidden(t, []object{i}))
		}, askIssues},
		"a branch in a list": {0, 400, func(f *forge, _ *logHost, text string) {
			f.json("GET", "pulls", hidden(t, []object{pullJSON(object{"head": object{"ref": text, "sha": headSHA}})}))
		}, askPulls},
		"what an error quotes": {maxQuote - 60, maxQuote + 5, func(f *forge, _ *logHost, text string) {
			f.refuse("GET", "issues/7", 403, hidden(t, object{"message": text}))
		}, askIssue},
		"what an error quotes, coloured in its middle": {maxQuote - 60, maxQuote + 5, func(f *forge, _ *logHost, text string) {
			coloured := strings.Replace(text, oddSecret, oddSecret[:9]+"\x1b[1m"+oddSecret[9:], 1)
			f.refuse("GET", "issues/7", 403, encoded(t, object{"message": coloured}))
		}, askIssue},
		"the query of an address that an error quotes": {0, 5, func(f *forge, _ *logHost, text string) {
			f.refuse("GET", "issues/7", 403, hidden(t, object{"message": "see https://forge.example/" + text}))
		}, askIssue},
		"the commit of a review": {0, 5, func(f *forge, _ *logHost, text string) {
			f.json("GET", "pulls/7", hidden(t, pullJSON(nil)))
			f.json("POST", "pulls/7/reviews", hidden(t, reviewJSON(50, 1, "fleet", "APPROVED", text)))
		}, func(p *Provider, f *forge) (any, error) {
			return p.Write(f.t.Context(), f.repo, review("APPROVE", ""))
		}},
	}
}

func cutsOfChecks(t *testing.T) map[string]cutCase {
	check := func(output object) func(f *forge, text string) {
		return func(f *forge, text string) {
			c := checkJSON(200, 10, 1, "scanner", "scan", "completed", "failure")
			c["output"] = object{"title": output["title"], "summary": output["summary"], "annotations_count": 1}
			for name := range output {
				c["output"].(object)[name] = text
			}
			f.commit(nil, nil, nil)
			f.json("GET", "commits/"+headSHA+"/check-runs", hidden(t, object{"total_count": 1, "check_runs": []object{c}}))
		}
	}
	titled, summed := check(object{"title": ""}), check(object{"summary": ""})
	return map[string]cutCase{
		"the line of a check": {maxSummary - 40, maxSummary + 5, func(f *forge, _ *logHost, text string) { titled(f, text) }, askChecks},
		"the line of a status": {maxSummary - 40, maxSummary + 5, func(f *forge, _ *logHost, text string) {
			s := statusJSON(1, "jenkins", "failure")
			s["description"] = text
			f.commit(nil, nil, nil)
			f.json("GET", "commits/"+headSHA+"/status", hidden(t, object{"statuses": []object{s}}))
		}, askChecks},
		"the name of a workflow's file": {0, 5, func(f *forge, _ *logHost, text string) {
			run := runJSON(5, 9, 1, "", "push", "completed", "startup_failure")
			run["path"] = ".github/workflows/" + text
			f.commit(nil, nil, nil)
			f.json("GET", "actions/runs", hidden(t, object{"workflow_runs": []object{run}}))
		}, askChecks},
		"the title of a failed check":   {maxSummary - 40, maxSummary + 5, func(f *forge, _ *logHost, text string) { titled(f, text) }, askLogs},
		"the summary of a failed check": {maxDetail - 40, maxDetail + 5, func(f *forge, _ *logHost, text string) { summed(f, text) }, askLogs},
		"an annotation": {maxAnnotation - 40, maxAnnotation + 5, func(f *forge, _ *logHost, text string) {
			titled(f, "")
			f.json("GET", "check-runs/200/annotations", hidden(t, []object{{"path": "a.go", "annotation_level": "failure", "message": text}}))
		}, askLogs},
	}
}

func cutsOfLogs(t *testing.T) map[string]cutCase {
	line := func(change func(text string) string) func(f *forge, h *logHost, text string) {
		return func(f *forge, h *logHost, text string) {
			f.failing(f.job(h, 100, "build", "Error: x"))
			job, log := failedJob(change(text))
			f.json("GET", "actions/jobs/100", encoded(t, object{
				"id": 100, "head_sha": headSHA, "conclusion": "failure", "status": "completed", "steps": job.Steps,
			}))
			h.logs["/blob/100"] = func(w http.ResponseWriter) { _, _ = io.WriteString(w, log) }
		}
	}
	plain := line(func(text string) string { return text })
	// What a terminal does not show takes room, so that the raw line is cut within what would be
	// shown. The secret stands at the line's beginning too, where it is seen to be masked.
	colours := strings.Repeat("\x1b[0m", 560)
	colourful := line(func(text string) string { return colours + oddSecret + text })
	endless := line(func(text string) string { return colours + oddSecret + text + strings.Repeat("_", 70<<10) })
	last := rawLine - len(colours) - len(oddSecret)
	first := last - len(oddSecret)
	untimed := line(func(text string) string {
		return "before\n2026-03-04T05:06:20" + strings.TrimLeft(text, "_")
	})
	return map[string]cutCase{
		"a line of a log":                      {maxLine - 40, maxLine + 5, plain, askLogs},
		"a line of a log's page":               {maxLine - 40, maxLine + 5, plain, askLogPage},
		"the raw line of a log":                {first, last, colourful, askLogs},
		"the raw line of a log's page":         {first, last, colourful, askLogPage},
		"a raw line that no buffer holds":      {first, last, endless, askLogs},
		"what looks like the time of its line": {0, 0, untimed, askLogs},
	}
}
