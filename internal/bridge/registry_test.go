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
		"https":              {Registered{"github", "https://github.com/acme/widgets.git", "", Policy{}}, "acme/widgets", "https://api.github.com"},
		"no .git":            {Registered{"github", "https://github.com/acme/widgets", "", Policy{}}, "acme/widgets", "https://api.github.com"},
		"a slash":            {Registered{"github", "https://github.com/acme/widgets/", "", Policy{}}, "acme/widgets", "https://api.github.com"},
		"ssh":                {Registered{"github", "ssh://git@github.com:22/acme/widgets.git", "", Policy{}}, "acme/widgets", "https://api.github.com"},
		"scp":                {Registered{"github", "git@github.com:acme/widgets.git", "", Policy{}}, "acme/widgets", "https://api.github.com"},
		"scp with a slash":   {Registered{"github", "git@github.com:/acme/widgets.git", "", Policy{}}, "acme/widgets", "https://api.github.com"},
		"scp without a user": {Registered{"github", "github.com:acme/widgets", "", Policy{}}, "acme/widgets", "https://api.github.com"},
		"an alias of ssh":    {Registered{"github", "git@work:acme/widgets.git", "https://api.github.com/", Policy{}}, "acme/widgets", "https://api.github.com"},
		"git protocol":       {Registered{"github", "git://github.com/acme/widgets.git", "", Policy{}}, "acme/widgets", "https://api.github.com"},
		"large letters":      {Registered{"github", "https://GitHub.com/Acme/Widgets", "", Policy{}}, "Acme/Widgets", "https://api.github.com"},
		"dots in the name":   {Registered{"github", "https://github.com/acme/acme.github.io", "", Policy{}}, "acme/acme.github.io", "https://api.github.com"},
		"enterprise":         {Registered{"github", "https://ghe.example/acme/widgets", "", Policy{}}, "acme/widgets", "https://ghe.example/api/v3"},
		"enterprise, given":  {Registered{"github", "https://ghe.example/acme/widgets", "https://ghe.example/api/v3/", Policy{}}, "acme/widgets", "https://ghe.example/api/v3"},
		"data residency":     {Registered{"github", "https://acme.ghe.com/acme/widgets", "", Policy{}}, "acme/widgets", "https://api.acme.ghe.com"},
		"nested groups":      {Registered{"gitlab", "https://gitlab.com/acme/sub/team/widgets.git", "", Policy{}}, "acme/sub/team/widgets", "https://gitlab.com/api/v4"},
		"gitea":              {Registered{"gitea", "https://codeberg.org/acme/widgets", "", Policy{}}, "acme/widgets", "https://codeberg.org/api/v1"},
		"below a path":       {Registered{"gitea", "https://example.org/git/acme/widgets", "https://example.org/git/api/v1", Policy{}}, "acme/widgets", "https://example.org/git/api/v1"},
		"loopback":           {Registered{"github", "http://127.0.0.1:3000/acme/widgets", "http://127.0.0.1:3000", Policy{}}, "acme/widgets", "http://127.0.0.1:3000"},
		"one segment":        {Registered{"github", "https://github.com/acme", "", Policy{}}, "", ""},
		"three segments":     {Registered{"github", "https://github.com/acme/widgets/tree", "", Policy{}}, "", ""},
		"dots":               {Registered{"github", "https://github.com/acme/..", "", Policy{}}, "", ""},
		"escaped dots":       {Registered{"github", "https://github.com/acme/%2e%2e", "", Policy{}}, "", ""},
		"escaped slash":      {Registered{"github", "https://github.com/acme/a%2Fb", "", Policy{}}, "", ""},
		"a question mark":    {Registered{"github", "git@github.com:acme/wid?gets", "", Policy{}}, "", ""},
		"a path":             {Registered{"github", "/srv/git/acme/widgets", "", Policy{}}, "", ""},
		"a file":             {Registered{"github", "file:///srv/git/acme/widgets", "https://api.github.com", Policy{}}, "", ""},
		"an api with a user": {Registered{"github", "https://github.com/acme/widgets", "https://u@api.github.com", Policy{}}, "", ""},
		"no forge":           {Registered{"none", "https://github.com/acme/widgets", "", Policy{}}, "", ""},
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
