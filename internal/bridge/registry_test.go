package bridge

import (
	"testing"

	"fleet/api"
)

func repoAt(forge, url, apiURL string) Registered {
	return Registered{Forge: forge, URL: url, APIURL: apiURL}
}

func TestARepositorysPathAndAPIComeFromItsURL(t *testing.T) {
	cases := map[string]struct {
		r         Registered
		path, api string // "": refused
	}{
		"https":              {repoAt("github", "https://github.com/acme/widgets.git", ""), "acme/widgets", "https://api.github.com"},
		"no .git":            {repoAt("github", "https://github.com/acme/widgets", ""), "acme/widgets", "https://api.github.com"},
		"a slash":            {repoAt("github", "https://github.com/acme/widgets/", ""), "acme/widgets", "https://api.github.com"},
		"ssh":                {repoAt("github", "ssh://git@github.com:22/acme/widgets.git", ""), "acme/widgets", "https://api.github.com"},
		"scp":                {repoAt("github", "git@github.com:acme/widgets.git", ""), "acme/widgets", "https://api.github.com"},
		"scp with a slash":   {repoAt("github", "git@github.com:/acme/widgets.git", ""), "acme/widgets", "https://api.github.com"},
		"scp without a user": {repoAt("github", "github.com:acme/widgets", ""), "acme/widgets", "https://api.github.com"},
		"an alias of ssh":    {repoAt("github", "git@work:acme/widgets.git", "https://api.github.com/"), "acme/widgets", "https://api.github.com"},
		"git protocol":       {repoAt("github", "git://github.com/acme/widgets.git", ""), "acme/widgets", "https://api.github.com"},
		"large letters":      {repoAt("github", "https://GitHub.com/Acme/Widgets", ""), "Acme/Widgets", "https://api.github.com"},
		"dots in the name":   {repoAt("github", "https://github.com/acme/acme.github.io", ""), "acme/acme.github.io", "https://api.github.com"},
		"enterprise":         {repoAt("github", "https://ghe.example/acme/widgets", ""), "acme/widgets", "https://ghe.example/api/v3"},
		"enterprise, given":  {repoAt("github", "https://ghe.example/acme/widgets", "https://ghe.example/api/v3/"), "acme/widgets", "https://ghe.example/api/v3"},
		"data residency":     {repoAt("github", "https://acme.ghe.com/acme/widgets", ""), "acme/widgets", "https://api.acme.ghe.com"},
		"nested groups":      {repoAt("gitlab", "https://gitlab.com/acme/sub/team/widgets.git", ""), "acme/sub/team/widgets", "https://gitlab.com/api/v4"},
		"gitea":              {repoAt("gitea", "https://codeberg.org/acme/widgets", ""), "acme/widgets", "https://codeberg.org/api/v1"},
		"below a path":       {repoAt("gitea", "https://example.org/git/acme/widgets", "https://example.org/git/api/v1"), "acme/widgets", "https://example.org/git/api/v1"},
		"loopback":           {repoAt("github", "http://127.0.0.1:3000/acme/widgets", "http://127.0.0.1:3000"), "acme/widgets", "http://127.0.0.1:3000"},
		"one segment":        {repoAt("github", "https://github.com/acme", ""), "", ""},
		"three segments":     {repoAt("github", "https://github.com/acme/widgets/tree", ""), "", ""},
		"dots":               {repoAt("github", "https://github.com/acme/..", ""), "", ""},
		"escaped dots":       {repoAt("github", "https://github.com/acme/%2e%2e", ""), "", ""},
		"escaped slash":      {repoAt("github", "https://github.com/acme/a%2Fb", ""), "", ""},
		"a question mark":    {repoAt("github", "git@github.com:acme/wid?gets", ""), "", ""},
		"a path":             {repoAt("github", "/srv/git/acme/widgets", ""), "", ""},
		"a file":             {repoAt("github", "file:///srv/git/acme/widgets", "https://api.github.com"), "", ""},
		"an api with a user": {repoAt("github", "https://github.com/acme/widgets", "https://u@api.github.com"), "", ""},
		"no forge":           {repoAt("none", "https://github.com/acme/widgets", ""), "", ""},
		"nothing":            {Registered{}, "", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			repo, err := c.r.repo("widgets")
			if c.path == "" {
				if e, ok := err.(*api.Error); !ok || e.Code != api.Unsupported || e.Hint == "" {
					t.Errorf("%+v, %v; want unsupported, with what to do", repo, err)
				}
				return
			}
			if err != nil || repo.Path != c.path || repo.APIURL.String() != c.api || repo.Name != "widgets" {
				t.Errorf("path %q at %v (%v), want %q at %q", repo.Path, repo.APIURL, err, c.path, c.api)
			}
		})
	}
}

func TestRegistrationsLeaveOutWhatCannotBeReached(t *testing.T) {
	all := Registrations(map[string]Registered{
		"a": {Forge: "github", URL: "https://github.com/acme/a"}, "b": {Forge: "none", URL: "/srv/b"}, "c": {Forge: "github", URL: "/srv/c"},
	})
	if len(all) != 1 || all[0].Forge != "github" || all[0].API.Host != "api.github.com" {
		t.Errorf("Registrations = %+v, want the one on GitHub", all)
	}
}
