package bridge

import (
	"net/url"
	"sync"
	"time"

	"fleet/api"
)

// secretsTime is for how long the secrets of all credentials are not read again.
const secretsTime = time.Second

// forges makes providers when they are first needed.
type forges struct {
	config Config
	known  *signedWith
	store  *store

	mu    sync.Mutex
	made  map[string]*forge // by forge and API address
	asked time.Time         // when the secrets of all credentials were last read
}

// forge is a provider and the Guard it speaks through.
type forge struct {
	provider   Provider
	guard      *Guard
	credential Credential
}

// at gives the forge that a repository is on.
func (f *forges) at(name string, at *url.URL) (*forge, error) {
	build := f.config.Providers[name]
	if build == nil {
		return nil, &api.Error{
			Code: api.Unsupported, Reason: "no_provider",
			Message: "this bridge cannot speak to the forge " + name + " yet",
			Hint:    "use git itself, or ask a human to look at the forge's own site",
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	key := name + " " + at.String()
	if one := f.made[key]; one != nil {
		return one, nil
	}
	credential, err := f.config.Credentials.For(name, at)
	if err != nil {
		return nil, err
	}
	guard, err := NewGuard(GuardConfig{API: at, Credential: credential, Logger: f.config.Logger, known: f.known, pins: f.pins(at)})
	if err != nil {
		bad := badRegistration(err.Error())
		bad.Err = err
		return nil, bad
	}
	if f.made == nil {
		f.made = map[string]*forge{}
	}
	one := &forge{provider: maskedProvider{build(guard, f.config.Logger), guard}, guard: guard, credential: credential}
	f.made[key] = one
	return one, nil
}

// mask takes from a text, such as a panic's, what any of the forges was asked with.
func (f *forges) mask(text string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.made {
		text = one.guard.Mask(text)
	}
	return MaskCredentials(text)
}

func (f *forges) pins(at *url.URL) repositoryPins {
	return forgePins{store: f.store, registry: f.config.Registry, at: at, log: f.config.Logger}
}

// forget lets all Guards look anew at what is kept of repositories.
func (f *forges) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.made {
		one.guard.ids.forget()
	}
}

// learnSecrets reads what any credential may be signed with, unless it was read just now: what is
// asked with one of them may show another.
func (f *forges) learnSecrets() {
	store, ok := f.config.Credentials.(interface{ secrets() []Secret })
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.asked) < secretsTime {
		return
	}
	f.asked = time.Now()
	for _, secret := range store.secrets() {
		f.known.add(secret)
	}
}

func (f *forges) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.made {
		one.guard.Close()
	}
}
