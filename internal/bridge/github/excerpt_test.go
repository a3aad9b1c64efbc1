package github

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	gh "github.com/google/go-github/v89/github"
)

// clock stamps a log's lines, as the runner does.
type clock struct{ at time.Time }

func (c *clock) line(text string) string {
	return c.at.Format("2006-01-02T15:04:05.0000000Z") + " " + text + "\r\n"
}

func stamp(t time.Time) *gh.Timestamp { return &gh.Timestamp{Time: t} }

// failedJob is a job of five steps whose third failed, and its log, into which body goes as what
// that step wrote.
func failedJob(body ...string) (*gh.WorkflowJob, string) {
	start := time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC)
	step := func(n int64, name, conclusion string, from, to int) *gh.TaskStep {
		return &gh.TaskStep{
			Number: &n, Name: &name, Status: gh.Ptr("completed"), Conclusion: &conclusion,
			StartedAt: stamp(start.Add(time.Duration(from) * time.Second)), CompletedAt: stamp(start.Add(time.Duration(to) * time.Second)),
		}
	}
	job := &gh.WorkflowJob{
		ID: gh.Ptr(int64(7)), Name: gh.Ptr("test (ubuntu-latest, 1.25)"), Status: gh.Ptr("completed"), Conclusion: gh.Ptr("failure"),
		CompletedAt: stamp(start.Add(time.Minute)),
		Steps: []*gh.TaskStep{
			step(1, "Set up job", "success", 0, 2), step(2, "Run actions/checkout@v4", "success", 2, 4),
			step(3, "Test", "failure", 4, 30), step(4, "Upload", "skipped", 30, 30),
			step(5, "Post Run actions/checkout@v4", "success", 30, 31), step(6, "Complete job", "success", 31, 31),
		},
	}
	c := clock{start}
	var b strings.Builder
	b.WriteString("\uFEFF")
	write := func(second int, lines ...string) {
		c.at = start.Add(time.Duration(second) * time.Second)
		for _, l := range lines {
			b.WriteString(c.line(l))
		}
	}
	write(1, "Current runner version: '2.330.0'", "##[group]Operating System", "Ubuntu", "##[endgroup]", "Prepare all required actions")
	write(2, "##[group]Run actions/checkout@v4", "with:", "  repository: acme/widgets", "  token: ***", "##[endgroup]", "Syncing repository: acme/widgets")
	write(4, "##[group]Run make test", "\x1b[36;1mmake test\x1b[0m", "shell: /usr/bin/bash -e {0}", "env:", "  SECRET_OF_THE_STEP: hidden", "##[endgroup]")
	write(20, body...)
	write(30, "##[error]Process completed with exit code 2.")
	write(30, "Post job cleanup.", "[command]/usr/bin/git version", "git version 2.51.0")
	write(31, "Cleaning up orphan processes")
	return job, b.String()
}

func excerptOf(t *testing.T, job *gh.WorkflowJob, log string) (string, []string, *excerpt) {
	t.Helper()
	_, windows := failedSteps(job)
	found, err := newStepReader(windows, func() sink { return newExcerpt(strings.Clone) }).read(strings.NewReader(log))
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	x := found.(*excerpt)
	words, shown := x.render(maxExcerpt)
	return words, shown, x
}

func TestExcerptIsOfTheFailedStepAndNotOfTheEpilogue(t *testing.T) {
	job, log := failedJob("ok  a", "--- FAIL: TestSum (0.00s)", "    sum_test.go:9: got 3, want 4", "FAIL")
	words, shown, x := excerptOf(t, job, log)
	want := strings.Join([]string{
		"##[group]Run make test", "make test", "shell: /usr/bin/bash -e {0}", "[… 3 lines …]",
		"ok  a", "--- FAIL: TestSum (0.00s)", "    sum_test.go:9: got 3, want 4", "FAIL", "##[error]Process completed with exit code 2.",
	}, "\n")
	if words != want {
		t.Errorf("excerpt\n%s\nwant\n%s", words, want)
	}
	if got := fmt.Sprint(shown); got != "[1-3 7-11]" || x.lines() != 11 {
		t.Errorf("shown %s of %d lines, want [1-3 7-11] of 11", got, x.lines())
	}
}

