package bridgetest_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fleet/api"
	"fleet/internal/bridge"
	"fleet/internal/bridge/bridgetest"
)

// asApp starts the bridge as a GitHub App's installation.
func (s *scene) asApp(permissions ...string) *bridgetest.App {
	s.Helper()
	app, err := s.gh.App("fleet-app")
	if err != nil {
		s.Fatal(err)
	}
	key := filepath.Join(tempDir(s.T), "app.pem")
	if err := os.WriteFile(key, app.Key(), 0o600); err != nil {
		s.Fatal(err)
	}
	at, err := url.Parse(s.gh.URL())
	if err != nil {
		s.Fatal(err)
	}
	credential, err := bridge.NewApp(bridge.AppConfig{API: at, Issuer: app.ID(), Installation: app.Install(s.repo, permissions...), KeyFile: key})
	if err != nil {
		s.Fatal(err)
	}
	c := s.config
	c.Credentials, err = bridge.NewCredentialStore(bridge.CredentialStoreConfig{
		Configured: []bridge.HostCredential{{Host: strings.TrimPrefix(s.gh.URL(), "http://"), Credential: credential}},
	})
	if err != nil {
		s.Fatal(err)
	}
	s.openWith(c)
	return app
}

func TestAGitHubAppsInstallation(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"one token serves everything, as the App's bot": func(s *scene) {
			app := s.asApp(everything...)
			p := s.repo.Private("somebody").Pull("Fix")
			s.repo.Run("CI", p.Head()).Job("test").Fails("Run it", "boom")
			get[api.PullView](s, viewOf(bridge.OpPRView, p.Number()))
			get[api.Checks](s, checksOf(p.Number()))
			s.failedLogs(p, 1)
			get[api.Written](s, pullComment(p.Number(), "hello"))
			get[api.Written](s, review(p.Number(), "APPROVE", ""))
			if got := p.Reviews(); len(got) != 1 || !strings.Contains(got[0], "by fleet-app[bot]") || app.Minted() != 1 {
				s.Errorf("reviews %q, %d tokens minted; want one of each", got, app.Minted())
			}
		},
		"a token that ends early is minted anew, once, and the write lands once": func(s *scene) {
			app := s.asApp(everything...)
			i := s.repo.Issue("Crash")
			get[api.RepoInfo](s, info)
			app.RevokeTokens()
			get[api.Written](s, comment(i.Number(), "hello"))
			if got := i.Texts(); len(got) != 1 || app.Minted() != 2 {
				s.Errorf("comments %q, %d tokens minted; want one and two", got, app.Minted())
			}
		},
		"a lost answer is found, though an installation may not ask who it is": func(s *scene) {
			s.asApp(everything...)
			i := s.repo.Issue("Crash")
			s.gh.When("POST", postedComments).Times(1).CutAfter(0)
			get[api.Written](s, comment(i.Number(), "hello"))
			if got := i.Texts(); len(got) != 1 {
				s.Errorf("comments %q", got)
			}
		},
		"a permission that the installation lacks is named": func(s *scene) {
			s.asApp("issues:read", "pull_requests:read", "contents:read")
			p := s.repo.Pull("Fix")
			s.refused(pullComment(p.Number(), "hello"), api.Forbidden, "permission", "pull_requests:write")
		},
		"a repository that it is not installed for is not shown": func(s *scene) {
			s.asApp(everything...)
			s.gh.Repo("acme/gadgets")
			s.refused(bridge.Request{Op: bridge.OpInfo, Repo: "gadgets"}, api.NotFound, "repo_not_visible", "GitHub App installation")
		},
		"an installation that is gone says so": func(s *scene) {
			s.asApp(everything...)
			s.gh.When("POST", "/app/installations/*/access_tokens").Answer(404, nil, `{"message":"Not Found","documentation_url":"https://docs.github.com"}`)
			_, e := s.do(info)
			if e == nil || e.Code != api.Unauthenticated || e.Hint == "" {
				s.Errorf("info: %v", e)
			}
		},
		"neither its token nor its JSON web token shows anywhere": func(s *scene) {
			s.asApp(everything...)
			i := s.repo.Issue("Crash")
			answers := text(s.do(info)) + text(s.do(comment(i.Number(), "hello"))) + text(s.do(viewOf(bridge.OpIssueView, 99)))
			var secrets []string
			for _, r := range s.gh.Requests() {
				_, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
				secrets = append(secrets, secret)
			}
			for where, trace := range s.traces() {
				answers += where + trace
			}
			for _, secret := range secrets {
				if len(secret) < 200 || strings.Contains(answers, tail(secret)) {
					s.Errorf("a credential of %d characters shows, or there was none", len(secret))
				}
			}
		},
	})
}
