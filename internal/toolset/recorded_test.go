package toolset_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recorded is the folder with what the checker itself printed; see generate.go in it.
const recorded = "testdata/suspec"

// recording is one run of the checker, in which $DIR is the folder of the artifacts.
type recording struct {
	Tool      string
	Arguments json.RawMessage
	Args      []string
	Exit      int
	Stdout    string
}

func recordings(t *testing.T) map[string]recording {
	t.Helper()
	found := map[string]recording{}
	paths, err := filepath.Glob(recorded + "/recordings/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("recordings = %q, %v", paths, err)
	}
	for _, path := range paths {
		var r recording
		raw, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(raw, &r)
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		found[strings.TrimSuffix(filepath.Base(path), ".json")] = r
	}
	return found
}

// readings is what each recording comes to, a clause for each report.
func readings() map[string]string {
	return map[string]string{
		"clean":                 "spec clean",
		"unchecked":             "audit unchecked; inventory unchecked; research unchecked",
		"warning":               "spec warning C008",
		"warnings":              "spec warning C015 C019",
		"blocking":              "spec blocking C004",
		"broken":                "spec blocking C001 C003 C004 C007 C009 C021 C025 C028",
		"order":                 "spec warning C008; audit unchecked; spec clean; campaign clean; change-plan clean",
		"worst-of-three":        "spec clean; spec blocking C004; spec warning C008",
		"set":                   "spec clean; spec clean; set blocking C002",
		"set-after-unchecked":   "spec clean; audit unchecked; spec clean; set blocking C002",
		"same-path-twice":       "spec clean",
		"plan":                  "change-plan clean",
		"plan-warning":          "change-plan warning C011",
		"plan-blocking":         "change-plan blocking C010",
		"campaign":              "campaign clean",
		"campaign-blocking":     "campaign blocking C029 C030 C031",
		"task":                  "task clean",
		"tasks":                 "task clean; task clean",
		"task-thin":             "task blocking C022",
		"task-closed":           "task blocking C023 C024; task clean",
		"task-alone":            "declined",
		"task-of-another-spec":  "declined",
		"task-and-spec":         "declined",
		"task-spec-is-draft":    "declined",
		"task-spec-is-blocking": "declined",
		"task-spec-is-missing":  "declined",
		"spec-without-task":     "declined",
		"unknown-type":          "declined",
		"no-type":               "declined",
		"listed-type":           "declined",
		"no-frontmatter":        "declined",
		"folder":                "declined",
		"missing":               "declined",
		// One refusal for each artifact that could not be read or paired.
		"two-missing":          "declined; declined",
		"missing-and-typeless": "declined; declined",
		"two-tasks-of-another": "declined; declined",
	}
}

// read says what an envelope's data comes to.
func read(t *testing.T, e enveloped) string {
	t.Helper()
	var reports []struct {
		Type        string
		Level       string
		Checked     *bool
		Diagnostics []struct{ Code string }
		Error       string
	}
	if err := json.Unmarshal(e.Data, &reports); err != nil {
		t.Fatalf("data = %s: %v", e.Data, err)
	}
	var clauses []string
	for _, r := range reports {
		codes := map[string]bool{}
		for _, d := range r.Diagnostics {
			codes[d.Code] = true
		}
		words := append([]string{r.Type, r.Level}, slices.Sorted(maps.Keys(codes))...)
		switch {
		case r.Error != "":
			words = []string{"declined"}
		case r.Checked != nil:
			words[1] = "unchecked"
		case r.Type == "":
			words[0] = "set"
		}
		clauses = append(clauses, strings.Join(words, " "))
	}
	return strings.Join(clauses, "; ")
}

// artifacts puts the recorded artifacts into the workspace.
func (b *bed) artifacts() {
	b.t.Helper()
	if err := os.CopyFS(b.dir, os.DirFS(recorded+"/artifacts")); err != nil {
		b.t.Fatal(err)
	}
}

