//go:build e2e

package clients

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"fleet/internal/bridge/bridgetest"
	"fleet/internal/e2e/shipyard"
)

// remote is how the forge's repository is registered; git fetches it from a directory.
const remote = "https://github.example/acme/widgets.git"

// fleet is a ship with the repository "widgets" of a stand-in forge, made for one test.
type fleet struct {
	dir   string
	atlas string
	env   []string // of every program: nothing of the developer's but PATH
	gate  *gate
	repo  *bridgetest.Repo
}

// startFleet serves an atlas of its own until the test ends.
func startFleet(t *testing.T) *fleet {
	t.Helper()
	dir := shipyard.Dir(t)
	f := &fleet{dir: dir, atlas: filepath.Join(dir, "atlas")}
	gh := bridgetest.NewGitHub(t)
	f.repo, f.gate = gh.Repo("acme/widgets"), newGate(t, gh.URL())
	f.env = []string{
		"HOME=" + f.mkdir(t, "home"), "PATH=" + os.Getenv("PATH"), "SHELL=/bin/sh", "LANG=C.UTF-8", shipyard.QuickEnd,
		"GIT_CONFIG_NOSYSTEM=1", "GITHUB_TOKEN=" + gh.Token(),
	}
	f.ship(t, "init", "--port", "0", f.atlas)
	origin := filepath.Join(dir, "origin")
	f.command(t, "git", "init", "-q", "-b", "main", origin)
	f.command(t, "git", "-C", origin, "-c", "user.name=e2e", "-c", "user.email=e2e@localhost", "commit", "-q", "--allow-empty", "-m", "begin")
	f.command(t, "git", "config", "--global", "url."+origin+".insteadOf", remote)
	f.ship(t, "repo", "add", "widgets", remote, "--forge", "github", "--api-url", f.gate.url)
	f.serve(t)
	return f
}

func (f *fleet) mkdir(t *testing.T, elem ...string) string {
	t.Helper()
	dir := filepath.Join(append([]string{f.dir}, elem...)...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// ship runs an operator's command on the atlas, which must succeed.
func (f *fleet) ship(t *testing.T, args ...string) []byte {
	t.Helper()
	return f.command(t, shipyard.Built("ship"), append([]string{"--atlas", f.atlas}, args...)...)
}

func (f *fleet) command(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*shipyard.Patience)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	var out, errs bytes.Buffer
	c.Env, c.Stdout, c.Stderr = f.env, &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("%s %q: %v\n%s%s", filepath.Base(name), args, err, &out, &errs)
	}
	return out.Bytes()
}

// serve starts the ship. It ends with the test, and so does its tmux.
func (f *fleet) serve(t *testing.T) {
	t.Helper()
	c := exec.Command(shipyard.Built("ship"), "--atlas", f.atlas, "serve")
	c.Env = f.env
	ship := shipyard.Launch(t, c)
	t.Cleanup(func() {
		ship.Stop(t)
		shipyard.EndTmux(t, filepath.Join(f.atlas, ".ship", "tmux.sock"))
	})
	ship.AwaitReady(t)
}
