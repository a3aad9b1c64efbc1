package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/bridge"
	"fleet/internal/bridge/github"
)

// providers are the forges that this program knows.
func providers() map[string]func(*bridge.Guard, *slog.Logger) bridge.Provider {
	return map[string]func(*bridge.Guard, *slog.Logger) bridge.Provider{
		"github": func(g *bridge.Guard, l *slog.Logger) bridge.Provider { return github.New(g, l) },
	}
}

// openBridge gives the way to the bridge: to the one that FLEET_BRIDGE_URL names, else to one
// that lives in this process, see chosenBridge. closeBridge ends what was opened. One whose files
// cannot be opened leaves the rest of the ship working: see withoutBridge.
func (s *ship) openBridge(ctx context.Context, secrets map[string]bridge.Secret) (caller bridge.Caller, closeBridge func(), err error) {
	s.bridgeName = embeddedBridge
	s.bridgeReady = func(context.Context) error { return nil }
	url, err := chosenBridge(s.root)
	if err != nil {
		return nil, nil, err
	}
	if url != "" {
		s.bridgeName = url
		file := os.Getenv("FLEET_BRIDGE_CREDENTIAL_FILE")
		if file == "" {
			return nil, nil, errors.New("FLEET_BRIDGE_URL is set without FLEET_BRIDGE_CREDENTIAL_FILE; next: as the bridge's own user, ship bridge grant SHIP --repo NAME --verbs read,comment,review --config FILE; then, as this one, write the credential that it prints to a file of mode 0600 and name that in FLEET_BRIDGE_CREDENTIAL_FILE")
		}
		client, err := bridge.NewClient(bridge.ClientConfig{URL: url, CredentialFile: file})
		if err != nil {
			return nil, nil, err
		}
		s.remember(url)
		s.bridgeReady = func(ctx context.Context) error { return errors.Join(client.Ready(ctx), s.idlePolicies()) }
		return client, func() {}, nil
	}
	s.remember("")
	dir, err := bridge.CredentialDir(os.Getenv)
	if err != nil {
		dir = "" // no home, so no stored credentials
	}
	store, err := bridge.NewCredentialStore(bridge.CredentialStoreConfig{
		Dir: dir, Environment: secrets,
		Registered: func() []bridge.Registration { return bridge.Registrations(s.registry()) },
	})
	if err != nil {
		return nil, nil, err
	}
	broker, err := bridge.Open(ctx, bridge.Config{
		Registry: s.registry, Providers: providers(), Credentials: store,
		Dir: atlas.StateDir(s.root), Embedded: true, Logger: s.logger,
	})
	if err != nil {
		fault := hint(fmt.Errorf("the bridge cannot be opened: %w", err), "mend that, then restart the ship; until then repo_* tools answer unavailable")
		s.bridgeReady = func(context.Context) error { return fault }
		s.logger.Error("open the bridge; the ship serves without it", "err", fault)
		return withoutBridge{}, func() {}, nil
	}
	s.reregister = broker.Reregister
	return broker.As(broker.Local()), s.serveAdmin(ctx, broker), nil
}

// remember keeps for the next ship which bridge this one has. On a full disk it serves all the same.
func (s *ship) remember(url string) {
	if err := rememberBridge(s.root, url); err != nil {
		s.logger.Error("keep which bridge this ship uses", "err", err)
	}
}

// withoutBridge answers for a bridge whose files cannot be opened. The cause stands in /readyz, in
// ship status and in the log.
type withoutBridge struct{}

func (withoutBridge) Do(context.Context, bridge.Request) (json.RawMessage, error) {
	return nil, &api.Error{
		Code: api.Unavailable, Reason: "bridge_broken",
		Message: "this ship runs without its bridge, whose files it could not open; nothing was done",
		Hint:    "ask a human to run ship status, to mend what it names and to restart the ship; until then work with git alone",
	}
}

// registry is the atlas's, as the bridge wants it.
func (s *ship) registry() map[string]bridge.Registered {
	all := map[string]bridge.Registered{}
	for name, r := range s.file.Load().Repos {
		all[name] = bridge.Registered{Forge: r.Forge, URL: r.URL, APIURL: r.APIURL, Policy: policyOf(r)}
	}
	return all
}

// policyOf is what an atlas says agents may read and post of a repository.
func policyOf(r atlas.Repo) bridge.Policy {
	if r.Policy == nil {
		return bridge.Policy{}
	}
	return bridge.Policy{
		TrustedAuthorsOnly: r.TrustedAuthorsOnly, TrustedAuthors: r.TrustedAuthors,
		AllowMassMentions: r.MassMentions == atlas.Allow, RefuseClosingKeywords: r.ClosingKeywords == atlas.Refuse,
	}
}

// idlePolicies names the repositories whose policy in the atlas counts for nothing, since the ship
// uses a bridge of another process: whoever wrote it there counts on it.
func (s *ship) idlePolicies() error {
	var names []string
	for name, r := range s.file.Load().Repos {
		if r.Policy != nil {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return fmt.Errorf("atlas.json says what agents may read and post of %s, which counts for a bridge in the ship alone, and this ship uses another; next: say it in that one's bridge.yaml, and take it out of atlas.json",
		clean(strings.Join(names, ", ")))
}

// serveAdmin lets operators change the embedded bridge's grants. A socket that cannot be had
// leaves the rest working.
func (s *ship) serveAdmin(ctx context.Context, broker *bridge.Broker) (closeBridge func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := serveBridgeSocket(ctx, s.root, broker, s.logger); err != nil {
			s.logger.Error("serve the bridge's operators", "err", err)
		}
	}()
	return func() {
		cancel()
		<-done
		if err := broker.Close(); err != nil {
			s.logger.Error("close the bridge", "err", err)
		}
	}
}

func serveBridgeSocket(ctx context.Context, root string, broker *bridge.Broker, logger *slog.Logger) error {
	dir, err := atlas.MakeSockets(root)
	if err != nil {
		return err
	}
	l, err := bridge.ListenSocket(filepath.Join(dir, atlas.BridgeSocket))
	if err != nil {
		return err
	}
	return bridge.Serve(ctx, l, broker.AdminHandler(), logger)
}
