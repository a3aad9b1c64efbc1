package bridgetest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fleet/api"
	"fleet/internal/bridge"
	"fleet/internal/bridge/bridgetest"
)

// narrowed starts the bridge with a bridge.yaml whose app is installed for widgets and gadgets with
// every permission, and asks for tokens as the further lines say.
func (s *scene) narrowed(lines func(widgets int64) string) *bridgetest.App {
	s.Helper()
	app, err := s.gh.App("fleet-app")
	if err != nil {
		s.Fatal(err)
	}
	installation := app.Install(s.repo, everything...)
	app.Add(installation, s.gh.Repo("acme/gadgets"))
	key := filepath.Join(tempDir(s.T), "app.pem")
	if err := os.WriteFile(key, app.Key(), 0o600); err != nil {
		s.Fatal(err)
	}
	const file = `listen: 127.0.0.1:4800
dir: /nowhere
repos:
  widgets: {url: "https://github.example/acme/widgets.git", forge: github, api_url: "%s"}
  gadgets: {url: "https://github.example/acme/gadgets.git", forge: github, api_url: "%[1]s"}
credentials:
  - host: "%s"
    app: {id: %s, installation: %d, key_file: "%s"%s}
`
	f, err := bridge.ParseConfig(fmt.Appendf(nil, file, s.gh.URL(), strings.TrimPrefix(s.gh.URL(), "http://"), app.ID(), installation, key, lines(s.repo.ID())))
	if err != nil {
		s.Fatal(err)
	}
	configured, err := f.HostCredentials()
	if err != nil {
		s.Fatal(err)
	}
	c := s.config
	c.Registry = func() map[string]bridge.Registered { return f.Repos }
	if c.Credentials, err = bridge.NewCredentialStore(bridge.CredentialStoreConfig{Configured: configured}); err != nil {
		s.Fatal(err)
	}
	s.openWith(c)
	return app
}

// mintAsked gives what the last token was asked for with.
func (s *scene) mintAsked() (asked struct {
	Permissions   map[string]string
	RepositoryIDs []int64 `json:"repository_ids"`
},
) {
	s.Helper()
	for _, r := range s.gh.Requests() {
		if strings.HasSuffix(r.Path, "/access_tokens") {
			if err := json.Unmarshal([]byte(r.Body), &asked); err != nil {
				s.Fatal(err)
			}
		}
	}
	return asked
}

// The stand-in holds each request to GitHub's own description of it.
func TestAnAppsTokensAreNarrowedAsTheConfigurationSays(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"to nothing, unless told": func(s *scene) {
			s.narrowed(func(int64) string { return "" })
			get[api.RepoInfo](s, bridge.Request{Op: bridge.OpInfo, Repo: "gadgets"})
			if asked := s.mintAsked(); asked.Permissions != nil || asked.RepositoryIDs != nil {
				s.Errorf("asked for %+v, want all there is", asked)
			}
		},
		"to repositories: another of the same installation is not seen": func(s *scene) {
			s.narrowed(func(widgets int64) string { return fmt.Sprintf(", repository_ids: [%d]", widgets) })
			get[api.RepoInfo](s, info)
			if asked := s.mintAsked(); len(asked.RepositoryIDs) != 1 || asked.RepositoryIDs[0] != s.repo.ID() {
				s.Errorf("asked for %+v", asked)
			}
			s.refused(bridge.Request{Op: bridge.OpInfo, Repo: "gadgets"}, api.NotFound, "repo_not_visible")
		},
		"to permissions: what the installation may and they don't is refused by the forge": func(s *scene) {
			s.narrowed(func(int64) string { return ", permissions: {issues: read, pull_requests: read, contents: read}" })
			i := s.repo.Issue("Crash")
			get[api.IssueView](s, viewOf(bridge.OpIssueView, i.Number()))
			if asked := s.mintAsked(); len(asked.Permissions) != 3 || asked.Permissions["issues"] != "read" {
				s.Errorf("asked for %+v", asked)
			}
			s.refused(comment(i.Number(), "hello"), api.Forbidden, "permission", "issues:write")
		},
		"to what the installation lacks: that is said, and nothing else is tried": func(s *scene) {
			app := s.narrowed(func(int64) string { return ", repository_ids: [999999]" })
			s.refused(info, api.Unauthenticated, "app_permissions")
			if app.Minted() != 0 {
				s.Errorf("%d tokens were minted", app.Minted())
			}
		},
	})
}
