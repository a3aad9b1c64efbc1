// Package bridgetest is a stand-in for GitHub, and the suite that holds the bridge to its claims
// with it. The stand-in answers over real HTTP on loopback from a store that tests fill by telling
// a story. Each of its answers, and each request that it gets, is checked against GitHub's own
// OpenAPI description, so that it is no GitHub of our own wishes. It knows nothing of the bridge.
package bridgetest

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// TB is the part of testing.TB that the stand-in needs.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// GitHub is a stand-in for GitHub. It is safe for concurrent use; the story may go on while it is
// being asked.
type GitHub struct {
	server *http.Server
	logs   *logHost
	url    string
	closed chan struct{}
	work   sync.WaitGroup

	mu         sync.Mutex
	lastID     int64
	clock      time.Time // of the story: everything told is a minute later than what came before
	repos      []*Repo
	accounts   map[string]*account
	tokens     map[string]*Token
	apps       []*App
	token      *Token
	rules      []*Rule
	requests   []Request
	violations []string
	quota      *quota
	limit      Limit
	sso        string
	large      int
}

// NewGitHub starts a stand-in that ends with the test. Whatever broke GitHub's description of its
// API by then, in an answer or in a request, fails the test.
func NewGitHub(t TB) *GitHub {
	t.Helper()
	g, err := Open()
	if err != nil {
		t.Fatalf("start the stand-in GitHub: %v", err)
	}
	t.Cleanup(func() {
		g.Close()
		for _, v := range g.Violations() {
			t.Errorf("the stand-in GitHub: %s", v)
		}
	})
	return g
}

// Open starts a stand-in for a program. The caller closes it, and looks at Violations.
func Open() (*GitHub, error) {
	if _, err := loadContract(); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	logs, err := newLogHost()
	if err != nil {
		_ = listener.Close()
		return nil, err
	}
	g := &GitHub{
		logs: logs, url: "http://" + listener.Addr().String(), closed: make(chan struct{}),
		lastID: 3_000_000_000, // comments and jobs of today have numbers that need more than 32 bits
		clock:  time.Now().UTC().Truncate(time.Hour).AddDate(0, -3, 0), accounts: map[string]*account{}, tokens: map[string]*Token{},
		quota: newQuota(), large: 10_000,
	}
	g.token = g.NewToken("fleet-bot")
	g.server = &http.Server{Handler: g, ReadHeaderTimeout: 10 * time.Second}
	g.work.Go(func() { _ = g.server.Serve(listener) })
	return g, nil
}

// Close ends the stand-in at once, with whatever is under way.
func (g *GitHub) Close() {
	select {
	case <-g.closed:
		return
	default:
		close(g.closed)
	}
	_ = g.server.Close()
	g.logs.close()
	g.work.Wait()
}

// URL is the API's base address, without a slash at its end: what api.github.com is for GitHub.
// The same API is below /api/v3 too, as an Enterprise Server has it.
func (g *GitHub) URL() string { return g.url }

// Token is the text of the credential that the stand-in begins with: a classic personal access
// token of the account "fleet-bot", which may do everything.
func (g *GitHub) Token() string { return g.token.text }

// Violations are the breaches of GitHub's description of its API that were seen so far.
func (g *GitHub) Violations() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string(nil), g.violations...)
}

// violate is called with mu held.
func (g *GitHub) violate(format string, args ...any) {
	if len(g.violations) < 20 {
		g.violations = append(g.violations, fmt.Sprintf(format, args...))
	}
}

// Large sets the number of issues from which on GitHub refuses page numbers; 10,000 unless set.
func (g *GitHub) Large(issues int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.large = issues
}

// RequireSSO has the organization ask for single sign-on, which no credential has.
func (g *GitHub) RequireSSO(organization string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sso = organization
}

// id and tick are called with mu held.
func (g *GitHub) id() int64 {
	g.lastID++
	return g.lastID
}

func (g *GitHub) tick() time.Time {
	g.clock = g.clock.Add(time.Minute)
	return g.clock
}

// account is a user, a bot or an organization. A ghost, whose account was deleted, is nobody's.
type account struct {
	id    int64
	login string
	kind  string
}

// who is called with mu held.
func (g *GitHub) who(login string) *account {
	if a := g.accounts[strings.ToLower(login)]; a != nil {
		return a
	}
	a := &account{id: g.id(), login: login, kind: "User"}
	if strings.HasSuffix(login, "[bot]") {
		a.kind = "Bot"
	}
	g.accounts[strings.ToLower(login)] = a
	return a
}

// randomText gives n characters of hexadecimal digits.
func randomText(n int) string {
	raw := make([]byte, (n+1)/2)
	_, _ = rand.Read(raw) // never fails since Go 1.24
	return hex.EncodeToString(raw)[:n]
}
