package bridge

import (
	"context"
	"strings"
	"testing"

	"fleet/api"
)

func TestTextLosesWhatNobodySeesAndNothingElse(t *testing.T) {
	cases := map[string]struct{ in, want string }{
		"plain":                      {"a b\tc\r\nd", "a b\tc\r\nd"},
		"generics":                   {"Promise<string>, <n>, a<b && c>d", "Promise<string>, <n>, a<b && c>d"},
		"quotes and entities":        {`"it's" &amp; <!-- b --> <script>`, `"it's" &amp; <!-- b --> <script>`},
		"letters of the world":       {"žluť 日本 हिन्दी עברית", "žluť 日本 हिन्दी עברית"},
		"zero-width":                 {"a\u200bb\u2060c\ufeffd\u180ee\u00adf", "abcdef"},
		"joiners between letters":    {"a\u200db\u200cc", "abc"},
		"bidi":                       {"a\u202eb\u2066c\u2069\u200e\u200f\u061cd", "abcd"},
		"tags":                       {"hi\U000e0001\U000e0069\U000e0067\U000e007f!", "hi!"},
		"fillers":                    {"a\u3164b\u115fc\uffa0d", "abcd"},
		"controls":                   {"a\x1b[31mb\x00c\u0085d\x7fe", "a[31mbcde"},
		"invalid UTF-8":              {"a\xffb\u200b", "a\ufffdb"},
		"a family":                   {"👩\u200d👩\u200d👧\u200d👦!", "👩\u200d👩\u200d👧\u200d👦!"},
		"skin and profession":        {"👩🏽\u200d💻 🧑🏿\u200d⚕\ufe0f", "👩🏽\u200d💻 🧑🏿\u200d⚕\ufe0f"},
		"a heart on fire":            {"❤\ufe0f\u200d🔥", "❤\ufe0f\u200d🔥"},
		"a flag":                     {"🏳\ufe0f\u200d🌈 🇩🇪", "🏳\ufe0f\u200d🌈 🇩🇪"},
		"a keycap and a text sign":   {"1\ufe0f\u20e3 ☎\ufe0e", "1\ufe0f\u20e3 ☎\ufe0e"},
		"bytes behind an emoji":      {"😀\ufe00\ufe01\ufe02\U000e0101", "😀\ufe00"},
		"joiner without a picture":   {"👩\u200d x\u200d👩", "👩 x👩"},
		"two joiners":                {"👩\u200d\u200d👧", "👩\u200d👧"},
		"selector at the start":      {"\ufe0fa", "a"},
		"a Han character's shape":    {"葛\U000e0100", "葛\U000e0100"},
		"its selector after another": {"a\U000e0100", "a"},
		"separators of lines":        {"a\u2028b\u00a0c", "a\u2028b\u00a0c"},
		"nothing":                    {"", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := CleanText(c.in); got != c.want {
				t.Errorf("CleanText(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestEveryTextOfAnAnswerIsCleanAndReadable(t *testing.T) {
	const dirty, clean = "a<b> & \u200b\u202e\"c\"\U000e0041", "a<b> & \"c\""
	f := &fakeForge{}
	f.issue = func(_ context.Context, number int, _ string) (*api.IssueView, error) {
		return &api.IssueView{
			Kind: "issue", Note: dirty, Milestone: dirty, Assignees: []string{dirty},
			IssueItem: api.IssueItem{Number: number, Title: dirty, Labels: []string{dirty}, Author: api.Author{Login: dirty}},
			Text:      api.Text{Body: dirty},
			Thread: api.Thread{Incomplete: []string{dirty}, Comments: []api.Comment{{
				ID: 1, Kind: api.KindComment, Author: api.Author{Login: dirty}, Text: api.Text{Body: dirty}, Path: dirty,
			}}},
		}, nil
	}
	b := openBench(t, "", f)
	raw, err := b.do(Request{Op: OpIssueView, Repo: "widgets", Number: 7})
	v := decode[api.IssueView](t, raw, err)
	c := v.Thread.Comments[0]
	for _, got := range []string{
		v.Note, v.Milestone, v.Assignees[0], v.Title, v.Labels[0], v.Author.Login, v.Body, v.Incomplete[0], c.Author.Login, c.Body, c.Path,
	} {
		if got != clean {
			t.Errorf("a text of the view is %q, want %q", got, clean)
		}
	}
	if !strings.Contains(string(raw), `a<b> & `) {
		t.Errorf("the JSON escapes what needs no escape: %s", raw)
	}
}

func TestCredentialsAreSeenAndMasked(t *testing.T) {
	long := "ghs_" + strings.Repeat("eyJhbGciOi.", 30) + strings.Repeat("x-_Y9", 40)
	secrets := map[string]string{
		"personal token":     "ghp_" + strings.Repeat("a1B2", 9),
		"oauth token":        "gho_" + strings.Repeat("a1B2", 9),
		"installation token": "ghs_" + strings.Repeat("a1B2", 9),
		"installation JWT":   long,
		"fine-grained token": "github_pat_" + strings.Repeat("a", 22) + "_" + strings.Repeat("b", 59),
		"gitlab token":       "glpat-" + strings.Repeat("x", 20),
		"aws key":            "AKIAIOSFODNN7EXAMPLE",
		"private key":        "-----BEGIN RSA PRIVATE KEY-----\nMIIEow==\n-----END RSA PRIVATE KEY-----",
		"cut private key":    "-----BEGIN OPENSSH PRIVATE KEY-----",
		"jwt":                "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
		"workspace token":    "fleet_" + strings.Repeat("aB3-_", 9)[:43],
		"ship credential":    mintShipCredential().Reveal(),
		"npm token":          "npm_" + strings.Repeat("q", 36),
		"model key":          "sk-ant-" + strings.Repeat("q", 40),
	}
	for name, s := range secrets {
		t.Run(name, func(t *testing.T) {
			text := "TOKEN=" + s + "\nand on"
			if !holdsCredential(text) || !holdsCredential("("+s+")") || !holdsCredential(s) {
				t.Errorf("holdsCredential sees no credential in %q", text)
			}
			if got := MaskCredentials(text); got != "TOKEN=[masked]\nand on" {
				t.Errorf("MaskCredentials(%q) = %q", text, got)
			}
		})
	}
	if got := MaskCredentials("https://bot:hunter2@git.example/x and ghp_" + strings.Repeat("a", 36)); got != "https://bot:[masked]@git.example/x and [masked]" {
		t.Errorf("MaskCredentials = %q", got)
	}
}

func TestOrdinaryTextIsNoCredential(t *testing.T) {
	for name, text := range map[string]string{
		"a commit":        "fixed in 3f786850e387550fdab836ed7e6dc881de23001b",
		"a prefix":        "tokens start with ghp_, ghs_ or github_pat_ and glpat-",
		"a certificate":   "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
		"a long name":     "fleet_a_very_long_name_of_a_function_in_a_test_file_somewhere",
		"an address":      "https://github.com/acme/widgets/pull/7#issuecomment-1",
		"a placeholder":   "postgres://user:$PASSWORD@db/x and https://me:<token>@host and redis://:***@h",
		"user and host":   "ssh://git@github.com:22/acme/widgets.git",
		"a port and mail": "see http://localhost:8080/ and mail a@b.example",
		"a uuid":          "01890a5d-ac96-774b-bcce-b302099a8057",
		"in a word":       "task-ant-" + strings.Repeat("q", 40),
	} {
		t.Run(name, func(t *testing.T) {
			if holdsCredential(text) || MaskCredentials(text) != text {
				t.Errorf("%q is taken for a credential: %q", text, MaskCredentials(text))
			}
		})
	}
}

func TestHiddenCredentialsAreSeen(t *testing.T) {
	token := "ghp_" + strings.Repeat("a1B2", 9)
	each := func(write func(r rune) string) string {
		var b strings.Builder
		for _, r := range token {
			b.WriteString(write(r))
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"behind a letter":      "x" + token,
		"variation selectors":  each(func(r rune) string { return string(r) + "\ufe0f" }),
		"ideographic ones":     each(func(r rune) string { return string(r) + "\U000e0100" }),
		"zero-width":           each(func(r rune) string { return string(r) + "\u200b" }),
		"fullwidth letters":    each(func(r rune) string { return string(r - 0x21 + 0xFF01) }),
		"a fullwidth sign":     strings.Replace(token, "_", "\uff3f", 1),
		"all of them together": "é" + strings.Replace(token, "_", "\ufe0f\uff3f\u2060", 1),
	} {
		t.Run(name, func(t *testing.T) {
			if !holdsCredential("see " + text + " there") {
				t.Errorf("holdsCredential sees no credential in %q", text)
			}
			if got := MaskCredentials("sée " + text + " there"); !strings.HasPrefix(got, "sée ") || !strings.HasSuffix(got, "[masked] there") {
				t.Errorf("MaskCredentials gives %q", got)
			}
		})
	}
}
