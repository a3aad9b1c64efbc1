package toolset_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"fleet/internal/atlas"
	"fleet/internal/toolset"
)

// saying serves suspec with a checker that prints lines, in which $DIR is the workspace.
func saying(t *testing.T, exit int, lines ...string) *bed {
	t.Helper()
	b := speaker(t, "builtin:suspec")
	b.lines(exit, lines...)
	return b
}

func (b *bed) lines(exit int, lines ...string) {
	b.t.Helper()
	b.say(exit, strings.ReplaceAll(strings.Join(lines, "\n"), "$DIR", b.dir)+"\n")
}

const (
	clean    = `{"type":"spec","level":"clean","path":"$DIR/a.md","diagnostics":[]}`
	cleanB   = `{"type":"task","level":"clean","path":"$DIR/b.md","diagnostics":[]}`
	warned   = `{"type":"spec","level":"warning","path":"$DIR/a.md","diagnostics":[{"code":"C008","severity":"warning","message":"no <origin>","line":null,"more":1}],"extra":{"n":1.50}}`
	blocked  = `{"type":"campaign","level":"blocking","path":"$DIR/a.md","diagnostics":[{"code":"C030","severity":"hard-error","message":"m","line":24}]}`
	audit    = `{"level":"clean","path":"$DIR/b.md","type":"audit","checked":false}`
	set      = `{"path":"(file set)","level":"blocking","diagnostics":[{"code":"C002","severity":"hard-error","message":"m","line":null}]}`
	declined = `{"error":"Usage","message":"task checks need their source spec","code":7}`

	a, ab = `{"paths":["$DIR/a.md"]}`, `{"paths":["$DIR/a.md","$DIR/b.md"]}`
)

// enveloped is an envelope as a client reads it.
type enveloped struct {
	OK     *bool
	Source struct {
		Command  string
		ExitCode *int
	}
	Data           json.RawMessage
	ResponseFormat string
}

func open(t *testing.T, result toolset.Result) enveloped {
	t.Helper()
	var e enveloped
	if result.IsError || json.Unmarshal(result.Structured, &e) != nil || e.OK == nil || e.Source.ExitCode == nil {
		t.Fatalf("result = %+v, want an envelope", result)
	}
	return e
}

func TestSuspecRunsOneFixedCommand(t *testing.T) {
	b := serve(t, "builtin:suspec")
	for args, want := range map[string]string{
		a:  "check $DIR/a.md --json",
		ab: "check $DIR/a.md $DIR/b.md --json",
		`{"paths":["$DIR/b.md","$DIR/a.md","$DIR/b.md"],"specPath":"$DIR/s p.md","responseFormat":"detailed"}`: "check $DIR/b.md $DIR/a.md $DIR/b.md --spec $DIR/s p.md --json",
	} {
		b.call("suspec_check", args)
		if got := b.started(); got == nil || strings.Join(got.Args, " ") != strings.ReplaceAll(want, "$DIR", b.dir) {
			t.Errorf("%s runs %+v, want %s", args, got, want)
		}
	}
	b.call("suspec_get_checks", `{"responseFormat":"detailed"}`)
	if got := b.started(); !slices.Equal(got.Args, []string{"check", "--contract", "--json"}) {
		t.Errorf("suspec_get_checks runs %q", got.Args)
	}
}

func TestSuspecTakesNothingElse(t *testing.T) {
	b := serve(t, "builtin:suspec")
	for name, c := range map[string]struct{ tool, args, want string }{
		"no paths":         {"suspec_check", `{}`, "paths"},
		"empty paths":      {"suspec_check", `{"paths":[]}`, "paths"},
		"one path as text": {"suspec_check", `{"paths":"$DIR/a.md"}`, "paths"},
		"a former input":   {"suspec_check", `{"paths":["$DIR/a.md"],"taskPath":"$DIR/t.md"}`, "taskPath"},
		"another format":   {"suspec_check", `{"paths":["$DIR/a.md"],"responseFormat":"full"}`, "responseFormat"},
		"relative path":    {"suspec_check", `{"paths":["a.md"]}`, "not an absolute path"},
		"relative spec":    {"suspec_check", `{"paths":["$DIR/a.md"],"specPath":"s.md"}`, "not an absolute path"},
		"a flag as path":   {"suspec_check", `{"paths":["--contract"]}`, "not an absolute path"},
		"setup as path":    {"suspec_check", `{"paths":["setup"]}`, "not an absolute path"},
		"setup":            {"suspec_setup", `{}`, "no tool"},
		"a line break":     {"suspec_check", `{"paths":["$DIR/a\n.md"]}`, "characters"},
		"in the spec":      {"suspec_check", `{"paths":["$DIR/a.md"],"specPath":"$DIR/a\u2028.md"}`, "characters"},
		"a neighbour":      {"suspec_check", `{"paths":["$DIR/../other/a.md"]}`, ".."},
		"outside":          {"suspec_check", `{"paths":["/etc/passwd"]}`, "neither in the workspace"},
		"input of checks":  {"suspec_get_checks", `{"paths":[]}`, "paths"},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			b.refused(b.call(c.tool, c.args), c.want)
		})
	}
}

