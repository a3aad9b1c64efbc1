//go:build e2e

package e2e

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fleet/internal/bridge/bridgetest"
	"fleet/internal/e2e/shipyard"
)

// forge is a stand-in GitHub with the repository acme/widgets, on which a pull request from the
// branch fix has failed its checks. An atlas has it registered as "widgets".
type forge struct {
	gh    *bridgetest.GitHub
	repo  *bridgetest.Repo
	pull  *bridgetest.Pull
	token string // a credential of the account fleet-bot
	host  string
}

const (
	remote   = "https://github.example/acme/widgets.git"
	failure  = "--- FAIL: TestBolts (0.01s): got 7 bolts, want 8"
	identity = "fleet-bot"
)

// newForge starts the stand-in and registers its repository, which git fetches from a directory.
// Mark is in the words of the forge.
func newForge(t *testing.T, f *fleet, token, mark string) *forge {
	t.Helper()
	g := &forge{gh: bridgetest.NewGitHub(t), token: token}
	g.gh.AddToken(token, identity)
	g.host = strings.TrimPrefix(g.gh.URL(), "http://")
	g.repo = g.gh.Repo("acme/widgets")
	g.repo.Issue("the bolts are loose, says " + mark)
	g.pull = g.repo.Pull("Tighten the bolts").From("fix").Body("as " + mark + " wants")
	run := g.repo.Run("CI", g.pull.Head())
	run.Job("lint")
	run.Job("test (ubuntu)").Fails("go test", "ok  	acme/nuts\n"+failure+"\nFAIL")

	origin := f.origin(t, "widgets", "fix")
	f.command(t, "git", "config", "--global", "url."+origin+".insteadOf", remote)
	f.ship(t, "repo", "add", "widgets", remote, "--forge", "github", "--api-url", g.gh.URL())
	return g
}

// personalToken and installationToken have the two lengths that GitHub's tokens have.
func personalToken() string     { return "ghp_" + letters(36) }
func installationToken() string { return "ghs_" + letters(516) }

func letters(n int) string {
	text := ""
	for len(text) < n {
		text += rand.Text()
	}
	return text[:n]
}

// signedAlone holds what the forge was asked to the promise that the token is the credential of
// its API and goes nowhere else.
func (g *forge) signedAlone(t *testing.T) {
	t.Helper()
	requests := g.gh.Requests()
	for _, r := range requests {
		if r.Host != g.host || r.Header.Get("Authorization") != "Bearer "+g.token {
			t.Errorf("%s %s at %s was not signed with the token as it should be", r.Method, r.Path, r.Host)
		}
		r.Header = r.Header.Clone()
		r.Header.Del("Authorization")
		if n := secretsOf(g.token).in([]byte(fmt.Sprint(r))); n != "" {
			t.Errorf("%s %s holds %s beside its signature", r.Method, r.Path, n)
		}
	}
	logs := g.gh.LogRequests()
	for _, r := range logs {
		if n := secretsOf(g.token).in([]byte(fmt.Sprint(r))); n != "" || r.Header.Get("Authorization") != "" {
			t.Errorf("the host of the logs was sent %s, and the signature %q", n, r.Header.Get("Authorization"))
		}
	}
	if len(requests) == 0 || len(logs) == 0 {
		t.Errorf("the API got %d requests, and the host of the logs %d; want some", len(requests), len(logs))
	}
}

// nobody is a user without rights, under whom a bridge of its own process runs.
const nobody = 65534

// ownBridge is a bridge of its own process, under a user of its own.
type ownBridge struct {
	f      *fleet
	dir    string // with everything of that user's
	secret string // the file with the forge's token
	config string
	daemon *shipyard.Daemon
}

// startBridge serves acme/widgets to whoever has a grant. It skips the test where no other user
// can be had.
func startBridge(t *testing.T, f *fleet, g *forge) *ownBridge {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can start a bridge under another user")
	}
	// The user has to reach the programs and its own directory.
	for _, dir := range []string{f.dir, shipyard.Built()} {
		if err := os.Chmod(dir, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	b := &ownBridge{f: f, dir: mkdir(t, f.dir, "other")}
	state := mkdir(t, b.dir, "state")
	b.secret, b.config = filepath.Join(b.dir, "token"), filepath.Join(b.dir, "bridge.yaml")
	writeFile(t, b.secret, 0o600, g.token+"\n")
	writeFile(t, b.config, 0o600, fmt.Sprintf("listen: %s\ndir: %s\n"+
		"repos:\n  widgets: {url: %q, forge: github, api_url: %q}\n"+
		"credentials:\n  - {host: %q, file: %s}\n", b.url(), state, remote, g.gh.URL(), g.host, b.secret))
	for _, path := range []string{b.dir, state, b.secret, b.config} {
		if err := os.Chown(path, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	b.daemon = shipyard.Launch(t, b.command("serve"))
	t.Cleanup(func() { b.daemon.Stop(t) })
	b.daemon.AwaitReady(t)
	return b
}

func (b *ownBridge) url() string { return "unix://" + filepath.Join(b.dir, "ships.sock") }

// command is a ship bridge command of the bridge's user.
func (b *ownBridge) command(args ...string) *exec.Cmd {
	c := exec.Command(shipyard.Built("ship"), slices.Concat([]string{"bridge"}, args, []string{"--config", b.config})...)
	c.Dir, c.Env = "/", []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.dir}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return c
}
