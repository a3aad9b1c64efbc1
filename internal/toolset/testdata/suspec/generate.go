//go:build ignore

// Generate runs the Suspec checker over the artifacts beside it and writes down what it printed.
// In this folder:
//
//	SUSPEC_BIN=/path/to/suspec.mjs go run generate.go SOURCES.json
//
// SOURCES.json tells where the checker's own code came from; it is copied into provenance.json.
// Recordings are never edited: a test holds them to the hashes that stand there.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// call is one use of suspec_check, with paths below the artifacts.
type call struct {
	paths []string
	spec  string
}

func calls() map[string]call {
	return map[string]call{
		"clean":                 {paths: []string{"one/spec.md"}},
		"unchecked":             {paths: []string{"audit.md", "inventory.md", "research.md"}},
		"warning":               {paths: []string{"orphan.md"}},
		"warnings":              {paths: []string{"cites.md"}},
		"blocking":              {paths: []string{"weak.md"}},
		"broken":                {paths: []string{"broken.md"}},
		"order":                 {paths: []string{"orphan.md", "audit.md", "draft.md", "campaign.md", "move/plan.md"}},
		"worst-of-three":        {paths: []string{"draft.md", "weak.md", "orphan.md"}},
		"set":                   {paths: []string{"one/spec.md", "twin.md"}},
		"set-after-unchecked":   {paths: []string{"twin.md", "audit.md", "one/spec.md"}},
		"same-path-twice":       {paths: []string{"one/spec.md", "one/spec.md"}},
		"plan":                  {paths: []string{"move/plan.md"}},
		"plan-warning":          {paths: []string{"move/dark.md"}},
		"plan-blocking":         {paths: []string{"move/lost.md"}},
		"campaign":              {paths: []string{"campaign.md"}},
		"campaign-blocking":     {paths: []string{"dim.md"}},
		"task":                  {paths: []string{"task.md"}, spec: "one/spec.md"},
		"tasks":                 {paths: []string{"task2.md", "task.md"}, spec: "one/spec.md"},
		"task-thin":             {paths: []string{"thin.md"}, spec: "one/spec.md"},
		"task-closed":           {paths: []string{"closed.md", "task.md"}, spec: "one/spec.md"},
		"task-alone":            {paths: []string{"task.md"}},
		"task-of-another-spec":  {paths: []string{"task.md", "stray.md"}, spec: "one/spec.md"},
		"task-and-spec":         {paths: []string{"task.md", "one/spec.md"}, spec: "one/spec.md"},
		"task-spec-is-draft":    {paths: []string{"task.md"}, spec: "draft.md"},
		"task-spec-is-blocking": {paths: []string{"task.md"}, spec: "broken.md"},
		"task-spec-is-missing":  {paths: []string{"task.md"}, spec: "none.md"},
		"spec-without-task":     {paths: []string{"draft.md"}, spec: "one/spec.md"},
		"unknown-type":          {paths: []string{"poem.md"}},
		"no-type":               {paths: []string{"typeless.md"}},
		"listed-type":           {paths: []string{"listed.md"}},
		"no-frontmatter":        {paths: []string{"bare.md"}},
		"folder":                {paths: []string{"move"}},
		"missing":               {paths: []string{"one/spec.md", "none.md"}},
		"two-missing":           {paths: []string{"none.md", "nothing.md"}},
		"missing-and-typeless":  {paths: []string{"none.md", "typeless.md"}},
		"two-tasks-of-another":  {paths: []string{"stray.md", "stray2.md"}, spec: "one/spec.md"},
		"contract":              {},
	}
}

// recording is a run as a test replays it. $DIR stands for the folder of the artifacts.
type recording struct {
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`
	Args      []string       `json:"args"` // of the checker
	Exit      int            `json:"exit"`
	Stdout    string         `json:"stdout"`
}

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	checker := os.Getenv("SUSPEC_BIN")
	if checker == "" || len(os.Args) != 2 {
		return errors.New("usage: SUSPEC_BIN=CHECKER go run generate.go SOURCES.json")
	}
	sources, err := os.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	dir, err := artifacts()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.RemoveAll("recordings"); err != nil {
		return err
	}
	if err := os.Mkdir("recordings", 0o755); err != nil {
		return err
	}
	for name, c := range calls() {
		if err := record(checker, dir, name, c); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return provenance(checker, sources)
}

// artifacts copies the artifacts to where the checker is to find them.
func artifacts() (string, error) {
	dir, err := os.MkdirTemp("", "suspec-artifacts-")
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	return dir, os.CopyFS(dir, os.DirFS("artifacts"))
}

func record(checker, dir, name string, c call) error {
	r := recording{Tool: "suspec_check", Arguments: map[string]any{"responseFormat": "detailed"}, Args: []string{"check"}}
	if c.paths == nil {
		r.Tool, r.Args = "suspec_get_checks", append(r.Args, "--contract")
	} else {
		paths := slices.Clone(c.paths)
		for i, path := range paths {
			paths[i] = "$DIR/" + path
		}
		r.Arguments["paths"], r.Args = paths, append(r.Args, paths...)
	}
	if c.spec != "" {
		r.Arguments["specPath"], r.Args = "$DIR/"+c.spec, append(r.Args, "--spec", "$DIR/"+c.spec)
	}
	r.Args = append(r.Args, "--json")

	var stdout bytes.Buffer
	cmd := command(checker, r.Args, dir)
	cmd.Stdout = &stdout
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		return err
	}
	r.Exit, r.Stdout = cmd.ProcessState.ExitCode(), strings.ReplaceAll(stdout.String(), dir, "$DIR")
	return write(filepath.Join("recordings", name+".json"), r)
}

// command runs the checker, by Node where it is a script.
func command(checker string, args []string, dir string) *exec.Cmd {
	line := []string{checker}
	if ext := filepath.Ext(checker); ext == ".js" || ext == ".mjs" {
		line = []string{"node", checker}
	}
	for _, arg := range args {
		line = append(line, strings.ReplaceAll(arg, "$DIR", dir))
	}
	return exec.Command(line[0], line[1:]...)
}

func provenance(checker string, sources json.RawMessage) error {
	said := struct {
		Note       string            `json:"note"`
		Checker    string            `json:"checker_sha256"`
		Sources    json.RawMessage   `json:"sources"`
		Artifacts  map[string]string `json:"artifacts_sha256"`
		Recordings map[string]string `json:"recordings_sha256"`
	}{Note: "Written by generate.go, which ran the checker. Never edit it or a recording.", Sources: sources}
	var err error
	if said.Checker, err = sum(checker); err != nil {
		return err
	}
	if said.Artifacts, err = sums("artifacts"); err != nil {
		return err
	}
	if said.Recordings, err = sums("recordings"); err != nil {
		return err
	}
	return write("provenance.json", said)
}

func sums(dir string) (map[string]string, error) {
	found := map[string]string{}
	return found, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err == nil {
			found[filepath.ToSlash(name)], err = sum(path)
		}
		return err
	})
}

func sum(path string) (string, error) {
	raw, err := os.ReadFile(path)
	hash := sha256.Sum256(raw)
	return hex.EncodeToString(hash[:]), err
}

func write(path string, v any) error {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}
