package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"

	"fleet/internal/atlas"
	"fleet/internal/bridge"
	"fleet/internal/build"
)

func (a *app) bridgeServeCommand() *cobra.Command {
	handed := 0
	cmd := &cobra.Command{
		Use: "serve --config FILE", Short: "Serve a bridge, in the foreground", Args: exactly(0),
		RunE: works(func(cmd *cobra.Command, _ []string) error {
			if a.bridgeFlag == "" {
				return usage("bridge serve wants --config FILE")
			}
			secrets, err := shedSecrets(handed)
			if err != nil {
				return err
			}
			file, err := readBridgeFile(a.bridgeFlag)
			if err != nil {
				return err
			}
			return serveBridge(cmd.Context(), a.bridgeFlag, file, secrets, slog.New(slog.NewTextHandler(a.stderr, nil)))
		}),
	}
	hiddenInt(cmd, &handed, handedFlag)
	return cmd
}

func hiddenInt(cmd *cobra.Command, value *int, name string) {
	cmd.Flags().IntVar(value, name, 0, "")
	_ = cmd.Flags().MarkHidden(name)
}

// ownBridge is a bridge of its own process.
type ownBridge struct {
	path   string // of bridge.yaml
	file   atomic.Pointer[bridge.File]
	store  *bridge.CredentialStore
	broker *bridge.Broker
	logger *slog.Logger
}

func serveBridge(ctx context.Context, path string, file *bridge.File, secrets map[string]bridge.Secret, logger *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	o := &ownBridge{path: path, logger: logger}
	if err := o.open(ctx, file, secrets); errors.Is(err, bridge.ErrInUse) {
		return hint(err, "ship bridge list --config "+atlas.Quote(path)+" speaks to that one; end it first, or give this one a dir of its own")
	} else if err != nil {
		return whose(err, file.Dir, os.Geteuid())
	}
	defer func() { _ = o.broker.Close() }()
	socket := filepath.Join(file.Dir, atlas.BridgeSocket)
	if file.Listen == "unix://"+socket {
		return fmt.Errorf("listen names %s, where this bridge's operators are served; next: give ships another name, such as unix://%s", socket, filepath.Join(file.Dir, "ships.sock"))
	}
	operators, err := bridge.ListenSocket(socket)
	if err != nil {
		return err
	}
	ships, err := file.Listener()
	if errors.Is(err, syscall.EADDRINUSE) {
		err = hint(err, "end what listens there, or give listen in "+atlas.Quote(path)+" another address")
	}
	if err != nil {
		return errors.Join(err, operators.Close())
	}
	logger.Info("ready", "listen", file.Listen, "dir", file.Dir, "repos", len(file.Repos), "pid", os.Getpid(), "version", build.Version())
	ended := make(chan error, 3)
	go func() { ended <- o.onHangup(ctx, hangups) }()
	go func() { ended <- bridge.Serve(ctx, operators, o.broker.AdminHandler(), logger) }()
	go func() { ended <- bridge.Serve(ctx, ships, tellsDir(file, o.broker.Handler()), logger) }()
	first := <-ended
	cancel()
	// At the same time as the others' end: a write that hangs at the forge would hold up the next
	// bridge twice as long, and ships wait for it no longer than for one of them.
	closed := make(chan error, 1)
	go func() { closed <- o.broker.Close() }()
	return errors.Join(first, <-ended, <-ended, <-closed)
}

func (o *ownBridge) open(ctx context.Context, file *bridge.File, secrets map[string]bridge.Secret) error {
	o.file.Store(file)
	configured, err := file.HostCredentials()
	if err != nil {
		return err
	}
	dir, err := bridge.CredentialDir(os.Getenv)
	if err != nil {
		dir = "" // a user without a home keeps none there
	}
	o.store, err = bridge.NewCredentialStore(bridge.CredentialStoreConfig{
		Dir: dir, Environment: secrets, Configured: configured,
		Registered: func() []bridge.Registration { return bridge.Registrations(o.file.Load().Repos) },
	})
	if err != nil {
		return err
	}
	o.broker, err = bridge.Open(ctx, bridge.Config{
		Registry:  func() map[string]bridge.Registered { return o.file.Load().Repos },
		Providers: providers(), Credentials: o.store, Dir: file.Dir, Logger: o.logger,
	})
	if err == nil {
		warnOfCredentials(ctx, configured, o.logger)
	}
	return err
}

// onHangup reads bridge.yaml again on each SIGHUP, until ctx ends.
func (o *ownBridge) onHangup(ctx context.Context, hangups <-chan os.Signal) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-hangups:
			if err := o.reload(ctx); err != nil {
				o.logger.Error("read bridge.yaml again; the old one stays in force", "err", oneLine(err))
			} else {
				o.logger.Info("bridge.yaml read again", "repos", len(o.file.Load().Repos))
			}
		}
	}
}

// reload puts all of bridge.yaml in force, or nothing of it.
func (o *ownBridge) reload(ctx context.Context) error {
	raw, err := readBridgeText(o.path)
	if err != nil {
		return err
	}
	next, change, err := o.file.Load().Reread(raw)
	var configured []bridge.HostCredential
	if next != nil {
		var bad error
		configured, bad = next.HostCredentials()
		err = errors.Join(err, bad)
	}
	if err != nil {
		return bridgeFault(o.path, err)
	}
	if err := o.store.Reconfigure(configured); err != nil {
		return bridgeFault(o.path, err)
	}
	change()
	o.file.Store(next)
	o.broker.Reload()
	warnOfCredentials(ctx, configured, o.logger)
	return nil
}

// warnOfCredentials says early which file of a token or of an app's key cannot be used. The bridge
// serves without, since the file may come later. Whether the forge takes it shows at the first call.
func warnOfCredentials(ctx context.Context, configured []bridge.HostCredential, logger *slog.Logger) {
	for _, h := range configured {
		var err error
		if app, ok := h.Credential.(*bridge.App); ok {
			err = app.CheckKey(ctx)
		} else if h.File != "" {
			_, err = bridge.NewFileCredential("", "", h.File).Authorization(ctx)
		}
		if err != nil {
			logger.Warn("a credential cannot be used", "host", h.Host, "err", err)
		}
	}
}
