//go:build e2e && linux

package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"fleet/internal/atlas"
	"fleet/internal/bridge/bridgetest"
	"fleet/internal/e2e/shipyard"
)

// world is what one seed runs in: an atlas with its ship, a bridge of its own process, a forge,
// and the links between them.
type world struct {
	dir, atlas, bridgeDir string
	env                   []string

	gh     *bridgetest.GitHub
	issue  *bridgetest.Issue
	links  map[string]*link
	ship   *daemon
	bridge *daemon
	disks  []string // what was mounted
	names  []string // of the workspaces

	hung chan struct{} // closed when a request was never answered
	hang func()        // closes it

	mu       sync.Mutex
	heard    []*words
	problems []string
	secrets  map[string]string // by what they are
}

const remote = "https://github.example/acme/widgets.git"

// problem notes what must not be.
func (w *world) problem(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.problems) < 40 {
		w.problems = append(w.problems, fmt.Sprintf(format, args...))
	}
}

func newWorld() *world {
	w := &world{secrets: map[string]string{}, links: map[string]*link{}, hung: make(chan struct{})}
	w.hang = sync.OnceFunc(func() { close(w.hung) })
	return w
}

func (w *world) hear(who string) *words {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := &words{who: who}
	w.heard = append(w.heard, said)
	return said
}

func (w *world) secret(what, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.secrets[text] = what
}

// build makes the world of p. What is there when it fails, close ends.
func (w *world) build(p *plan) error {
	// Short, since sockets lie in it.
	dir, err := os.MkdirTemp("", "ff")
	if err != nil {
		return err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	w.dir, w.atlas, w.bridgeDir = dir, filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, name := range []string{"a", "b", "h", "t", "k"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return err
		}
	}
	if err := w.mount(p); err != nil {
		return err
	}
	w.env = []string{
		"HOME=" + filepath.Join(dir, "h"), "TMPDIR=" + filepath.Join(dir, "t"), "PATH=" + os.Getenv("PATH"),
		"SHELL=/bin/sh", "LANG=C.UTF-8", shipyard.QuickEnd, "TERM=xterm", "GIT_CONFIG_NOSYSTEM=1",
	}
	config := fmt.Sprintf("[url %q]\n\tinsteadOf = %s\n", os.Getenv(origin), remote)
	if err := os.WriteFile(filepath.Join(dir, "h", ".gitconfig"), []byte(config), 0o600); err != nil {
		return err
	}
	if err := w.buildForge(); err != nil {
		return err
	}
	if err := w.buildBridge(); err != nil {
		return err
	}
	return w.buildShip(p)
}

func (w *world) buildForge() (err error) {
	if w.gh, err = bridgetest.Open(); err != nil {
		return err
	}
	w.secret("the forge's token", w.gh.Token())
	w.issue = w.gh.Repo("acme/widgets").Issue("the bolts are loose")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	w.links["forge"] = openLink(l, "tcp", strings.TrimPrefix(w.gh.URL(), "http://"))
	return nil
}

func (w *world) forgeHost() string { return w.links["forge"].listener.Addr().String() }

func (w *world) buildBridge() error {
	config, token := filepath.Join(w.dir, "k", "bridge.yaml"), filepath.Join(w.dir, "k", "forge-token")
	text := fmt.Sprintf("listen: unix://%s\ndir: %s\nrepos:\n  widgets: {url: %q, forge: github, api_url: %q}\ncredentials:\n  - {host: %q, file: %s}\n",
		filepath.Join(w.bridgeDir, "ships.sock"), w.bridgeDir, remote, "http://"+w.forgeHost(), w.forgeHost(), token)
	err := errors.Join(os.WriteFile(token, []byte(w.gh.Token()+"\n"), 0o600), os.WriteFile(config, []byte(text), 0o600))
	if err != nil {
		return err
	}
	w.bridge = &daemon{world: w, name: "bridge", args: []string{"bridge", "serve", "--config", config}, env: w.env}
	if err := w.bridge.start(); err != nil {
		return err
	}
	l, err := net.Listen("unix", filepath.Join(w.dir, "k", "link.sock"))
	if err != nil {
		return err
	}
	w.links["bridge"] = openLink(l, "unix", filepath.Join(w.bridgeDir, "ships.sock"))
	out, err := w.reveal(program("ship"), "bridge", "grant", "laptop", "--repo", "widgets", "--verbs", "read,comment", "--json", "--config", config)
	if err != nil {
		return err
	}
	var granted struct{ Credential string }
	if err := json.Unmarshal([]byte(out), &granted); err != nil || granted.Credential == "" {
		return fmt.Errorf("ship bridge grant printed %q: %w", out, err)
	}
	w.secret("the ship's credential", granted.Credential)
	return os.WriteFile(filepath.Join(w.dir, "k", "ship-credential"), []byte(granted.Credential+"\n"), 0o600)
}

func (w *world) buildShip(p *plan) error {
	if _, err := w.operator("init", "--port", "0", w.atlas); err != nil {
		return err
	}
	if _, err := w.operator("repo", "add", "widgets", remote, "--forge", "github", "--api-url", "http://"+w.forgeHost()); err != nil {
		return err
	}
	w.ship = &daemon{
		world: w, name: "ship", args: []string{"serve", "--background", "--atlas", w.atlas},
		env: append(append([]string(nil), w.env...), "FLEET_BRIDGE_URL=unix://"+filepath.Join(w.dir, "k", "link.sock"),
			"FLEET_BRIDGE_CREDENTIAL_FILE="+filepath.Join(w.dir, "k", "ship-credential")),
	}
	if err := w.ship.start(); err != nil {
		return err
	}
	for i := range p.workspaces {
		name := fmt.Sprintf("w%d", i)
		w.names = append(w.names, name)
		if _, err := w.operator("create", "widgets/"+name); err != nil {
			return err
		}
		if err := w.activate(i); err != nil {
			return err
		}
	}
	return nil
}

// activate makes a session for a workspace, and takes down its token as a secret.
func (w *world) activate(i int) error {
	_, err := w.operator("activate", "widgets/"+w.names[i], "--", "sleep", "1000")
	if err != nil && !strings.Contains(err.Error(), "active") {
		return err
	}
	vars, err := w.session(i)
	if err == nil && vars[atlas.TokenVariable] == "" {
		err = fmt.Errorf("the session of %s has no token", w.names[i])
	}
	return err
}

// session reads the environment of a workspace's session.
func (w *world) session(i int) (map[string]string, error) {
	id, err := atlas.NewID("widgets", w.names[i])
	if err != nil {
		return nil, err
	}
	out, err := w.reveal("tmux", "-u", "-N", "-S", filepath.Join(w.atlas, ".ship", atlas.TmuxSocket), "show-environment", "-t", "="+id.SessionName())
	vars := map[string]string{}
	for line := range strings.Lines(out) {
		if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok {
			vars[name] = value
		}
	}
	if token := vars[atlas.TokenVariable]; token != "" {
		w.secret("the token of "+w.names[i], token)
	}
	return vars, err
}

func (w *world) workspace(i int) string { return filepath.Join(w.atlas, "widgets", w.names[i]) }
