package atlas

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// compile reads the schema that people's editors use.
func compile(t *testing.T) *jsonschema.Schema {
	t.Helper()
	file, err := os.Open("../../api/atlas.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("atlas.schema.json", text); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("atlas.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// withRepo is an atlas with one repository of this key and object.
func withRepo(t *testing.T, key string, repo map[string]any) string {
	return `{"fleet":1,"port":0,"repos":{` + asJSON(t, key) + `:` + asJSON(t, repo) + `}}`
}

// files are texts that are fit and unfit by one detail each.
func files(t *testing.T) (good, bad []string) {
	top := func(rest string) string { return `{"fleet":1,"port":4700,"repos":{}` + rest + `}` }
	good = []string{
		top(``), top(`,"env":[]`), top(`,"env":["ANTHROPIC_API_KEY","_x1"]`), top(`,"toolsets":[]`),
		top(`,"toolsets":[{"use":"builtin:suspec","command":["node","x"],"roots":["/srv"]},{"use":"/x.json","command":[]}]`),
		`{"fleet":1,"port":65535,"repos":{}}`,
	}
	bad = []string{
		`{}`, `[]`, `null`, `1`, `"x"`, `{"frames":{},"meta":{}}`,
		`{"fleet":2,"port":1,"repos":{}}`, `{"fleet":"1","port":1,"repos":{}}`, `{"fleet":true,"port":1,"repos":{}}`,
		`{"port":1,"repos":{}}`, `{"fleet":1,"repos":{}}`, `{"fleet":1,"port":1}`,
		`{"fleet":1,"port":-1,"repos":{}}`, `{"fleet":1,"port":65536,"repos":{}}`, `{"fleet":1,"port":1.5,"repos":{}}`,
		`{"fleet":1,"port":"1","repos":{}}`, `{"fleet":1,"port":null,"repos":{}}`,
		`{"fleet":1,"port":1,"repos":[]}`, `{"fleet":1,"port":1,"repos":null}`, `{"fleet":1,"port":1,"repos":{"a":1}}`,
		top(`,"x":1`), top(`,"Port":1`), top(`,"env":"A"`), top(`,"env":null`), top(`,"env":[null]`), top(`,"env":[1]`),
		top(`,"toolsets":{}`), top(`,"toolsets":null`), top(`,"toolsets":[null]`), top(`,"toolsets":["x"]`), top(`,"toolsets":[{}]`),
		top(`,"toolsets":[{"use":""}]`), top(`,"toolsets":[{"use":1}]`), top(`,"toolsets":[{"use":"x","command":"node"}]`),
		top(`,"toolsets":[{"use":"x","roots":[1]}]`), top(`,"toolsets":[{"use":"x","roots":null}]`), top(`,"toolsets":[{"use":"x","y":1}]`),
	}
	repo := func(change map[string]any) string {
		r := map[string]any{"url": "/a", "forge": "none"}
		if change["trusted_authors"] != nil { // so that the list is what may be at fault
			r["trusted_authors_only"] = true
		}
		for k, v := range change {
			r[k] = v
		}
		return withRepo(t, "a", r)
	}
	for _, forge := range Forges() {
		good = append(good, repo(map[string]any{"forge": forge}))
	}
	for _, forge := range []any{"", "GitHub", "svn", nil, 1} {
		bad = append(bad, repo(map[string]any{"forge": forge}))
	}
	for _, branch := range []any{"main", "feature/é", "a-b"} {
		good = append(good, repo(map[string]any{"default_branch": branch}))
	}
	for _, branch := range []any{"-b", "--x", "a b", "a\nb", nil, 1} {
		bad = append(bad, repo(map[string]any{"default_branch": branch}))
	}
	for _, address := range []any{"https://api.github.com", "http://localhost:3000/api/v1", "HTTPS://x/"} {
		good = append(good, repo(map[string]any{"api_url": address}))
	}
	for _, address := range []any{"api.github.com", "ftp://x", "https://", "https://u@x", "https://x?t=1", "https://x#t", "file:///x", nil} {
		bad = append(bad, repo(map[string]any{"api_url": address}))
	}
	for key, values := range map[string][]any{
		"trusted_authors_only": {true, false}, "trusted_authors": {[]any{}, []any{"octocat", "dependabot[bot]"}},
		"mass_mentions": {Refuse, Allow}, "closing_keywords": {Refuse, Allow},
	} {
		for _, value := range values {
			good = append(good, repo(map[string]any{key: value}))
		}
	}
	for key, values := range map[string][]any{
		"trusted_authors_only": {"true", 1, nil, []any{}}, "mass_mentions": {"no", true, nil}, "closing_keywords": {"neutralise", false, nil},
		"trusted_authors": {"octocat", nil, []any{nil}, []any{1}, []any{""}, []any{"@octocat"}, []any{"ghost"}, []any{"Ghost"}, []any{"a", "a"}, []any{"a b"}, []any{strings.Repeat("x", 101)}},
	} {
		for _, value := range values {
			bad = append(bad, repo(map[string]any{key: value}))
		}
	}
	for _, only := range []any{true, false} {
		good = append(good, repo(map[string]any{"trusted_authors": []any{}, "trusted_authors_only": only}))
	}
	idle := map[string]any{"url": "/a", "forge": "none", "trusted_authors": []any{"octocat"}}
	bad = append(bad, withRepo(t, "a", idle), repo(map[string]any{"trusted_authors": []any{"octocat"}, "trusted_authors_only": false}))
	for _, key := range []string{"a", "é b", "#(touch x)", "%41", "a.b", "a-b", strings.Repeat("x", 128), "'\"$"} {
		good = append(good, withRepo(t, key, map[string]any{"url": "/a", "forge": "none"}))
	}
	for _, key := range []string{"", ".", "..", ".a", "-a", "a/b", `a\b`, "a\nb", "a\u0085b", "a\u007fb", strings.Repeat("x", 129)} {
		bad = append(bad, withRepo(t, key, map[string]any{"url": "/a", "forge": "none"}))
	}
	bad = append(bad, withRepo(t, "a", map[string]any{"url": "/a"}), withRepo(t, "a", map[string]any{"forge": "none"}), repo(map[string]any{"x": 1}))
	return good, bad
}

func expectAgreement(t *testing.T, schema *jsonschema.Schema, text string, ok bool) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	_, parsed := Parse([]byte(text))
	validated := schema.Validate(value)
	if (parsed == nil) != ok || (validated == nil) != ok {
		t.Errorf("%s: Parse says %v and the schema %v; want fit: %v", text, parsed, validated, ok)
	}
}

func TestTheSchemaAndParseAgree(t *testing.T) {
	schema := compile(t)
	good, bad := files(t)
	for _, text := range good {
		expectAgreement(t, schema, text, true)
	}
	for _, text := range bad {
		expectAgreement(t, schema, text, false)
	}
}

func TestTheSchemaAndParseAgreeOnVariables(t *testing.T) {
	schema := compile(t)
	expect := func(name string, ok bool) {
		t.Helper()
		expectAgreement(t, schema, `{"fleet":1,"port":1,"repos":{},"env":[`+asJSON(t, name)+`]}`, ok)
	}
	for _, name := range slices.Concat(forgeTokens(), identities(), []string{"", "1A", "A-B", "A=B", "É", "A\n", "FLEET_X"}) {
		expect(name, false)
	}
	for _, name := range []string{"A", "a1", "MY_FLEET_X", "GITHUB_TOKENS", "MY_TMUX"} {
		expect(name, true)
	}
}

func TestTheSchemaAndParseAgreeOnAddresses(t *testing.T) {
	schema := compile(t)
	for ok, addresses := range map[bool][]string{true: cloneable(), false: uncloneable()} {
		for _, address := range addresses {
			if strings.ToValidUTF8(address, "") != address {
				continue // JSON cannot hold it
			}
			expectAgreement(t, schema, withRepo(t, "a", map[string]any{"url": address, "forge": "none"}), ok)
		}
	}
}