// reads holds a call to its recording: the outcome, and in detail all that was printed.
func (b *bed) reads(r recording, want string) {
	b.t.Helper()
	here := func(text string) string { return strings.ReplaceAll(text, "$DIR", b.dir) }
	result := b.call(r.Tool, string(r.Arguments))
	e := open(b.t, result)
	printed := strings.Split(strings.TrimSpace(here(r.Stdout)), "\n")
	if data := "[" + strings.Join(printed, ",") + "]"; string(e.Data) != data {
		b.t.Errorf("data = %s, want %s", e.Data, data)
	}
	if got := read(b.t, e); got != want || *e.OK == strings.HasPrefix(want, "declined") || *e.Source.ExitCode != r.Exit {
		b.t.Errorf("%s, ok %v, exit %d; want %s, exit %d", got, *e.OK, *e.Source.ExitCode, want, r.Exit)
	}
	if !strings.HasSuffix(e.Source.Command, " "+here(strings.Join(r.Args, " "))) {
		b.t.Errorf("command = %s, want one with %q", e.Source.Command, r.Args)
	}
}

func TestRecordingsAreAsTheCheckerPrintedThem(t *testing.T) {
	raw, err := os.ReadFile(recorded + "/provenance.json")
	if err != nil {
		t.Fatal(err)
	}
	var said struct {
		Checker    string            `json:"checker_sha256"`
		Artifacts  map[string]string `json:"artifacts_sha256"`
		Recordings map[string]string `json:"recordings_sha256"`
		Sources    struct {
			Contract string
			Files    []struct {
				Blob string `json:"git_blob"`
			}
		}
	}
	if err := json.Unmarshal(raw, &said); err != nil {
		t.Fatal(err)
	}
	if len(said.Checker) != 64 || said.Sources.Contract != "0.27.0" || len(said.Sources.Files) == 0 {
		t.Errorf("provenance.json does not say which checker this was: %+v", said)
	}
	for dir, want := range map[string]map[string]string{"artifacts": said.Artifacts, "recordings": said.Recordings} {
		if got := hashes(t, filepath.Join(recorded, dir)); len(got) == 0 || !maps.Equal(got, want) {
			t.Errorf("%s: the hashes are %v, want those of provenance.json: %v; run generate.go again", dir, got, want)
		}
	}
}

func hashes(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(root, path)
		hash := sha256.Sum256(raw)
		found[path] = hex.EncodeToString(hash[:])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestRecordedOutputIsReadAsTheContractSays(t *testing.T) {
	b := speaker(t, "builtin:suspec")
	b.artifacts()
	wanted := readings()
	for name, r := range recordings(t) {
		if r.Tool != "suspec_check" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			b.t = t
			b.say(r.Exit, strings.ReplaceAll(r.Stdout, "$DIR", b.dir))
			b.reads(r, wanted[name])
		})
		delete(wanted, name)
	}
	if len(wanted) > 0 {
		t.Errorf("there are no recordings of %v", wanted)
	}
}

func TestTheRecordedContractIsThePinnedOne(t *testing.T) {
	r := recordings(t)["contract"]
	if want := contract("0.27.0", checks()); !sameJSON(t, r.Stdout, want) || r.Exit != 0 {
		t.Errorf("the checker printed %s and ended with %d, want %s", r.Stdout, r.Exit, want)
	}
	b := speaker(t, "builtin:suspec")
	b.say(r.Exit, r.Stdout)
	if err := b.set.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	b.say(r.Exit, strings.Replace(r.Stdout, "0.27.0", "0.26.0", 1))
	if err := b.set.Verify(t.Context()); err == nil {
		t.Error("the contract 0.26.0 is served")
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var texts [2]string
	for i, raw := range []string{a, b} {
		var v any
		if err := json.Unmarshal([]byte(raw), &v); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		again, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(again)
	}
	return texts[0] == texts[1]
}

func TestRecordingsShowEveryCheckOfTheContract(t *testing.T) {
	var all strings.Builder
	for _, r := range recordings(t) {
		if r.Tool == "suspec_check" {
			all.WriteString(r.Stdout)
		}
	}
	for _, check := range checks() {
		if !strings.Contains(all.String(), `"code":"`+check[0]+`","severity":"`+check[2]+`"`) {
			t.Errorf("no recording has a diagnostic of %s, a %s", check[0], check[2])
		}
	}
}
