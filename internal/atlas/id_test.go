package atlas_test

import (
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"fleet/internal/atlas"
)

func TestNames(t *testing.T) {
	long := strings.Repeat("é", 64)
	cases := map[string]struct {
		name string
		ok   bool
	}{
		"plain":                  {"api-gateway", true},
		"blanks":                 {"my repo", true},
		"dots":                   {"a.b..c", true},
		"a command substitution": {"#(touch x)", true},
		"a format":               {"#{pane_id}", true},
		"percent":                {"%", true},
		"an escape":              {"%41", true},
		"not ASCII":              {"é b", true},
		"128 bytes":              {long, true},
		"129 bytes":              {long + "x", false},
		"empty":                  {"", false},
		"dot":                    {".", false},
		"two dots":               {"..", false},
		"leading dot":            {".git", false},
		"leading dash":           {"-rf", false},
		"slash":                  {"a/b", false},
		"backslash":              {`a\b`, false},
		"newline":                {"a\nb", false},
		"escape character":       {"a\x1bb", false},
		"NUL":                    {"a\x00b", false},
		"DEL":                    {"a\x7fb", false},
		"next line, U+0085":      {"a\u0085b", false},
		"not UTF-8":              {"a\xffb", false},
		"dash and dot inside":    {"a-.b", true},
	}
	for title, c := range cases {
		t.Run(title, func(t *testing.T) {
			if err := atlas.CheckName(c.name); (err == nil) != c.ok {
				t.Errorf("CheckName(%q) = %v, want legal: %v", c.name, err, c.ok)
			}
			_, err1 := atlas.NewID(c.name, "w")
			_, err2 := atlas.NewID("r", c.name)
			if (err1 == nil) != c.ok || (err2 == nil) != c.ok {
				t.Errorf("NewID with %q: as repo %v, as workspace %v; want legal: %v", c.name, err1, err2, c.ok)
			}
		})
	}
}

func TestParseIDTakesWhatStringWrites(t *testing.T) {
	for _, id := range ids() {
		if got, err := atlas.ParseID(id.String()); got != id || err != nil {
			t.Errorf("ParseID(%q) = %v, %v; want %v", id.String(), got, err, id)
		}
	}
	for _, s := range []string{"", "a", "a/", "/b", "a/b/c", "a/.."} {
		if got, err := atlas.ParseID(s); err == nil {
			t.Errorf("ParseID(%q) = %v, want an error", s, got)
		}
	}
}

// The names are what a tmux of an earlier ship holds: a ship that computed others would adopt
// nothing.
func TestSessionNamesNeverChange(t *testing.T) {
	cases := map[atlas.ID]string{
		{Repo: "api-gateway", Name: "fix-auth"}: "ws-b1f2d23265f55460702b8bf944c82eec38173b39e4327b82095d558bf1c8990d",
		{Repo: "a", Name: "b"}:                  "ws-e9cf93482183e9d742e4166206757719d3186d7c32f99529bf9dc390ab7001e5",
	}
	for id, want := range cases {
		if got := id.SessionName(); got != want {
			t.Errorf("%v.SessionName() = %s, want %s", id, got, want)
		}
	}
}

func TestSessionNamesTellNeighboursApart(t *testing.T) {
	seen := map[string]atlas.ID{}
	for _, id := range []atlas.ID{{"a", "bc"}, {"ab", "c"}, {"a", "b/c"}, {"a/b", "c"}, {"", "abc"}, {"abc", ""}} {
		name := id.SessionName()
		if other, ok := seen[name]; ok {
			t.Errorf("%v and %v share the session name %s", id, other, name)
		}
		seen[name] = id
	}
}

func ids() []atlas.ID {
	return []atlas.ID{
		{Repo: "api-gateway", Name: "fix-auth"},
		{Repo: "é b", Name: "%41"},
		{Repo: "#(touch x)", Name: `a'b"c`},
		{Repo: "a$b`c;d", Name: "~e!f*g?h"},
		{Repo: "100%", Name: "a+b&c=d:e@f"},
	}
}

func TestTagIsQuotableASCII(t *testing.T) {
	for _, id := range ids() {
		tag := id.Tag()
		if i := strings.IndexFunc(tag, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("'\"\\#$;`", r) }); i >= 0 {
			t.Errorf("%v.Tag() = %q holds %q", id, tag, tag[i])
		}
		if strings.Count(tag, "/") != 1 {
			t.Errorf("%v.Tag() = %q, want one slash", id, tag)
		}
	}
}

func FuzzTagRoundTrip(f *testing.F) {
	for _, id := range ids() {
		f.Add(id.Repo, id.Name)
	}
	f.Fuzz(func(t *testing.T, repo, name string) {
		id, err := atlas.NewID(repo, name)
		if err != nil {
			return
		}
		if got, err := atlas.ParseTag(id.Tag()); got != id || err != nil {
			t.Errorf("ParseTag(%q) = %q, %v; want %q", id.Tag(), got, err, id)
		}
		u, err := url.Parse("http://127.0.0.1:4700" + id.MCPPath())
		if err != nil {
			t.Fatalf("url.Parse of %q: %v", id.MCPPath(), err)
		}
		if want := "/workspaces/" + repo + "/" + name + "/mcp"; u.Path != want || u.EscapedPath() != id.MCPPath() || u.RawQuery != "" || u.Fragment != "" {
			t.Errorf("the path %q is read as %q, escaped %q; want %q", id.MCPPath(), u.Path, u.EscapedPath(), want)
		}
	})
}

func TestForeignTagsAreRefused(t *testing.T) {
	for _, tag := range []string{"", "a", "a/", "/b", "a/b/c", "a/%2e%2e", "a%2Fb/c", "%zz/b", "a/%", "a/b%0a"} {
		if id, err := atlas.ParseTag(tag); err == nil {
			t.Errorf("ParseTag(%q) = %q, want an error", tag, id)
		}
	}
}

func TestShellWordsComeBackFromAShell(t *testing.T) {
	for _, id := range append(ids(), atlas.ID{Repo: "*", Name: "{a,b}"}, atlas.ID{Repo: "~root", Name: "$HOME"}) {
		out, err := exec.Command("sh", "-c", "printf %s "+id.Shell()).Output()
		if err != nil || string(out) != id.String() {
			t.Errorf("the shell reads %s as %q (%v), want %q", id.Shell(), out, err, id)
		}
	}
	if got := (atlas.ID{Repo: "api-gateway", Name: "fix.auth_2"}).Shell(); got != "api-gateway/fix.auth_2" {
		t.Errorf("Shell() = %s, want no quotes where none are needed", got)
	}
}