func TestExcerptKeepsHeadErrorsAndTailOfALongStep(t *testing.T) {
	var body []string
	for i := range 5000 {
		body = append(body, fmt.Sprintf("line %d", i))
	}
	body[1500] = "src/a.c:3: error: first thing"
	body[3500] = "panic: last thing"
	job, log := failedJob(body...)
	words, shown, _ := excerptOf(t, job, log)
	for _, want := range []string{
		"##[group]Run make test", "line 10\n", "first thing", "line 1461\n", "line 1539\n", "last thing", "line 3461\n", "line 3539\n",
		"line 4950\n", "exit code 2.",
	} {
		if !strings.Contains(words, want) {
			t.Errorf("the excerpt lacks %q", want)
		}
	}
	for _, not := range []string{"line 100\n", "line 2500\n", "line 4000\n", "orphan", "Syncing", "SECRET_OF_THE_STEP"} {
		if strings.Contains(words, not) {
			t.Errorf("the excerpt has %q", not)
		}
	}
	if len(words) > maxExcerpt || len(shown) != 5 {
		t.Errorf("%d bytes in ranges %v", len(words), shown)
	}
}

// TestLastErrorNearTheEndIsPreferredToTheEnd has lines of which only some thirty fit.
func TestLastErrorNearTheEndIsPreferredToTheEnd(t *testing.T) {
	var body []string
	for i := range 300 {
		body = append(body, fmt.Sprintf("%d ", i)+strings.Repeat("x", 500))
	}
	body[10], body[270] = "Error: first", "Error: last"
	job, log := failedJob(body...)
	words, _, _ := excerptOf(t, job, log)
	for _, want := range []string{"Error: first", "Error: last\n271 ", "exit code 2"} {
		if !strings.Contains(words, want) {
			t.Errorf("the excerpt lacks %q", want)
		}
	}
}