func TestOKSaysThatTheCheckerWorkedNotThatTheArtifactIsGood(t *testing.T) {
	b := speaker(t, "builtin:suspec")
	for name, c := range map[string]struct {
		exit  int
		lines []string
		args  string
		ok    bool
	}{
		"clean":                    {0, []string{clean}, a, true},
		"clean and unchecked":      {0, []string{clean, audit}, ab, true},
		"warning":                  {1, []string{warned, cleanB}, ab, true},
		"blocking":                 {2, []string{blocked, audit}, ab, true},
		"two of one id":            {2, []string{clean, cleanB, set}, ab, true},
		"same path twice":          {0, []string{clean}, `{"paths":["$DIR/a.md","$DIR/a.md"]}`, true},
		"declined":                 {2, []string{declined}, ab, false},
		"declined twice":           {2, []string{declined, declined}, ab, false},
		"declined for a companion": {2, []string{declined}, `{"paths":["$DIR/a.md"],"specPath":"$DIR/s.md"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			b.lines(c.exit, c.lines...)
			result := b.call("suspec_check", c.args)
			e := open(t, result)
			var data []json.RawMessage
			if err := json.Unmarshal(e.Data, &data); err != nil || len(data) != len(c.lines) {
				t.Errorf("data = %s, want an array of %d", e.Data, len(c.lines))
			}
			if *e.OK != c.ok || *e.Source.ExitCode != c.exit || e.ResponseFormat != "concise" || result.Refused == c.ok {
				t.Errorf("envelope = %s, refused %v", result.Structured, result.Refused)
			}
			if len(result.Text) != 2 || !strings.HasPrefix(result.Text[0], e.Source.Command+" → exit "+strconv.Itoa(c.exit)) || !json.Valid([]byte(result.Text[1])) {
				t.Errorf("texts = %q, want the command with its exit code, then data", result.Text)
			}
			if result.Meta["suspec/repository-text"] != true {
				t.Errorf("_meta = %v: diagnostics quote the repository", result.Meta)
			}
		})
	}
}

func TestWhatIsNotInTheContractIsAnAdapterFailure(t *testing.T) {
	b := speaker(t, "builtin:suspec")
	const hard = `[{"code":"C030","severity":"hard-error","message":"m","line":24}]`
	for name, c := range map[string]struct {
		exit  int
		lines []string
		args  string
	}{
		"exit 3":                   {3, []string{clean}, a},
		"exit 127":                 {127, []string{declined}, a},
		"nothing":                  {0, nil, a},
		"no JSON":                  {0, []string{"all is well"}, a},
		"half a line":              {0, []string{`{"type":"spec",`}, a},
		"two values in a line":     {0, []string{clean + clean}, ab},
		"decline at 0":             {0, []string{declined}, a},
		"decline at 1":             {1, []string{declined}, a},
		"decline and report":       {2, []string{blocked, declined}, ab},
		"clean at 1":               {1, []string{clean}, a},
		"clean at 2":               {2, []string{clean}, a},
		"warning at 0":             {0, []string{warned}, a},
		"warning at 2":             {2, []string{warned}, a},
		"blocking at 1":            {1, []string{blocked}, a},
		"level below severity":     {1, []string{strings.Replace(blocked, `"blocking"`, `"warning"`, 1)}, a},
		"level above severity":     {2, []string{strings.Replace(warned, `"level":"warning"`, `"level":"blocking"`, 1)}, a},
		"unknown code":             {2, []string{strings.Replace(blocked, "C030", "C099", 1)}, a},
		"severity of another code": {2, []string{strings.Replace(blocked, "C030", "C008", 1)}, a},
		"no type":                  {0, []string{`{"level":"clean","path":"$DIR/a.md","diagnostics":[]}`}, a},
		"unknown type":             {0, []string{strings.Replace(clean, `"spec"`, `"poem"`, 1)}, a},
		"unchecked spec":           {0, []string{strings.Replace(audit, `"audit"`, `"spec"`, 1)}, `{"paths":["$DIR/b.md"]}`},
		"checked audit":            {0, []string{strings.Replace(clean, `"spec"`, `"audit"`, 1)}, a},
		"C002 in a report":         {2, []string{strings.Replace(blocked, "C030", "C002", 1)}, a},
		"another code in the set":  {2, []string{clean, `{"path":"(file set)","level":"blocking","diagnostics":` + hard + `}`}, a},
		"a typed set":              {2, []string{clean, strings.Replace(set, `{`, `{"type":"spec",`, 1)}, a},
		"the set first":            {2, []string{set, clean}, a},
		"two sets":                 {2, []string{clean, set, set}, a},
		"the set alone":            {2, []string{set}, a},
		"another path":             {0, []string{cleanB}, a},
		"another spelling":         {0, []string{strings.Replace(clean, "$DIR/", "$DIR/./", 1)}, a},
		"another order":            {0, []string{cleanB, clean}, ab},
		"a report too few":         {0, []string{clean}, ab},
		"a report too many":        {0, []string{clean, cleanB}, a},
		"a line of no number":      {2, []string{strings.Replace(blocked, "24", "-1", 1)}, a},
		"not UTF-8":                {0, []string{strings.Replace(clean, "spec", "\xff", 1)}, a},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			b.lines(c.exit, c.lines...)
			failed(t, b.call("suspec_check", c.args), "suspec adapter error: ")
		})
	}
	b = serve(t, "builtin:suspec", "die")
	failed(t, b.call("suspec_check", a), "suspec adapter error: the command was ended by a signal")
}

func TestAReportMayBeMissingForTheSameFileAlone(t *testing.T) {
	b := saying(t, 0, clean)
	if err := os.WriteFile(filepath.Join(b.dir, "a.md"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a.md", filepath.Join(b.dir, "b.md")); err != nil {
		t.Fatal(err)
	}
	open(t, b.call("suspec_check", ab))
	if err := os.Remove(filepath.Join(b.dir, "b.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "b.md"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	failed(t, b.call("suspec_check", ab), "path 2 has none")
}

func TestConciseDropsFieldsAndDetailedKeepsAll(t *testing.T) {
	b := saying(t, 1, warned)
	short := open(t, b.call("suspec_check", a))
	want := `[{"type":"spec","level":"warning","path":"` + b.dir + `/a.md","diagnostics":[{"code":"C008","severity":"warning","message":"no <origin>","line":null}]}]`
	if string(short.Data) != want {
		t.Errorf("concise data = %s, want %s", short.Data, want)
	}
	whole := open(t, b.call("suspec_check", `{"paths":["$DIR/a.md"],"responseFormat":"detailed"}`))
	if want := "[" + strings.ReplaceAll(warned, "$DIR", b.dir) + "]"; string(whole.Data) != want || whole.ResponseFormat != "detailed" {
		t.Errorf("detailed data = %s, want %s", whole.Data, want)
	}
	unchecked := open(t, saying(t, 0, audit).call("suspec_check", `{"paths":["$DIR/b.md"]}`))
	if !strings.Contains(string(unchecked.Data), `"checked":false`) {
		t.Errorf("concise data = %s, want checked: false kept", unchecked.Data)
	}
	no := open(t, saying(t, 2, declined).call("suspec_check", a))
	if string(no.Data) != "["+declined+"]" {
		t.Errorf("a decline's data = %s, want all of it", no.Data)
	}
}

func TestACommandIsShownAsAPersonWouldTypeIt(t *testing.T) {
	b := newBed(t)
	report := strings.ReplaceAll(strings.Replace(clean, "a.md", "a 'b'.md", 1), "$DIR", b.dir)
	b.load(toolset.Host{}, atlas.Toolset{Use: "builtin:suspec", Command: command(t, "say", "0", report, "")})
	e := open(t, b.call("suspec_check", `{"paths":["$DIR/a 'b'.md"]}`))
	if !strings.HasSuffix(e.Source.Command, ` check '`+b.dir+`/a '\''b'\''.md' --json`) {
		t.Errorf("command = %s", e.Source.Command)
	}
}

func TestAnEnvelopeThatIsTooLongIsAnError(t *testing.T) {
	long := strings.Replace(warned, "no <origin>", strings.Repeat("é", 80_000), 1)
	got := saying(t, 1, long, long).call("suspec_check", `{"paths":["$DIR/a.md","$DIR/a.md"]}`)
	failed(t, got, "too long")
	if data := got.Text[1]; !strings.HasSuffix(data, "[truncated]") || len(data) > 256<<10 || !utf8.ValidString(data) {
		t.Errorf("the data has %d bytes and ends %q", len(data), data[len(data)-20:])
	}
}
