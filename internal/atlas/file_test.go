package atlas_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"fleet/internal/atlas"
)

const whole = `{ "fleet" : 1 , "port": 4700,
  "repos": { "widgets": { "url": "https://github.com/acme/widgets.git", "forge": "github", "default_branch": "main", "api_url": "https://api.github.com" } },
  "env": ["ANTHROPIC_API_KEY"],
  "toolsets": [ { "use": "builtin:suspec", "command": ["node", "/opt/suspec/bin/suspec.js"], "roots": ["/srv/specs"] }, { "use": "/etc/fleet/mine.json" } ] }`

func wholeFile() *atlas.File {
	return &atlas.File{
		Fleet: 1, Port: 4700,
		Repos: map[string]atlas.Repo{
			"widgets": {URL: "https://github.com/acme/widgets.git", Forge: "github", DefaultBranch: "main", APIURL: "https://api.github.com"},
		},
		Env: []string{"ANTHROPIC_API_KEY"},
		Toolsets: []atlas.Toolset{
			{Use: "builtin:suspec", Command: []string{"node", "/opt/suspec/bin/suspec.js"}, Roots: []string{"/srv/specs"}},
			{Use: "/etc/fleet/mine.json"},
		},
	}
}

func TestParseReadsARepositorysPolicyAndWriteKeepsIt(t *testing.T) {
	const text = `{"fleet":1,"port":1,"repos":{"a":{"url":"/a","forge":"none","trusted_authors_only":true,"trusted_authors":["app[bot]"],` +
		`"mass_mentions":"allow","closing_keywords":"refuse"},"b":{"url":"/b","forge":"none"}}}`
	f, err := atlas.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := atlas.Policy{TrustedAuthorsOnly: true, TrustedAuthors: []string{"app[bot]"}, MassMentions: atlas.Allow, ClosingKeywords: atlas.Refuse}
	root := t.TempDir()
	if err := atlas.Write(root, f); err != nil {
		t.Fatal(err)
	}
	again, err := atlas.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*atlas.File{f, again} {
		if f.Repos["a"].Policy == nil || !reflect.DeepEqual(*f.Repos["a"].Policy, want) || f.Repos["b"].Policy != nil {
			t.Errorf("%+v and %+v, want %+v and none", f.Repos["a"].Policy, f.Repos["b"].Policy, want)
		}
	}
}

