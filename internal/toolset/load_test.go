package toolset_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fleet/internal/atlas"
	"fleet/internal/toolset"
)

// oneTool declares a toolset of one tool with these properties and arguments.
func oneTool(properties, args, more string) string {
	return `{"toolset":"mine","tools":[{"name":"a","description":"d","input":{"type":"object","properties":` + properties +
		`,"additionalProperties":false},"args":` + args + `,"output":"json"` + more + `}]}`
}

func TestEachFaultOfADeclarationIsNamedWithItsPlace(t *testing.T) {
	text := `{"q":{"type":"string"}}`
	cases := map[string]struct{ file, want string }{
		"no JSON":               {`{`, "$: "},
		"two values":            {oneTool(`{}`, `[]`, ``) + `{}`, "something follows"},
		"unknown key":           {`{"toolset":"mine","tools":[],"shell":true}`, "'shell'"},
		"unknown key of a tool": {oneTool(`{}`, `[]`, `,"run":"x"`), "$.tools[0]: additional properties 'run'"},
		"key in another case":   {oneTool(`{}`, `[]`, `,"Output":"x"`), "'Output'"},
		"key twice":             {oneTool(`{}`, `[]`, `,"output":"text"`), "$.tools[0].output: the key is given twice"},
		"no tools":              {`{"toolset":"mine","tools":[]}`, "$.tools"},
		"a name with capitals":  {`{"toolset":"Mine","tools":[]}`, "$.toolset"},
		"command is text":       {`{"toolset":"mine","command":"a b","tools":[]}`, "$.command"},
		"open inputs":           {strings.Replace(oneTool(`{}`, `[]`, ``), `"additionalProperties":false`, `"additionalProperties":true`, 1), "$.tools[0].input.additionalProperties"},
		"input without a type":  {oneTool(`{"q":{}}`, `[{"from":"q","as":"word"}]`, ``), "$.tools[0].input.properties.q"},
		"input of objects":      {oneTool(`{"q":{"type":"object"}}`, `[{"from":"q","as":"word"}]`, ``), "$.tools[0].input.properties.q"},
		"unknown from":          {oneTool(`{}`, `[{"from":"z","as":"word"}]`, ``), "$.tools[0].args[0].from: there is no input z"},
		"no kind":               {oneTool(text, `[{"from":"q"}]`, ``), "$.tools[0].args[0]: a string needs a kind"},
		"unknown kind":          {oneTool(text, `[{"from":"q","as":"shell"}]`, ``), "$.tools[0].args[0]"},
		"text without --":       {oneTool(text, `["x",{"from":"q","as":"text"}]`, ``), "$.tools[0].args[1]: text may stand only after"},
		"a flag after --":       {oneTool(text, `["--",{"from":"q","flag":"--q","as":"word"}]`, ``), "$.tools[0].args[1]: after --"},
		"a template":            {oneTool(text, `["--q={q}"]`, ``), "$.tools[0].input.properties.q: the command never gets it"},
		"boolean without flag":  {oneTool(`{"b":{"type":"boolean"}}`, `[{"from":"b"}]`, ``), "a boolean needs a flag"},
		"negative integer":      {oneTool(`{"n":{"type":"integer"}}`, `[{"from":"n","flag":"-n"}]`, ``), "a minimum of 0"},
		"outcome's exit":        {oneTool(`{}`, `[]`, `,"outcomes":[{"exit":[2],"schema":true}]`), "$.tools[0].outcomes[0].exit: 2 is not among exit_codes"},
		"no JSON Schema":        {oneTool(`{}`, `[]`, `,"outcomes":[{"exit":[0],"schema":{"type":"nothing"}}]`), "$.tools[0].outcomes[0].schema: it is no JSON Schema"},
		"a schema from outside": {oneTool(`{}`, `[]`, `,"outcomes":[{"exit":[0],"schema":{"$ref":"file:///etc/passwd"}}]`), "$.tools[0].outcomes[0].schema: it cannot be compiled"},
		"concise alone":         {oneTool(`{}`, `[]`, `,"concise":["a"]`), "concise and an input responseFormat go together"},
		"unmarked text":         {oneTool(`{}`, `[]`, `,"repository_text":true`), "$.tools[0].description"},
		"a credential":          {`{"toolset":"mine","pass_env":["GITHUB_TOKEN"],` + oneTool(`{}`, `[]`, ``)[18:], "$.pass_env[0]: GITHUB_TOKEN"},
		"Fleet's own variable":  {`{"toolset":"mine","env":{"FLEET_X":"1"},` + oneTool(`{}`, `[]`, ``)[18:], "$.env.FLEET_X"},
		"too long":              {`{"toolset":"mine","timeout_seconds":61,` + oneTool(`{}`, `[]`, ``)[18:], "$.timeout_seconds"},
		"too much":              {`{"toolset":"mine","max_output_bytes":262145,` + oneTool(`{}`, `[]`, ``)[18:], "$.max_output_bytes"},
		"resource without tool": {`{"toolset":"mine","resources":[{"uri":"x://y","name":"n","mime_type":"a/b","tool":"z"}],` + oneTool(`{}`, `[]`, ``)[18:], "$.resources[0].tool: there is no tool z"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := toolset.Load(toolset.Host{}, atlas.Toolset{Use: declare(t, c.file), Command: command(t, "die")})
			var faults toolset.Faults
			if !errors.As(err, &faults) || !strings.Contains(faults.Error(), c.want) {
				t.Errorf("Load = %v, want faults that say %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "toolset:#") {
				t.Errorf("Load = %v: it shows the validator's own ids", err)
			}
		})
	}
}

