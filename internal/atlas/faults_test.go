package atlas_test

import (
	"fmt"
	"strings"
	"testing"

	"fleet/internal/atlas"
)

// atlasWith is an atlas whose repository widgets has these further keys.
func atlasWith(keys string) string {
	return `{"fleet":1,"port":1,"repos":{"widgets":{"url":"/a","forge":"none",` + keys + `}}}`
}

func faultsOf(t *testing.T, text string) string {
	t.Helper()
	_, err := atlas.Parse([]byte(text))
	if err == nil {
		t.Fatalf("Parse(%s) = nil, want an error", text)
	}
	return err.Error()
}

func TestAWrongTypeIsNamedWithItsRepositoryAndWhatWouldBeRight(t *testing.T) {
	for keys, want := range map[string]string{
		`"trusted_authors_only":"yes"`:      "repos.widgets.trusted_authors_only must be true or false, not a string",
		`"trusted_authors_only":null`:       "repos.widgets.trusted_authors_only must be true or false, not null",
		`"trusted_authors":{"a":1}`:         "repos.widgets.trusted_authors must be an array of strings, not an object",
		`"mass_mentions":true`:              "repos.widgets.mass_mentions must be one of refuse, allow, not a boolean",
		`"default_branch":1`:                "repos.widgets.default_branch must be a string, not a number",
		`"api_url":["https://example.org"]`: "repos.widgets.api_url must be a string, not an array",
	} {
		if got := faultsOf(t, atlasWith(keys)); got != want {
			t.Errorf("Parse with %s = %q, want %q", keys, got, want)
		}
	}
}

func TestAllFaultsAreNamedAtOnceWhateverTheirKind(t *testing.T) {
	const text = `{"fleet":1,"port":"4700","colour":"red","env":["A",null,"FLEET_X"],"repos":{
		"a":{"url":7,"forge":"none","branch":"main"},
		"b":{"url":"/b","url":"/b","forge":"svn","trusted_authors_only":"yes","trusted_authors":["ghost",1]},
		"node.js":{"url":"","forge":null}}, "toolsets":[{"use":"x","roots":"/"},{}]}`
	want := strings.Join([]string{
		"keys given twice: repos.b.url",
		"unknown keys: colour, repos.a.branch",
		"env[1] must be a string, not null",
		"repos.a.url must be a string, not a number",
		"repos.b.trusted_authors_only must be true or false, not a string",
		"repos.b.trusted_authors[1] must be a string, not a number",
		`repos."node.js".forge must be one of github, gitlab, gitea, none, not null`,
		"toolsets[0].roots must be an array of strings, not a string",
		"port is missing or not a whole number from 0 to 65535",
		`repos.b: forge "svn" is none of github, gitlab, gitea, none`,
		"repos.b: trusted_authors[0]: ghost stands for every deleted account and can't be trusted",
		`repos."node.js": url is empty`,
		"env: FLEET_X is Fleet's own and cannot be passed on",
		"toolsets[1]: use is empty",
	}, "; ")
	if got := faultsOf(t, text); got != want {
		t.Errorf("Parse says\n%s\nwant\n%s", strings.ReplaceAll(got, "; ", "\n"), strings.ReplaceAll(want, "; ", "\n"))
	}
}

func TestAKeyCannotBreakTheLineOfItsFault(t *testing.T) {
	got := faultsOf(t, `{"fleet":1,"port":1,"\u001b[2J\n":1,"repos":{"a\nb":{"url":1,"forge":""}}}`)
	if strings.ContainsAny(got, "\n\x1b") || !strings.Contains(got, `repos."a\nb".url must be a string`) {
		t.Errorf("Parse = %q, want one line with the key in quotation marks", got)
	}
}

func TestAGreatManyFaultsAreCounted(t *testing.T) {
	var unknown, wrong []string
	for i := range 60 {
		unknown = append(unknown, fmt.Sprintf(`"k%02d":1`, i))
		wrong = append(wrong, "1")
	}
	got := faultsOf(t, `{"fleet":1,"port":1,"repos":{},"env":[`+strings.Join(wrong, ",")+`],`+strings.Join(unknown, ",")+`}`)
	for _, want := range []string{"k49, and 10 more; ", "env[48] must be", "; and 11 more"} {
		if !strings.Contains(got, want) {
			t.Errorf("Parse = %q, which does not say %q", got, want)
		}
	}
	if strings.Contains(got, "k50") || strings.Contains(got, "env[49]") {
		t.Errorf("Parse = %q, want the rest only counted", got)
	}
}

func TestTrustedAuthorsWithoutTrustedAuthorsOnlyIsAFault(t *testing.T) {
	const want = "repos.widgets: trusted_authors_only must be true where trusted_authors names somebody: without it nothing is withheld, and trusted_authors does nothing"
	for _, keys := range []string{`"trusted_authors":["octocat"]`, `"trusted_authors":["octocat"],"trusted_authors_only":false`} {
		if got := faultsOf(t, atlasWith(keys)); got != want {
			t.Errorf("Parse with %s = %q, want %q", keys, got, want)
		}
	}
	// Which of the two it is to be cannot be told where its value is of another type.
	if got := faultsOf(t, atlasWith(`"trusted_authors":["octocat"],"trusted_authors_only":"yes"`)); strings.Contains(got, "names somebody") {
		t.Errorf("Parse = %q, want the wrong type alone", got)
	}
	for _, keys := range []string{`"trusted_authors":[]`, `"trusted_authors":["octocat"],"trusted_authors_only":true`} {
		if _, err := atlas.Parse([]byte(atlasWith(keys))); err != nil {
			t.Errorf("Parse with %s = %v, want nil", keys, err)
		}
	}
}
