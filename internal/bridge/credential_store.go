package bridge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"fleet/api"
)

// CredentialStoreConfig says where credentials are found. Its zero value finds none.
type CredentialStoreConfig struct {
	Dir         string            // what `ship credential add` writes; see CredentialDir. "": none
	Environment map[string]Secret // by variable: GITHUB_TOKEN before GH_TOKEN, GITLAB_TOKEN, GITEA_TOKEN
	Configured  []HostCredential  // of bridge.yaml
	// Registered lists every repository of the registry as it is now; nil: there is none. A token
	// from the environment goes to the hosts in it that are registered for the token's forge
	// alone. It must be safe for concurrent use.
	Registered func() []Registration
}

// HostCredential is a credential that a configuration gives to one host: a File with a token, or
// any other Credential, such as an App.
type HostCredential struct {
	Host       string
	File       string
	Credential Credential
}

// CredentialStore picks the credential for a host: the file that `ship credential add` wrote for
// it, or the configured one, or a token of the environment, in this order. It is safe for
// concurrent use, and notices files that come, change and go.
type CredentialStore struct {
	dir         string
	environment map[string]Secret
	configured  atomic.Pointer[map[string]HostCredential]
	registered  func() []Registration
}

// NewCredentialStore reads no file. It refuses a configured host that is none or comes twice.
func NewCredentialStore(c CredentialStoreConfig) (*CredentialStore, error) {
	s := &CredentialStore{dir: c.Dir, environment: map[string]Secret{}, registered: c.Registered}
	if s.registered == nil {
		s.registered = func() []Registration { return nil }
	}
	for forge, names := range tokenVariables() {
		for _, name := range names {
			if token := c.Environment[name]; !token.IsZero() && s.environment[forge].IsZero() {
				s.environment[forge] = token
			}
		}
	}
	if err := s.Reconfigure(c.Configured); err != nil {
		return nil, err
	}
	return s, nil
}

// Reconfigure puts these in the place of the configured credentials. It reads no file, and changes
// nothing where one of them is refused, as by NewCredentialStore.
func (s *CredentialStore) Reconfigure(all []HostCredential) error {
	configured := map[string]HostCredential{}
	for _, h := range all {
		host, err := ParseCredentialHost(h.Host)
		if err != nil {
			return fmt.Errorf("credential's host: %w", err)
		}
		if _, twice := configured[host]; twice {
			return fmt.Errorf("host %s has two credentials", host)
		}
		if (h.File == "") == (h.Credential == nil) {
			return fmt.Errorf("credential of %s: give a file or an app", host)
		}
		if app, ok := h.Credential.(*App); ok && credentialHost(app.config.API) != host {
			return fmt.Errorf("credential of %s: its app is of another host", host)
		}
		configured[host] = h
	}
	s.configured.Store(&configured)
	return nil
}

// For gives the credential for the API at the given address of a repository registered for forge.
// It is anonymous while there is none, and follows what the operator adds, changes and removes. It
// never is one that was meant for another host or another forge.
func (s *CredentialStore) For(forge string, at *url.URL) (Credential, error) {
	if at == nil || at.Hostname() == "" {
		return nil, &api.Error{Code: api.Invalid, Reason: "api_url", Message: "the repository has no forge API address"}
	}
	c := &hostCredential{store: s, forge: forge, host: credentialHost(at)}
	c.id.Store(new(anonymous))
	return c, nil
}

// hostCredential is whatever credential its host has at the moment.
type hostCredential struct {
	store *CredentialStore
	forge string
	host  string
	id    atomic.Pointer[string] // of the one that signed last
}

func (c *hostCredential) ID() string {
	if current, err := c.current(); err == nil {
		c.id.Store(new(current.ID()))
	}
	return *c.id.Load()
}

func (c *hostCredential) Authorization(ctx context.Context) (Secret, error) {
	current, err := c.current()
	if err != nil {
		return Secret{}, err
	}
	return current.Authorization(ctx)
}