func TestAllFaultsAreToldAtOnce(t *testing.T) {
	file := declare(t, `{"toolset":"M","x":1,"x":2,"tools":[{"name":"A","description":"","input":{"type":"object","additionalProperties":false},"args":[1],"output":"xml"}]}`)
	_, err := toolset.Load(toolset.Host{}, atlas.Toolset{Use: file})
	for _, want := range []string{"$.toolset", "'x'", "$.x: the key is given twice", "$.tools[0].name", "$.tools[0].description", "$.tools[0].args[0]", "$.tools[0].output"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Load = %v, want also %q", err, want)
		}
	}
}

func TestADeclarationIsTheOperatorsOwnFileOutsideTheAtlas(t *testing.T) {
	good := oneTool(`{}`, `[]`, ``)
	b := newBed(t)
	write := func(path string, mode os.FileMode) string {
		t.Helper()
		if err := os.WriteFile(path, []byte(good), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	own := write(filepath.Join(b.outside(), "own.json"), 0o644)
	link := filepath.Join(b.outside(), "link.json")
	if err := os.Symlink(own, link); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(b.outside(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	// A folder outside that leads into the atlas is inside it.
	door := filepath.Join(b.outside(), "door")
	if err := os.Symlink(b.dir, door); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(b.dir, "mine.json"), 0o600)
	cases := map[string]struct{ use, want string }{
		"good":             {own, ""},
		"its group writes": {write(filepath.Join(b.outside(), "group.json"), 0o620), "others can write it"},
		"others can write": {write(filepath.Join(b.outside(), "open.json"), 0o602), "others can write it"},
		"a link":           {link, "symbolic link"},
		"a FIFO":           {fifo, "not a regular file"},
		"in a workspace":   {filepath.Join(b.dir, "mine.json"), "lies in the atlas"},
		"through a link":   {filepath.Join(door, "mine.json"), "lies in the atlas"},
		"relative":         {"mine.json", "absolute path"},
		"missing":          {filepath.Join(b.outside(), "none.json"), "no such file"},
		"unknown builtin":  {"builtin:../x", "builtin:fairlead, builtin:suspec"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := toolset.Load(toolset.Host{Atlas: b.atlas}, atlas.Toolset{Use: c.use, Command: command(t, "die")})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("Load(%s) = %v, want %q", c.use, err, c.want)
			}
		})
	}
}

func TestRootsNeverOpenTheAtlas(t *testing.T) {
	b := newBed(t)
	for root, fine := range map[string]bool{
		b.outside(): true, "/not/there": true, "/": false, filepath.Dir(b.atlas): false, b.atlas: false, b.dir: false, "relative": false,
	} {
		_, err := toolset.Load(toolset.Host{Atlas: b.atlas}, atlas.Toolset{Use: "builtin:fairlead", Command: command(t, "die"), Roots: []string{root}})
		if (err == nil) != fine {
			t.Errorf("Load with the root %s = %v, want it accepted: %v", root, err, fine)
		}
	}
}

// program writes an executable file.
func program(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSuspecIsFoundByCommandThenVariableThenPATH(t *testing.T) {
	b := newBed(t)
	onPath := program(t, filepath.Join(b.outside(), "bin", "suspec"))
	variable := program(t, filepath.Join(b.outside(), "suspec.js"))
	given := program(t, filepath.Join(b.outside(), "given"))
	// Those of a workspace come first on PATH, and must not be taken.
	path := b.dir + ":.:" + filepath.Join(b.outside(), "bin")
	program(t, filepath.Join(b.dir, "suspec"))
	t.Chdir(b.dir)
	env := map[string]string{"PATH": path, "SUSPEC_BIN": variable}
	host := toolset.Host{Atlas: b.atlas, Getenv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	found := func(command ...string) []string {
		t.Helper()
		set, err := toolset.Load(host, atlas.Toolset{Use: "builtin:suspec", Command: command})
		if err != nil {
			t.Fatal(err)
		}
		return set.Command()
	}
	if got := found(given, "--x"); !slices.Equal(got, []string{given, "--x"}) {
		t.Errorf("with a command: %q", got)
	}
	if got := found("suspec"); !slices.Equal(got, []string{onPath}) {
		t.Errorf("with a plain name as command: %q", got)
	}
	if got := found(); !slices.Equal(got, []string{variable}) {
		t.Errorf("with SUSPEC_BIN: %q", got)
	}
	delete(env, "SUSPEC_BIN")
	if got := found(); !slices.Equal(got, []string{onPath}) {
		t.Errorf("with PATH alone: %q", got)
	}
}

func TestACommandThatAgentsCanWriteIsRefused(t *testing.T) {
	b := newBed(t)
	own := program(t, filepath.Join(b.dir, "tool"))
	link := filepath.Join(b.outside(), "tool")
	if err := os.Symlink(own, link); err != nil {
		t.Fatal(err)
	}
	alias, dangling := filepath.Join(b.outside(), "alias"), filepath.Join(b.outside(), "dangling")
	for link, target := range map[string]string{alias: b.dir, dangling: filepath.Join(b.dir, "later")} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	plainFile := declare(t, "x")
	for name, c := range map[string]struct {
		command []string
		want    string
	}{
		"in a workspace":         {[]string{own}, "lies in the atlas"},
		"a link into it":         {[]string{link}, "lies in the atlas"},
		"a script in it":         {[]string{"/bin/sh", own}, "lies in the atlas"},
		"a script not there yet": {[]string{"/bin/sh", filepath.Join(b.dir, "later.sh")}, "lies in the atlas"},
		"one behind a link":      {[]string{"/bin/sh", filepath.Join(alias, "later")}, "lies in the atlas"},
		"one behind its own":     {[]string{"/bin/sh", dangling}, "lies in the atlas"},
		"an option's value":      {[]string{"/bin/sh", "--rcfile=" + filepath.Join(b.dir, "later")}, "lies in the atlas"},
		"a relative script":      {[]string{"/bin/sh", "later.sh"}, "relative path"},
		"a relative path":        {[]string{"/bin/sh", "bin/later"}, "relative path"},
		"one after an option":    {[]string{"/bin/sh", "--rcfile=../later"}, "relative path"},
		"relative":               {[]string{"./tool"}, "neither an absolute path nor a plain name"},
		"missing":                {[]string{"/not/there"}, "is not there"},
		"not executable":         {[]string{plainFile}, "is not executable"},
		"a folder":               {[]string{b.outside()}, "not a regular file"},
		"not on PATH":            {[]string{"no-such-program-anywhere"}, "on PATH"},
		"none, and none on PATH": {nil, "no fairlead on PATH"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := toolset.Load(toolset.Host{Atlas: b.atlas}, atlas.Toolset{Use: "builtin:fairlead", Command: c.command})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Load = %v, want an error that says %q", err, c.want)
			}
		})
	}
	// A folder of the atlas may be named: a sandbox binds it. So may what is no file of an agent's.
	for _, part := range []string{b.atlas, "--proc=/proc", "/proc", "/not/there", plainFile, "--level=a/b", "exec ./x", "https://localhost/x", "name", "27.0"} {
		if _, err := toolset.Load(toolset.Host{Atlas: b.atlas}, atlas.Toolset{Use: "builtin:fairlead", Command: []string{"/bin/sh", part}}); err != nil {
			t.Errorf("Load with the part %s = %v", part, err)
		}
	}
}

func TestClashingNamesAreToldAtOnce(t *testing.T) {
	load := func(use string) *toolset.Toolset { return serve(t, use).set }
	fairlead, suspec := load("builtin:fairlead"), load("builtin:suspec")
	if err := toolset.CheckNames([]*toolset.Toolset{fairlead, suspec}, "agent_init", "repo_info"); err != nil {
		t.Errorf("CheckNames of the two that are built in = %v", err)
	}
	mine := load(declare(t, strings.Replace(oneTool(`{}`, `[]`, ``), `"name":"a"`, `"name":"repo_info"`, 1)))
	err := toolset.CheckNames([]*toolset.Toolset{suspec, mine, suspec}, "repo_info")
	for _, want := range []string{"the tool repo_info belongs to the ship itself", "the tool suspec_check belongs to builtin:suspec", "the name suspec", "the resource suspec://checks"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("CheckNames = %v, want also %q", err, want)
		}
	}
}
