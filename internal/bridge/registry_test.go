package bridge

import (
	"testing"

	"fleet/api"
)

func TestARepositorysPathAndAPIComeFromItsURL(t *testing.T) {
	cases := map[string]struct {
		r         Registered
		path, api string // "": refused
	}{
		"https":              {Registered{"github", "https://github.com/acme/widgets.git", ""}, "acme/widgets", "https://api.github.com"},
		"no .git":            {Registered{"github", "https://github.com/acme/widgets", ""}, "acme/widgets", "https://api.github.com"},
		"a slash":            {Registered{"github", "https://github.com/acme/widgets/", ""}, "acme/widgets", "https://api.github.com"},
		"ssh":                {Registered{"github", "ssh://git@github.com:22/acme/widgets.git", ""}, "acme/widgets", "https://api.github.com"},
		"scp":                {Registered{"github", "git@github.com:acme/widgets.git", ""}, "acme/widgets", "https://api.github.com"},
		"scp with a slash":   {Registered{"github", "git@github.com:/acme/widgets.git", ""}, "acme/widgets", "https://api.github.com"},
		"scp without a user": {Registered{"github", "github.com:acme/widgets", ""}, "acme/widgets", "https://api.github.com"},
		"an alias of ssh":    {Registered{"github", "git@work:acme/widgets.git", "https://api.github.com/"}, "acme/widgets", "https://api.github.com"},
		"git protocol":       {Registered{"github", "git://github.com/acme/widgets.git", ""}, "acme/widgets", "https://api.github.com"},
		"large letters":      {Registered{"github", "https://GitHub.com/Acme/Widgets", ""}, "Acme/Widgets", "https://api.github.com"},
		"dots in the name":   {Registered{"github", "https://github.com/acme/acme.github.io", ""}, "acme/acme.github.io", "https://api.github.com"},
		"enterprise":         {Registered{"github", "https://ghe.example/acme/widgets", ""}, "acme/widgets", "https://ghe.example/api/v3"},
		"enterprise, given":  {Registered{"github", "https://ghe.example/acme/widgets", "https://ghe.example/api/v3/"}, "acme/widgets", "https://ghe.example/api/v3"},
		"data residency":     {Registered{"github", "https://acme.ghe.com/acme/widgets", ""}, "acme/widgets", "https://api.acme.ghe.com"},
		"nested groups":      {Registered{"gitlab", "https://gitlab.com/acme/sub/team/widgets.git", ""}, "acme/sub/team/widgets", "https://gitlab.com/api/v4"},
		"gitea":              {Registered{"gitea", "https://codeberg.org/acme/widgets", ""}, "acme/widgets", "https://codeberg.org/api/v1"},
		"below a path":       {Registered{"gitea", "https://example.org/git/acme/widgets", "https://example.org/git/api/v1"}, "acme/widgets", "https://example.org/git/api/v1"},
		"loopback":           {Registered{"github", "http://127.0.0.1:3000/acme/widgets", "http://127.0.0.1:3000"}, "acme/widgets", "http://127.0.0.1:3000"},
		"one segment":        {Registered{"github", "https://github.com/acme", ""}, "", ""},
		"three segments":     {Registered{"github", "https://github.com/acme/widgets/tree", ""}, "", ""},
		"dots":               {Registered{"github", "https://github.com/acme/..", ""}, "", ""},
		"escaped dots":       {Registered{"github", "https://github.com/acme/%2e%2e", ""}, "", ""},
		"escaped slash":      {Registered{"github", "https://github.com/acme/a%2Fb", ""}, "", ""},
		"a question mark":    {Registered{"github", "git@github.com:acme/wid?gets", ""}, "", ""},
		"a path":             {Registered{"github", "/srv/git/acme/widgets", ""}, "", ""},
		"a file":             {Registered{"github", "file:///srv/git/acme/widgets", "https://api.github.com"}, "", ""},
		"an api with a user": {Registered{"github", "https://github.com/acme/widgets", "https://u@api.github.com"}, "", ""},
		"no forge":           {Registered{"none", "https://github.com/acme/widgets", ""}, "", ""},
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
		"a": {"github", "https://github.com/acme/a", ""}, "b": {"none", "/srv/b", ""}, "c": {"github", "/srv/c", ""},
	})
	if len(all) != 1 || all[0].Forge != "github" || all[0].API.Host != "api.github.com" {
		t.Errorf("Registrations = %+v, want the one on GitHub", all)
	}
}