func TestParseReadsEveryField(t *testing.T) {
	f, err := atlas.Parse([]byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(f, wholeFile()) {
		t.Errorf("Parse = %+v, want %+v", f, wholeFile())
	}
}

// faulty are files that are refused, with what the error must name.
func faulty() map[string]struct {
	text string
	says []string
} {
	return map[string]struct {
		text string
		says []string
	}{
		"not JSON":               {"{\"fleet\": 1,\n\"port\": 4700,\n]", []string{"not JSON", "line 3"}},
		"text after the object":  {`{"fleet":1,"port":1,"repos":{}} x`, []string{"not JSON"}},
		"nothing":                {``, []string{"not JSON"}},
		"a list":                 {`[{"fleet":1}]`, []string{`no "fleet": 1`}},
		"a number":               {`1`, []string{`no "fleet": 1`}},
		"null":                   {`null`, []string{`no "fleet": 1`}},
		"another program's":      {`{"frames":{"a.png":{"x":0}},"meta":{}}`, []string{`no "fleet": 1`}},
		"fleet is text":          {`{"fleet":"1","port":1,"repos":{}}`, []string{`no "fleet": 1`}},
		"fleet is true":          {`{"fleet":true,"port":1,"repos":{}}`, []string{`no "fleet": 1`}},
		"fleet is 2":             {`{"fleet":2,"port":1,"repos":{}}`, []string{`no "fleet": 1`}},
		"Fleet is upper case":    {`{"Fleet":1,"port":1,"repos":{}}`, []string{`no "fleet": 1`}},
		"no port":                {`{"fleet":1,"repos":{}}`, []string{"port"}},
		"port is null":           {`{"fleet":1,"port":null,"repos":{}}`, []string{"port"}},
		"port is text":           {`{"fleet":1,"port":"4700","repos":{}}`, []string{"port"}},
		"port is negative":       {`{"fleet":1,"port":-1,"repos":{}}`, []string{"port"}},
		"port is too large":      {`{"fleet":1,"port":65536,"repos":{}}`, []string{"port"}},
		"port has a fraction":    {`{"fleet":1,"port":1.5,"repos":{}}`, []string{"port"}},
		"no repos":               {`{"fleet":1,"port":1}`, []string{"repos is missing"}},
		"repos is a list":        {`{"fleet":1,"port":1,"repos":[]}`, []string{"repos", "array"}},
		"repos is null":          {`{"fleet":1,"port":1,"repos":null}`, []string{"repos must be an object", "not null"}},
		"a repo is text":         {`{"fleet":1,"port":1,"repos":{"a":"x"}}`, []string{"repos.a must be an object", "not a string"}},
		"a repo without url":     {`{"fleet":1,"port":1,"repos":{"a":{"forge":"none"}}}`, []string{"repos.a: url is empty"}},
		"a repo without forge":   {`{"fleet":1,"port":1,"repos":{"a":{"url":"/a"}}}`, []string{"repos.a: forge", "github, gitlab, gitea, none"}},
		"an unknown forge":       {`{"fleet":1,"port":1,"repos":{"a":{"url":"/a","forge":"svn"}}}`, []string{`"svn"`}},
		"an illegal key":         {`{"fleet":1,"port":1,"repos":{"a/b":{"url":"/a","forge":"none"}}}`, []string{"a/b", "slash"}},
		"a null branch":          {`{"fleet":1,"port":1,"repos":{"a":{"url":"/a","forge":"none","default_branch":null}}}`, []string{"repos.a.default_branch must be a string, not null"}},
		"a branch like a flag":   {`{"fleet":1,"port":1,"repos":{"a":{"url":"/a","forge":"none","default_branch":"--x"}}}`, []string{"repos.a: default_branch"}},
		"an api_url like a file": {`{"fleet":1,"port":1,"repos":{"a":{"url":"/a","forge":"none","api_url":"file:///x"}}}`, []string{"repos.a: api_url"}},
		"env is text":            {`{"fleet":1,"port":1,"repos":{},"env":"A"}`, []string{"env must be an array of strings, not a string"}},
		"env names Fleet's own":  {`{"fleet":1,"port":1,"repos":{},"env":["FLEET_X"]}`, []string{"FLEET_X"}},
		"a null name in env":     {`{"fleet":1,"port":1,"repos":{},"env":["A",null]}`, []string{"env[1] must be a string, not null"}},
		"a toolset without use":  {`{"fleet":1,"port":1,"repos":{},"toolsets":[{"use":"x"},{}]}`, []string{"toolsets[1]: use is empty"}},
		"command is text":        {`{"fleet":1,"port":1,"repos":{},"toolsets":[{"use":"x","command":"node"}]}`, []string{"toolsets[0].command must be an array of strings, not a string"}},
		"unknown keys": {
			`{"fleet":1,"Port":2,"port":1,"repos":{"a":{"URL":"x","url":"/a","forge":"none"}},"toolsets":[{"use":"x","uses":1}],"x":{"y":1}}`,
			[]string{"unknown keys: Port, repos.a.URL, toolsets[0].uses, x"},
		},
		"keys given twice": {
			`{"fleet":1,"port":1,"repos":{"a":{"url":"/a","forge":"none"},"a":{"url":"/b","url":"/c","forge":"none"}},"port":2}`,
			[]string{"keys given twice: port, repos.a, repos.a.url"},
		},
		"all faults at once": {
			`{"fleet":1,"port":1,"repos":{"b":{"url":"","forge":"none"},"a":{"url":"/a","forge":"x"}},"env":["1"]}`,
			[]string{"repos.a: forge", "repos.b: url is empty", "env"},
		},
		"not UTF-8": {"{\"fleet\":1,\"port\":1,\"repos\":{\"a\xff\":{\"url\":\"/a\",\"forge\":\"none\"}}}", []string{"UTF-8"}},
	}
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	for name, c := range faulty() {
		t.Run(name, func(t *testing.T) {
			_, err := atlas.Parse([]byte(c.text))
			if err == nil {
				t.Fatalf("Parse(%s) = nil, want an error", c.text)
			}
			for _, want := range c.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Parse(%s) = %q, which does not say %q", c.text, err, want)
				}
			}
			if strings.ContainsAny(err.Error(), "\n") || strings.Contains(err.Error(), "Go ") || strings.Contains(err.Error(), "atlas.") {
				t.Errorf("Parse(%s) = %q, want one line without Go's types", c.text, err)
			}
		})
	}
}

