package bridge

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"fleet/api"
)

// written gives an audit of eight lines and what vouches for them.
func someAudit(t *testing.T) (lines []string, head auditHead) {
	t.Helper()
	b := openBench(t, "", &fakeForge{})
	for n := range 4 {
		if _, err := b.do(comment(fmt.Sprint("comment ", n))); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(filepath.Join(b.dir, auditFile))
	if err != nil {
		t.Fatal(err)
	}
	if head, err = b.desk.store.auditHead(); err != nil || head.Seq != 8 {
		t.Fatalf("head %+v (%v), want line 8", head, err)
	}
	return slices.Collect(strings.Lines(string(raw))), head
}

func verify(t *testing.T, lines []string, head auditHead) api.AuditReport {
	t.Helper()
	report, err := verifyAudit(strings.NewReader(strings.Join(lines, "")), head)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestTheAuditShowsWhatWasDoneToIt(t *testing.T) {
	lines, head := someAudit(t)
	if report := verify(t, lines, head); len(report.Faults) != 0 || len(report.Notes) != 0 || report.Lines != 8 {
		t.Fatalf("untouched: %+v", report)
	}
	forged := func(n int) string { // line n+1 again with other content, chained as it should be
		var line auditLine
		if err := json.Unmarshal([]byte(lines[n]), &line); err != nil {
			t.Fatal(err)
		}
		line.Seq, line.Prev, line.Ship = line.Seq+1, hashLine([]byte(strings.TrimSuffix(lines[n], "\n"))), "mallory"
		raw, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw) + "\n"
	}
	with := func(change func(l []string) []string) []string { return change(slices.Clone(lines)) }
	alter := func(n int) []string {
		return with(func(l []string) []string { l[n] = strings.Replace(l[n], `"local"`, `"other"`, 1); return l })
	}
	cases := map[string]struct {
		lines []string
		line  int // of the first fault
	}{
		"the first line altered":   {alter(0), 1},
		"a line altered":           {alter(3), 4},
		"the last line altered":    {alter(7), 8},
		"a line removed":           {with(func(l []string) []string { return slices.Delete(l, 3, 4) }), 4},
		"the first line removed":   {with(func(l []string) []string { return l[1:] }), 1},
		"the last lines removed":   {with(func(l []string) []string { return l[:6] }), 7},
		"all lines removed":        {nil, 1},
		"a line inserted":          {with(func(l []string) []string { return slices.Insert(l, 4, forged(3)) }), 6},
		"a line twice":             {with(func(l []string) []string { return slices.Insert(l, 4, l[3]) }), 5},
		"two lines swapped":        {with(func(l []string) []string { l[3], l[4] = l[4], l[3]; return l }), 4},
		"a line cut in the middle": {with(func(l []string) []string { l[3] = l[3][:50] + "\n"; return l }), 4},
		"a line emptied":           {with(func(l []string) []string { l[3] = "\n"; return l }), 4},
		"an unknown field":         {with(func(l []string) []string { l[3] = strings.Replace(l[3], `{`, `{"x":1,`, 1); return l }), 4},
		"the end of a line lost":   {with(func(l []string) []string { l[3] = strings.TrimSuffix(l[3], "\n"); return l }), 4},
		"rewritten from a line on": {with(func(l []string) []string { return append(l[:4], rechained(t, l[:4], l[4:], "mallory")...) }), 8},
		"a removal hidden by renumbering": {with(func(l []string) []string {
			return append(l[:3], rechained(t, l[:3], l[4:], localShip)...)
		}), 8},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			report := verify(t, c.lines, head)
			if len(report.Faults) == 0 || report.Faults[0].Line != c.line {
				t.Errorf("faults %+v, want the first at line %d", report.Faults, c.line)
			}
		})
	}
}

// rechained writes lines anew after others, as somebody would who may write the file.
func rechained(t *testing.T, after, lines []string, ship string) []string {
	t.Helper()
	last, seq := strings.TrimSuffix(after[len(after)-1], "\n"), int64(len(after))
	var out []string
	for _, text := range lines {
		var line auditLine
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		seq++
		line.Seq, line.Prev, line.Ship = seq, hashLine([]byte(last)), ship
		raw, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		last = string(raw)
		out = append(out, last+"\n")
	}
	return out
}

