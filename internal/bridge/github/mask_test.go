package github

import (
	"strings"
	"testing"
)

func TestCredentialsInLogsAreMaskedAndTheirNamesStay(t *testing.T) {
	jwt := "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + strings.Repeat("s", 43)
	long := "ghs_" + strings.Repeat("Ab1-_.", 86) // 520 characters, as installation tokens are now
	cases := map[string]struct{ line, secret, stays string }{
		"classic token":         {"using ghp_" + strings.Repeat("a1", 18) + " now", strings.Repeat("a1", 18), "using "},
		"token behind a letter": {"x[31mghp_" + strings.Repeat("a1", 18), strings.Repeat("a1", 18), "x[31m"},
		"coloured token":        {"\x1b[31mghp_" + strings.Repeat("a1", 18) + "\x1b[0m", strings.Repeat("a1", 18), ""},
		"a token cut short":     {"using ghp_abcdefgh12", "abcdefgh12", "using "},
		"fine-grained token":    {"GH=github_pat_" + strings.Repeat("A1b2", 20) + ";", "A1b2A1b2", "GH="},
		"installation token":    {"token=" + long + " end", long[4:40], "token="},
		"gitlab token":          {"glpat-" + strings.Repeat("x", 20), strings.Repeat("x", 20), ""},
		"cloud key":             {"id AKIAIOSFODNN7EXAMPLE.", "IOSFODNN7", "id "},
		"cloud secret":          {"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtn", "aws_secret_access_key = "},
		"signed token":          {"bearer " + jwt, "zdWIiOiIx", "bearer "},
		"address with password": {"git clone https://ann:hunter22@example.com/x.git", "hunter22", "@example.com/x.git"},
		"address with token":    {"https://x-access-token-abcdef@example.com/x.git", "abcdef", "@example.com/x.git"},
		"header":                {"Authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpw", "Authorization: Basic "},
		"variable":              {"DEPLOY_TOKEN=abcdef123456", "abcdef123456", "DEPLOY_TOKEN="},
		"signed address":        {"GET https://blob.example/log?se=1&sig=abcdef123456%3D", "abcdef123456", "https://blob.example/log"},
		"key on one line":       {`KEY="-----BEGIN RSA PRIVATE KEY-----\nMIIEabcd\n-----END RSA PRIVATE KEY-----"`, "MIIEabcd", "KEY="},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			job, log := failedJob(c.line, "Error: x")
			words, _, _ := excerptOf(t, job, log)
			if strings.Contains(words, c.secret) || !strings.Contains(words, masked) || !strings.Contains(words, c.stays) {
				t.Errorf("%q came out in\n%s", c.line, words)
			}
		})
	}
}

func TestTokenAcrossTheEndOfALineIsMasked(t *testing.T) {
	token := "ghp_" + strings.Repeat("q7", 18)
	for cut := range len(token) + 2 {
		job, log := failedJob(strings.Repeat("x", maxLine-cut-1) + " " + token + strings.Repeat(" y", 9000))
		if words, _, _ := excerptOf(t, job, log); strings.Contains(words, "q7q7") {
			t.Fatalf("a token shows when the line is cut %d bytes into it", cut)
		}
	}
}

func TestPrivateKeyOverManyLinesIsMasked(t *testing.T) {
	lines := []string{"-----BEGIN OPENSSH PRIVATE KEY-----"}
	for range 30 {
		lines = append(lines, strings.Repeat("b3BlbnNzaC1rZXk", 4))
	}
	cases := map[string][]string{
		"whole":          append(lines[:len(lines):len(lines)], "-----END OPENSSH PRIVATE KEY-----", "after: shown"),
		"without an end": append(lines[:len(lines):len(lines)], "after: shown"),
	}
	for name, lines := range cases {
		t.Run(name, func(t *testing.T) {
			job, log := failedJob(lines...)
			words, _, _ := excerptOf(t, job, log)
			if strings.Contains(words, "b3Blbn") || !strings.Contains(words, "after: shown") {
				t.Errorf("got\n%s", words)
			}
		})
	}
}

func TestWordsAreNotTakenForCredentials(t *testing.T) {
	for _, line := range []string{
		"SyntaxError: Unexpected token: '<'", "tests/token_test.go:12: token = 7, want 8", "error: secret santa is missing",
		"at https://example.com/a@b", "ssh://git@github.com/acme/widgets", "import eyJ from 'x'",
	} {
		if got := maskText(line); got != line {
			t.Errorf("%q became %q", line, got)
		}
	}
}