func TestOnlyAnotherProgramsFileIsForeign(t *testing.T) {
	for text, want := range map[string]bool{
		`{"frames":{}}`:            true,
		`[]`:                       true,
		`{"fleet":1,"port":"x"}`:   false,
		`{"fleet":1,`:              false,
		`{"fleet":1,"port":1,"x"}`: false,
	} {
		if _, err := atlas.Parse([]byte(text)); errors.Is(err, atlas.ErrForeign) != want {
			t.Errorf("Parse(%s) = %v, want ErrForeign: %v", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	for _, c := range faulty() {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		file, err := atlas.Parse(raw)
		if err != nil {
			return
		}
		// What Parse takes, Write can write and Read reads as the same.
		root := t.TempDir()
		if err := atlas.Write(root, file); err != nil {
			t.Fatalf("Write of what Parse took: %v", err)
		}
		again, err := atlas.Read(root)
		if err != nil || again.Port != file.Port || !reflect.DeepEqual(again.Repos, file.Repos) {
			t.Errorf("Read = %+v, %v; want %+v", again, err, file)
		}
	})
}

func TestWriteMakesAPrivateFileThatReadTakes(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, atlas.FileName)
	// An older file that others may read does not pass its mode on.
	if err := os.WriteFile(path, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := atlas.Write(root, wholeFile()); err != nil {
		t.Fatal(err)
	}
	st, err := os.Lstat(path)
	if err != nil || st.Mode() != 0o600 {
		t.Errorf("%s has mode %v (%v), want 0600", path, st.Mode(), err)
	}
	if f, err := atlas.Read(root); err != nil || !reflect.DeepEqual(f, wholeFile()) {
		t.Errorf("Read = %+v, %v; want what was written", f, err)
	}
	if left, _ := filepath.Glob(filepath.Join(root, ".*")); len(left) != 0 {
		t.Errorf("Write left %q behind", left)
	}
}

// A reader has the old file whole or the new one whole, since a rename replaces one by the other.
func TestWriteReplacesByRename(t *testing.T) {
	root := t.TempDir()
	if err := atlas.Write(root, atlas.New(1)); err != nil {
		t.Fatal(err)
	}
	old, err := os.Open(filepath.Join(root, atlas.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if err := atlas.Write(root, wholeFile()); err != nil {
		t.Fatal(err)
	}
	before, err1 := old.Stat()
	after, err2 := os.Stat(old.Name())
	if err1 != nil || err2 != nil || os.SameFile(before, after) {
		t.Errorf("Write wrote into the file that was there (%v, %v)", err1, err2)
	}
}

func TestWriteRefusesSymlinksAndUnfitFiles(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, atlas.FileName)
	target := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.WriteFile(target, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	if err := atlas.Write(root, atlas.New(1)); err == nil {
		t.Error("Write through a symbolic link = nil, want an error")
	}
	if got, err := os.ReadFile(target); string(got) != "mine" || err != nil {
		t.Errorf("the link's target holds %q (%v), want it untouched", got, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := atlas.Write(root, &atlas.File{Port: 1}); err == nil {
		t.Error("Write without a version = nil, want an error")
	}
	big := atlas.New(1)
	big.Env = []string{strings.Repeat("A", 1<<20)}
	if err := atlas.Write(root, big); err == nil {
		t.Error("Write of what Read would refuse = nil, want an error")
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused Write left a file (%v)", err)
	}
}

func TestPeopleCanReadWhatWriteWrites(t *testing.T) {
	root := t.TempDir()
	f := atlas.New(1)
	f.Repos["r&d"] = atlas.Repo{URL: "/srv/r&d", Forge: "none"}
	if err := atlas.Write(root, f); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(root, atlas.FileName))
	if err != nil || !strings.Contains(string(raw), "\n    \"r&d\": {\n      \"url\": \"/srv/r&d\"") || !strings.HasSuffix(string(raw), "}\n") {
		t.Errorf("Write wrote %s (%v), want indented JSON without escapes", raw, err)
	}
}

func TestReadOfNoFileIsErrNotExist(t *testing.T) {
	if _, err := atlas.Read(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Read = %v, want fs.ErrNotExist", err)
	}
}
