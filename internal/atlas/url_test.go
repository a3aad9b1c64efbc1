package atlas

import (
	"strings"
	"testing"
)

func cloneable() []string {
	return []string{
		"https://github.com/acme/widgets.git",
		"https://git.example:8443/acme/widgets",
		"https://[::1]:8443/acme/widgets",
		"http://localhost:3000/acme/widgets",
		"https://git.example/@scope/widgets",
		"ssh://git@github.com/acme/widgets.git",
		"ssh://git@github.com:2222/acme/widgets.git",
		"ssh+git://git@github.com/acme/widgets.git",
		"git@github.com:acme/widgets.git",
		"git@[::1]:acme/widgets.git",
		"github.com:acme/widgets.git",
		"git://git.example/widgets",
		"file:///srv/git/widgets.git",
		"/srv/git/widgets.git",
		"/srv/a:b@c/widgets",
		"/srv/a::b",
		"../widgets",
		"/srv/with blank/é.git",
	}
}

func TestURLsThatGitCanClone(t *testing.T) {
	for _, url := range cloneable() {
		if err := CheckURL(url); err != nil {
			t.Errorf("CheckURL(%q) = %v, want nil", url, err)
		}
	}
}

func uncloneable() []string {
	return []string{
		"",
		" https://github.com/a/b",
		"https://github.com/a/b\n",
		"https://github.com/a\u0085b",
		"https://github.com/a\xffb",
		"-cSECRET",
		"--upload-pack=SECRET",
		"ext::sh -c SECRET",
		"ext::ssh://host/SECRET",
		"fd::17/SECRET",
		"::SECRET",
		"ext://SECRET",
		"EXT://SECRET",
		"my-helper::https://host/SECRET",
		"https://user:SECRET@github.com/a/b",
		"https://SECRET@github.com/a/b",
		"HTTPS://SECRET@github.com/a/b",
		"https://x-access-token:SECRET@github.com/a/b",
		"https://user:p@SECRET@github.com/a/b",
		"https://user:SEC/RET@github.com/a/b",
		"https://SECRET%3Ax@github.com/a/b",
		"https://@github.com/a/b",
		"https://host?x=SECRET@github.com/a/b",
		"https://github.com/a/b?private_token=SECRET",
		"https://github.com/a/b#SECRET",
		"https://proxy.example/https://user:SECRET@github.com/a/b",
		"ftp://SECRET@host/a",
		"ssh://git:SECRET@github.com/a/b",
		"ssh://git%3aSECRET@github.com/a/b",
		"ssh://-oProxyCommand=SECRET/a",
		"git:SECRET@github.com:a/b",
	}
}

func TestURLsThatCarrySecretsOrCommands(t *testing.T) {
	for _, url := range uncloneable() {
		err := CheckURL(url)
		if err == nil {
			t.Errorf("CheckURL(%q) = nil, want an error", url)
			continue
		}
		if text := err.Error(); strings.Contains(text, "SEC") || strings.Contains(text, "RET") {
			t.Errorf("CheckURL(%q) = %q, which repeats the secret", url, text)
		}
	}
}

func TestAFilesErrorNeverRepeatsASecret(t *testing.T) {
	f := New(0)
	f.Repos["a"] = Repo{URL: "https://SECRET@github.com/a/b", Forge: "github", APIURL: "https://SECRET@api.github.com"}
	f.Repos["b"] = Repo{URL: "https://github.com/a/b", Forge: "github", APIURL: "https://api.github.com/?token=SECRET"}
	err := f.Check()
	if err == nil {
		t.Fatal("Check() = nil, want an error")
	}
	if strings.Contains(err.Error(), "SECRET") {
		t.Errorf("Check() = %q, which repeats the secret", err)
	}
	for _, place := range []string{"repos.a: url", "repos.a: api_url", "repos.b: api_url"} {
		if !strings.Contains(err.Error(), place) {
			t.Errorf("Check() = %q, which does not name %q", err, place)
		}
	}
}

func TestVariablesThatMayReachAPane(t *testing.T) {
	cases := map[string]bool{
		"ANTHROPIC_API_KEY": true, "OPENAI_API_KEY": true, "_x1": true, "HOME": true, "lower": true,
		"": false, "1A": false, "A-B": false, "A B": false, "A=B": false, "É": false, "A\n": false, "${A}": false,
		"FLEET_AGENT_MCP_TOKEN": false, "FLEET_X": false,
		"GITHUB_TOKEN": false, "GH_TOKEN": false, "GITLAB_TOKEN": false, "GITEA_TOKEN": false,
		"CLAUDECODE": false, "CODEX_THREAD_ID": false, "TMUX": false, "TMUX_PANE": false, "TMUX_TMPDIR": false,
	}
	for name, ok := range cases {
		if err := CheckEnvName(name); (err == nil) != ok {
			t.Errorf("CheckEnvName(%q) = %v, want allowed: %v", name, err, ok)
		}
	}
}

func TestEveryForgeTokenStaysOut(t *testing.T) {
	for _, name := range forgeTokens() {
		if !IsForgeToken(name) || CheckEnvName(name) == nil {
			t.Errorf("%s may reach a pane", name)
		}
	}
	if IsForgeToken("ANTHROPIC_API_KEY") {
		t.Error("IsForgeToken(ANTHROPIC_API_KEY) = true")
	}
}
