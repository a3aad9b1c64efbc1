package atlas

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOnlyTheHomeDirectoryItselfIsExempt(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{".git", "fleet", "src/repo/.git", "src/repo/fleet"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// A home that is reached through a link is the same one.
	link := filepath.Join(t.TempDir(), "home")
	if err := os.Symlink(home, link); err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(home, "src/repo")
	cases := map[string]struct{ dir, home, want string }{
		"the home":                 {home, home, ""},
		"below the home":           {filepath.Join(home, "fleet"), home, ""},
		"a checkout below":         {repo, home, repo},
		"below a checkout":         {filepath.Join(repo, "fleet"), home, repo},
		"another's home":           {filepath.Join(home, "fleet"), filepath.Dir(home), home},
		"no home":                  {filepath.Join(home, "fleet"), "", home},
		"a home through a link":    {filepath.Join(home, "fleet"), link, ""},
		"a directory through link": {filepath.Join(link, "fleet"), home, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := checkout(c.dir, func() string { return c.home }); got != c.want {
				t.Errorf("checkout(%s) with home %s = %q, want %q", c.dir, c.home, got, c.want)
			}
		})
	}
}

func TestTheSystemsHomeIsNotTheEnvironments(t *testing.T) {
	want := systemHome()
	t.Setenv("HOME", t.TempDir())
	if got := systemHome(); got != want {
		t.Errorf("systemHome() = %q with another $HOME, want %q", got, want)
	}
}
