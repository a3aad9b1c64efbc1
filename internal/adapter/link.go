package adapter

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fleet/internal/atlas"
	"fleet/internal/token"
)

// sessionTimeout bounds one look into the workspace's tmux session.
const sessionTimeout = 2 * time.Second

// target is where calls go and what they show there. It never changes; a link replaces it.
type target struct {
	url    *url.URL
	port   int
	token  token.Token
	bearer []string // the Authorization header; nil where no token is known
	source string   // where the token comes from, for people
}

// link is the way from a workspace to its ship. It is safe for concurrent use; whatever must be
// looked up is looked up once for all calls that need it.
type link struct {
	config Config
	now    atomic.Pointer[target]

	// What the adapter is bound to for life.
	root string
	id   atlas.ID

	mu   sync.Mutex
	port int // as atlas.json had it last
}

func newLink(c Config, place atlas.Place) *link {
	return &link{config: c, root: place.Root, id: place.ID, port: place.Port}
}

// target gives where to send a call. It fails where no token may be sent.
func (l *link) target(ctx context.Context) (*target, error) {
	if t := l.now.Load(); t != nil {
		return t, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.now.Load(); t != nil {
		return t, nil
	}
	return l.resolve(ctx)
}

// resolve finds port and token anew and keeps them.
func (l *link) resolve(ctx context.Context) (*target, error) {
	agrees, err := l.environmentAgrees()
	if err != nil {
		return nil, err
	}
	secret, source := l.inherited()
	var session map[string]string
	if secret.IsZero() || !agrees {
		session, err = l.session(ctx)
	}
	if secret.IsZero() {
		secret, source = fromSession(session)
	}
	// Without a token nothing is at stake.
	if !agrees && !secret.IsZero() && !l.confirmed(session) {
		return nil, l.unconfirmed(session, err)
	}
	return l.keep(secret, source)
}

// confirmed says that the workspace's session tells the port that atlas.json has. A repository
// can hold an atlas.json, but no live socket: then atlas.json is the one that the ship wrote.
func (l *link) confirmed(session map[string]string) bool {
	return portOf(session[atlas.URLVariable]) == l.port
}

// unconfirmed is for people whose atlas.json was edited under a running ship, and for agents in
// somebody's tree with an atlas.json that no ship of ours wrote.
func (l *link) unconfirmed(session map[string]string, cause error) error {
	file := filepath.Join(l.root, atlas.FileName)
	inherited, _ := l.config.LookupEnv(atlas.URLVariable)
	named := portOf(session[atlas.URLVariable])
	if named < 0 {
		named = portOf(inherited)
	}
	if named < 0 {
		return &failure{cause: cause, message: fmt.Sprintf(
			"%s says port %d, but neither %s nor a session of %s confirms it; no token was sent. "+
				"Ask the operator whether this atlas is theirs, and if so to run: ship activate %s",
			file, l.port, atlas.URLVariable, l.id, l.id.Shell())}
	}
	return &failure{cause: cause, message: fmt.Sprintf(
		"%s says port %d, but the ship of %s told its session port %d; no token was sent. "+
			"Ask the operator to restart the ship (ship down, then ship up), or to set the port in %s back to %d",
		file, l.port, l.id, named, file, named)}
}

// needsSession says that the environment does not tell enough to send a call.
func (l *link) needsSession() bool {
	secret, _ := l.inherited()
	agrees, err := l.environmentAgrees()
	return err == nil && (secret.IsZero() || !agrees)
}

// inherited is the token that the harness passed on. One that it scrubbed, or left as "${…}",
// is none.
func (l *link) inherited() (token.Token, string) {
	text, _ := l.config.LookupEnv(atlas.TokenVariable)
	if secret, err := token.Parse(text); err == nil {
		return secret, "the environment (" + atlas.TokenVariable + ")"
	}
	return token.Token{}, ""
}

func fromSession(vars map[string]string) (token.Token, string) {
	if secret, err := token.Parse(vars[atlas.TokenVariable]); err == nil {
		return secret, "the workspace's tmux session"
	}
	return token.Token{}, ""
}

// environmentAgrees says that the URL which the ship put into the session, where the harness
// passed it on, has our port. One that names another workspace is an error; one that is missing or
// was left as "${…}" says nothing, and agrees with nothing: a harness may pass on the token alone.
func (l *link) environmentAgrees() (bool, error) {
	named, _ := l.config.LookupEnv(atlas.URLVariable)
	if named == "" || strings.HasPrefix(named, "$") || strings.Contains(named, "{") {
		return false, nil
	}
	u, err := url.Parse(named)
	if err != nil || u.EscapedPath() != l.id.MCPPath() {
		return false, &failure{message: fmt.Sprintf(
			"the working directory is in the workspace %s of %s, but %s names another one; no token was sent. "+
				"Start the harness in the workspace whose session it runs in", l.id, l.root, atlas.URLVariable)}
	}
	return portOf(named) == l.port, nil
}

// portOf gives the port of an address, or -1.
func portOf(address string) int {
	u, err := url.Parse(address)
	if err != nil {
		return -1
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return -1
	}
	return port
}

// session reads both variables of the workspace's own session.
func (l *link) session(ctx context.Context) (map[string]string, error) {
	dir, err := atlas.Sockets(l.root)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, sessionTimeout)
	defer cancel()
	return l.config.SessionEnv(ctx, filepath.Join(dir, atlas.TmuxSocket), l.id.SessionName(), atlas.TokenVariable, atlas.URLVariable)
}

func (l *link) keep(secret token.Token, source string) (*target, error) {
	u, err := url.Parse("http://127.0.0.1:" + strconv.Itoa(l.port) + l.id.MCPPath())
	if err != nil {
		return nil, err
	}
	t := &target{url: u, port: l.port, token: secret, source: source}
	if !secret.IsZero() {
		// The header is the second of the two places for which Reveal exists.
		t.bearer = []string{"Bearer " + secret.Reveal()}
	}
	l.now.Store(t)
	return t, nil
}

// renew reads the token again after the ship refused used, once for all calls that it refused.
// It gives nil where the workspace has no session with a token.
func (l *link) renew(ctx context.Context, used *target) (*target, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.now.Load(); t != used && t != nil {
		return t, nil
	}
	agrees, err := l.environmentAgrees()
	if err != nil {
		return nil, err
	}
	session, err := l.session(ctx)
	secret, source := fromSession(session)
	switch {
	case secret.IsZero():
		return nil, err
	case !agrees && !l.confirmed(session):
		return nil, l.unconfirmed(session, nil)
	}
	return l.keep(secret, source)
}

// relocate reads atlas.json again after nobody listened on used's port. It gives used if the
// ship has not moved, and an error while it is moving.
func (l *link) relocate(ctx context.Context, used *target) (*target, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.now.Load(); t != used && t != nil {
		return t, nil
	}
	place, err := l.config.Locate()
	// The adapter is bound for life: another atlas or workspace found here later is not ours.
	if err != nil || place.Root != l.root || place.ID != l.id || place.Port == used.port {
		return used, nil
	}
	before := l.port
	l.port = place.Port
	moved, err := l.resolve(ctx)
	if err != nil {
		// Until the new place is known for sure, later calls wait at the old one too.
		l.port = before
	}
	return moved, err
}