// Refused also notices a credential of another kind that has taken the refused one's place.
func (c *hostCredential) Refused(ctx context.Context, used Secret) bool {
	current, err := c.current()
	if err != nil {
		return false
	}
	if now, err := current.Authorization(ctx); err == nil && !now.IsZero() && !now.Equal(used) {
		return true
	}
	return current.Refused(ctx, used)
}

func (c *hostCredential) serves(api *url.URL) bool { return credentialHost(api) == c.host }

// current looks in the three places. A file that is there and can't be used is an error: falling
// back would send a credential to a host that has one of its own.
func (c *hostCredential) current() (Credential, error) {
	if c.store.dir != "" {
		path := filepath.Join(c.store.dir, c.host)
		switch _, err := os.Lstat(path); {
		case err == nil:
			return fileCredential{id: "file:" + c.host, forge: c.forge, path: path, mask: ownerOnly}, nil
		case !errors.Is(err, fs.ErrNotExist):
			e := unusable("the file of "+c.host, "cannot be looked for")
			e.Err = err
			return nil, e
		}
	}
	if h, ok := (*c.store.configured.Load())[c.host]; ok {
		if h.Credential != nil {
			return h.Credential, nil
		}
		return NewFileCredential("file:"+c.host, c.forge, h.File), nil
	}
	return c.fromEnvironment()
}

// fromEnvironment gives the forge's token of the environment, where it was meant for this host.
func (c *hostCredential) fromEnvironment() (Credential, error) {
	nobody := tokenCredential{id: anonymous}
	secret := c.store.environment[c.forge]
	if secret.IsZero() {
		return nobody, nil
	}
	forges := forgesAt(c.host, c.store.registered())
	if !forges[c.forge] && (len(forges) > 0 || c.host != wellKnown(c.forge)) {
		return nobody, nil
	}
	if len(forges) > 1 {
		return nil, &api.Error{
			Code: api.Unauthenticated, Reason: "credential_ambiguous",
			Message: c.host + " is registered for more than one forge, so that no token of the environment is sent there",
			Hint:    "ask the operator to run: ship credential add " + c.host,
		}
	}
	token, err := parseToken(secret.Reveal(), "the forge token of the environment")
	if err != nil {
		return nil, err
	}
	return tokenCredential{id: "env:" + c.forge, forge: c.forge, token: token}, nil
}

// CredentialDir is where `ship credential add` keeps its files: fleet/credentials below
// $XDG_CONFIG_HOME, or below ~/.config where that is unset or relative. lookup is os.Getenv.
func CredentialDir(lookup func(string) string) (string, error) {
	if base := lookup("XDG_CONFIG_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "fleet", "credentials"), nil
	}
	home := lookup("HOME")
	if !filepath.IsAbs(home) {
		return "", errors.New("neither XDG_CONFIG_HOME nor HOME names a directory for credentials")
	}
	return filepath.Join(home, ".config", "fleet", "credentials"), nil
}

// secrets gives every token that can be read now, whether it was ever signed with or not: so that
// it can be masked. Apps have none until they sign.
func (s *CredentialStore) secrets() []Secret {
	var all []Secret
	for _, secret := range s.environment {
		all = append(all, secret)
	}
	read := func(path string, mask fs.FileMode) {
		if text, err := readSecretOnce(path, mask); err == nil {
			all = append(all, NewSecret(strings.TrimSpace(text)))
		}
	}
	for _, h := range *s.configured.Load() {
		if h.File != "" {
			read(h.File, noOthers)
		}
	}
	if s.dir == "" {
		return all
	}
	entries, _ := os.ReadDir(s.dir)
	for _, e := range entries {
		if !hidden(e.Name()) {
			read(filepath.Join(s.dir, e.Name()), ownerOnly)
		}
	}
	return all
}

// hidden says that name can't be a host's file: a temporary one, or somebody's notes.
func hidden(name string) bool { return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") }
