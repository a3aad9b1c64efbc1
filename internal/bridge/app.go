package bridge

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"fleet/api"
)

const (
	appMargin   = 5 * time.Minute  // before its end, another token is minted
	appLastCall = time.Minute      // before its end, a token isn't used any more
	appPatience = 30 * time.Second // what has just failed isn't tried again within it
	mintTimeout = 20 * time.Second
)

// AppConfig describes a GitHub App's installation.
type AppConfig struct {
	API          *url.URL // as in GuardConfig
	Issuer       string   // the app's id or its client id
	Installation int64
	KeyFile      string // PEM of the app's private key, read anew for each token; mode as for NewFileCredential
	// RepositoryIDs narrows the tokens to these repositories; none: all of the installation.
	RepositoryIDs []int64
	// Permissions narrows what the tokens may do, such as {"issues": "write"}; none: all that
	// was granted to the installation.
	Permissions map[string]string

	RootCAs *x509.CertPool   // nil: the system's
	Now     func() time.Time // nil: time.Now

	network network // the zero network is the real one
}

// App signs with the tokens of a GitHub App's installation. It mints one when it is first needed,
// another before that one ends, and another once when the forge refuses it; callers that need one
// at the same time share it, or its failure. It can print neither the key nor a token.
// See https://docs.github.com/rest/apps/apps#create-an-installation-access-token-for-an-app.
type App struct {
	config   AppConfig
	client   http.RoundTripper
	finished atomic.Int64  // mints that ended, either way
	turn     chan struct{} // held by whoever mints, or looks at what follows

	token    Secret    // the header's whole value
	ends     time.Time // of the token
	renewed  time.Time // when token was minted because the one before had been refused
	failed   *api.Error
	failedAs int64 // which mint, in the count of finished
	failedAt time.Time
}

var _ Credential = (*App)(nil)

// NewApp checks the configuration. It reads no file and sends nothing.
func NewApp(c AppConfig) (*App, error) {
	if err := checkAPI(c.API); err != nil {
		return nil, err
	}
	if c.Issuer == "" || c.Installation <= 0 || c.KeyFile == "" {
		return nil, errors.New("a GitHub App needs its id, its installation's id and the file of its key")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	a := &App{config: c, turn: make(chan struct{}, 1)}
	a.client = newTransport(c.API, c.network, c.RootCAs, freshConnections)
	return a, nil
}

// ID names the app and the installation.
func (a *App) ID() string { return fmt.Sprintf("app:%s/%d", a.config.Issuer, a.config.Installation) }

// Format keeps an App from printing what it holds, under every verb.
func (a *App) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, a.ID()) }

// LogValue likewise.
func (a *App) LogValue() slog.Value { return slog.StringValue(a.ID()) }

func (a *App) serves(api *url.URL) bool { return sameOrigin(api, a.config.API) }

// Authorization gives the current token's header. While another can't be minted, one that hasn't
// ended yet goes on being used.
func (a *App) Authorization(ctx context.Context) (Secret, error) {
	seen, err := a.take(ctx)
	if err != nil {
		return Secret{}, err
	}
	defer a.leave()
	now := a.config.Now()
	left := a.ends.Sub(now)
	if a.token.IsZero() || left <= appLastCall {
		if err := a.mint(ctx, seen); err != nil {
			return Secret{}, err
		}
	} else if left <= appMargin && (a.failed == nil || now.Sub(a.failedAt) >= appPatience) {
		_ = a.mint(ctx, seen) // too early to be anybody's error
	}
	return a.token, nil
}

// Refused mints another token, unless that has happened since used was given out.
func (a *App) Refused(ctx context.Context, used Secret) bool {
	seen, err := a.take(ctx)
	if err != nil {
		return false
	}
	defer a.leave()
	if !a.token.Equal(used) {
		return !a.token.IsZero()
	}
	now := a.config.Now()
	if !a.renewed.IsZero() && now.Sub(a.renewed) < appPatience {
		return false // it is the app that is refused: a mint for every request would only add to it
	}
	if a.mint(ctx, seen) != nil {
		return false
	}
	a.renewed = now
	return true
}

// take waits for the turn, and says how many mints had ended before the wait.
func (a *App) take(ctx context.Context) (seen int64, err error) {
	seen = a.finished.Load()
	select {
	case a.turn <- struct{}{}:
		return seen, nil
	case <-ctx.Done():
		return 0, transportFault(false, false, ctx.Err())
	}
}

func (a *App) leave() { <-a.turn }

// mint gets a token, in the caller's turn. Whoever waited while one failed shares its error.
func (a *App) mint(ctx context.Context, seen int64) error {
	if a.failed != nil && a.failedAs > seen {
		return a.failed
	}
	timed, cancel := context.WithTimeout(ctx, mintTimeout)
	defer cancel()
	token, ends, err := a.request(timed)
	ended := a.finished.Add(1)
	if err != nil {
		if ctx.Err() == nil { // a caller's own end is no failure that others share
			a.failed, a.failedAs, a.failedAt = err, ended, a.config.Now()
		}
		return err
	}
	a.failed = nil
	a.token, a.ends = header(forgeGitHub, token), ends
	return nil
}