func TestHalfALineOfACrashIsSaidToBeOne(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	if _, err := b.do(comment("done")); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(b.dir, auditFile)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"seq":3,"prev":"ab`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	report, err := verifyAuditFile(b.dir, auditHead{})
	if err != nil || len(report.Faults) != 0 || len(report.Notes) != 2 || !strings.Contains(report.Notes[0], "line 3 is half a line") {
		t.Errorf("before a restart: %+v (%v), want a note", report, err)
	}
	again := openBench(t, b.dir, &fakeForge{})
	if _, err := again.do(comment("more")); err != nil {
		t.Fatal(err)
	}
	got, err := again.desk.verify()
	if err != nil || len(got.Faults) != 0 || got.Lines != 6 || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "line 3 is half a line") {
		t.Errorf("after it: %+v (%v), want six lines and a note", got, err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	spoilt := bytes.Replace(raw, []byte(`{"seq":3,"prev":"ab`), []byte(`{"seq":3,"prev":"ac`), 1)
	if report, err := verifyAudit(bytes.NewReader(spoilt), auditHead{}); err != nil || len(report.Faults) == 0 || report.Faults[0].Line != 3 {
		t.Errorf("half a line altered later: %+v (%v), want a fault at line 3", report, err)
	}
}

func TestALineThatCannotBeWrittenWholeIsTakenBack(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	if _, err := b.do(comment("done")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(b.dir, auditFile)
	readOnly, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	whole := b.desk.audit.file
	b.desk.audit.file = readOnly // as if the disk were full, and could not even be cut
	_, err = b.do(comment("more"))
	expectError(t, err, "unavailable/audit_unwritable")
	b.desk.audit.file = whole
	_, err = b.do(comment("more"))
	expectError(t, err, "unavailable/audit_unwritable") // half a line may stand there: nothing comes after it
	if n := len(b.forge.posted()); n != 1 {
		t.Errorf("%d posts, want one", n)
	}
	if err := readOnly.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTheAuditNamesEverythingButTheText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeForge{}
		b := openBench(t, "", f)
		_, alpha := b.grantShip(t, "alpha", "widgets", "comment")
		r := comment("a secret plan: <b>é</b>")
		r.Workspace = "Wörk"
		do := func(caller Caller, r Request) { _, _ = caller.Do(t.Context(), r) }
		do(alpha, r)
		do(alpha, func() Request { again := comment(r.Body); again.Workspace = r.Workspace; return again }())
		do(alpha, review("APPROVE", ""))
		do(alpha, comment("ghp_"+strings.Repeat("a", 36)))
		f.write = lostAfter(false)
		do(b.As(b.Local()), review("COMMENT", "hm"))
		if err := b.desk.revoke("alpha"); err != nil {
			t.Fatal(err)
		}
		do(alpha, comment("after"))
		raw, err := os.ReadFile(filepath.Join(b.dir, auditFile))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"secret plan", "ghp_", fakeToken, `"body":`, r.Key, "hm\""} {
			if bytes.Contains(raw, []byte(text)) {
				t.Errorf("the audit holds %q", text)
			}
		}
		var events []string
		var lines []auditLine
		for text := range strings.Lines(string(raw)) {
			line, err := decodeAudit([]byte(strings.TrimSuffix(text, "\n")))
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, line)
			events = append(events, line.Event+" "+line.Reason)
		}
		want := []string{"grant ", "write ", "done ", "duplicate ", "refused verb_not_granted", "refused holds_credential", "write ", "unknown ", "revoke "}
		if !slices.Equal(events, want) {
			t.Errorf("events %q, want %q", events, want)
		}
		sum := sha256.Sum256([]byte(r.Body))
		if l := lines[2]; l.Ship != "alpha" || l.Workspace != "Wörk" || l.Repo != "widgets" || l.Op != OpIssueComment || l.Number != 7 ||
			l.BodySHA256 != hex.EncodeToString(sum[:]) || l.BodyBytes != len(r.Body) || l.Credential != "env:github" || l.URL != written(1).URL ||
			l.KeySHA256 == "" || l.RequestID == "" || l.RequestID != lines[1].RequestID || l.Time.IsZero() {
			t.Errorf("line %+v lacks something", l)
		}
		if l := lines[6]; l.Review != "COMMENT" {
			t.Errorf("line %+v lacks the review's event", l)
		}
	})
}

func TestWhatIsTakenFromTheEndStaysKnownAfterARestart(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	for _, text := range []string{"one", "two"} {
		if _, err := b.do(comment(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(b.dir, auditFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(strings.Lines(string(raw)))
	if err := os.WriteFile(path, []byte(strings.Join(lines[:2], "")), 0o600); err != nil {
		t.Fatal(err)
	}
	again := openBench(t, b.dir, &fakeForge{})
	if _, err := again.do(comment("three")); err != nil {
		t.Fatal(err)
	}
	report, err := again.desk.verify()
	if err != nil || len(report.Faults) != 1 || report.Faults[0].Line != 4 || !strings.Contains(again.log.String(), "not what was written") {
		t.Errorf("report %+v (%v), want that line 4 is gone", report, err)
	}
}

func TestALookAtTheAuditChangesNothing(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	if _, err := b.do(comment("one")); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(b.dir, auditFile)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before = append(before, `{"seq":`...)
	if err := os.WriteFile(path, before, 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := OpenAdmin(t.Context(), AdminConfig{Dir: b.dir})
	if err != nil {
		t.Fatal(err)
	}
	report, err := a.VerifyAudit(t.Context())
	if err != nil || report.Lines != 3 || len(report.Faults) != 0 || len(report.Notes) != 1 {
		t.Errorf("report %+v (%v), want a note of half a line", report, err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the file changed (%v)", err)
	}
}