func TestExcerptOfLongLinesHoldsTheErrorAndItsLimit(t *testing.T) {
	var body []string
	for i := range 300 {
		body = append(body, fmt.Sprintf("%d ", i)+strings.Repeat("x", 9000))
	}
	body[150] = "Error: the one"
	job, log := failedJob(body...)
	words, _, _ := excerptOf(t, job, log)
	if len(words) > maxExcerpt || !strings.Contains(words, "Error: the one") {
		t.Errorf("%d bytes, has the error: %v", len(words), strings.Contains(words, "Error: the one"))
	}
	for line := range strings.SplitSeq(words, "\n") {
		if len(line) > maxLine+len("…") {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
}

func TestRepeatedLinesAreCounted(t *testing.T) {
	job, log := failedJob(append(bytesToLines(strings.Repeat("waiting\n", 500)), "Error: gave up")...)
	words, _, _ := excerptOf(t, job, log)
	if !strings.Contains(words, "waiting  [came 500 times]\nError: gave up") {
		t.Errorf("excerpt:\n%s", words)
	}
}

func bytesToLines(s string) []string { return strings.Split(strings.TrimSuffix(s, "\n"), "\n") }

// TestStepsOfOneSecondAreToldApart: the forge gives whole seconds, and quick steps share one.
func TestStepsOfOneSecondAreToldApart(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	step := func(name, conclusion string) *gh.TaskStep {
		return &gh.TaskStep{Name: &name, Conclusion: &conclusion, StartedAt: stamp(at), CompletedAt: stamp(at)}
	}
	job := &gh.WorkflowJob{Conclusion: gh.Ptr("failure"), Steps: []*gh.TaskStep{
		step("Set up job", "success"), step("One", "success"), step("Two", "skipped"), step("Three", "failure"), step("Four", "success"),
	}}
	c := clock{at}
	var log strings.Builder
	for _, l := range []string{"setting up", "##[group]Run one", "##[endgroup]", "of one", "##[group]Run three", "##[endgroup]", "of three", "##[error]broken", "##[group]Run four", "##[endgroup]", "of four", "Post job cleanup.", "cleaned"} {
		log.WriteString(c.line(l))
	}
	words, _, _ := excerptOf(t, job, log.String())
	if want := "##[group]Run three\n[… 1 lines …]\nof three\n##[error]broken"; words != want {
		t.Errorf("got\n%s\nwant\n%s", words, want)
	}
}

// TestStepThatWasCalledOffEndsBeforeTheCleaningUp: it says no error of its own.
func TestStepThatWasCalledOffEndsBeforeTheCleaningUp(t *testing.T) {
	job, log := failedJob("working")
	words, _, _ := excerptOf(t, job, strings.Replace(log, "##[error]Process completed with exit code 2.", "stopped", 1))
	if !strings.HasSuffix(words, "working\nstopped") {
		t.Errorf("got\n%s", words)
	}
}

func TestCompositeStepKeepsAllItsSections(t *testing.T) {
	job, log := failedJob("outer", "##[group]Run inner thing", "##[endgroup]", "inner Error: x")
	words, _, _ := excerptOf(t, job, log)
	if !strings.Contains(words, "outer\n##[group]Run inner thing") || !strings.Contains(words, "inner Error: x\n##[error]") {
		t.Errorf("got\n%s", words)
	}
}

func TestLogWithoutStepsFallsBackOnTheFirstError(t *testing.T) {
	job, log := failedJob("##[error]here it is")
	job.Steps = nil
	words, _, _ := excerptOf(t, job, log)
	if !strings.Contains(words, "here it is") || strings.Contains(words, "Syncing") || strings.Contains(words, "orphan") {
		t.Errorf("got\n%s", words)
	}
}

// TestExcerptHoldsForEveryCut: a log may end anywhere.
func TestExcerptHoldsForEveryCut(t *testing.T) {
	job, log := failedJob("Error: é\x1b[31m", "-----BEGIN RSA PRIVATE KEY-----", "AAAABBBBCCCC", "-----END RSA PRIVATE KEY-----")
	for n := range len(log) {
		words, _, _ := excerptOf(t, job, log[:n])
		if strings.Contains(words, "AAAABBBB") {
			t.Fatalf("a key shows at %d bytes:\n%s", n, words)
		}
	}
}

func TestSignatureIgnoresWhatDiffersInAMatrix(t *testing.T) {
	sign := func(name string, body ...string) string {
		job, log := failedJob(body...)
		_, _, x := excerptOf(t, job, log)
		return x.signature(name)
	}
	a := sign("test (ubuntu-latest, 1.25)", "using 1.25 on ubuntu-latest", "--- FAIL: TestSum (0.01s)")
	b := sign("test (macos-15, 1.26)", "using 1.26 on macos-15", "--- FAIL: TestSum (0.32s)")
	c := sign("test (macos-15, 1.26)", "using 1.26 on macos-15", "--- FAIL: TestProduct (0.32s)")
	if a != b || a == c {
		t.Errorf("alike: %v, want true; another failure alike: %v, want false", a == b, a == c)
	}
}

func TestPageReadsAStepFromEndToEnd(t *testing.T) {
	var body []string
	for i := range 4000 {
		body = append(body, fmt.Sprintf("line %d %s", i, strings.Repeat("y", 30)))
	}
	job, log := failedJob(body...)
	_, windows := failedSteps(job)
	var all bytes.Buffer
	pages := 0
	for from := 1; from > 0; pages++ {
		found, err := newStepReader(windows, func() sink { return newPage(from, strings.Clone) }).read(strings.NewReader(log))
		if err != nil || pages > 20 {
			t.Fatal(err, pages)
		}
		var words string
		words, _, from = found.(*page).render()
		if len(words) > maxView {
			t.Errorf("a page of %d bytes", len(words))
		}
		all.WriteString(words + "\n")
	}
	for _, l := range body {
		if !strings.Contains(all.String(), l+"\n") {
			t.Fatalf("no page has %q", l)
		}
	}
	if pages < 3 {
		t.Errorf("%d pages", pages)
	}
}

func TestStepWithSecondsOfItsOwnIsCutByTime(t *testing.T) {
	job, log := failedJob("before any group", "##[group]Run nested", "##[endgroup]", "Error: x")
	for _, s := range job.Steps {
		if s.GetName() == "Test" {
			s.StartedAt, s.CompletedAt = stamp(s.StartedAt.Add(2*time.Second)), stamp(s.CompletedAt.Add(-2*time.Second))
		}
	}
	words, _, _ := excerptOf(t, job, log)
	if want := "before any group\n##[group]Run nested\n[… 1 lines …]\nError: x"; words != want {
		t.Errorf("got\n%s\nwant\n%s", words, want)
	}
}
