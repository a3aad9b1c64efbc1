package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

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
			return serveBridge(cmd.Context(), file, secrets, slog.New(slog.NewTextHandler(a.stderr, nil)))
		}),
	}
	hiddenInt(cmd, &handed, handedFlag)
	return cmd
}

func hiddenInt(cmd *cobra.Command, value *int, name string) {
	cmd.Flags().IntVar(value, name, 0, "")
	_ = cmd.Flags().MarkHidden(name)
}

func serveBridge(ctx context.Context, file *bridge.File, secrets map[string]bridge.Secret, logger *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	configured, err := file.HostCredentials()
	if err != nil {
		return err
	}
	dir, err := bridge.CredentialDir(os.Getenv)
	if err != nil {
		dir = "" // a user without a home keeps none there
	}
	store, err := bridge.NewCredentialStore(bridge.CredentialStoreConfig{
		Dir: dir, Environment: secrets, Configured: configured,
		Registered: func() []bridge.Registration { return bridge.Registrations(file.Repos) },
	})
	if err != nil {
		return err
	}
	broker, err := bridge.Open(ctx, bridge.Config{
		Registry:  func() map[string]bridge.Registered { return file.Repos },
		Providers: providers(), Credentials: store, Dir: file.Dir, Logger: logger,
	})
	if err != nil {
		return err
	}
	defer func() { _ = broker.Close() }()
	warnOfCredentials(ctx, configured, logger)
	socket := filepath.Join(file.Dir, atlas.BridgeSocket)
	if file.Listen == "unix://"+socket {
		return fmt.Errorf("listen names %s, where this bridge's operators are served; next: give ships another name, such as unix://%s", socket, filepath.Join(file.Dir, "ships.sock"))
	}
	operators, err := bridge.ListenSocket(socket)
	if err != nil {
		return err
	}
	ships, err := file.Listener()
	if err != nil {
		return errors.Join(err, operators.Close())
	}
	logger.Info("ready", "listen", file.Listen, "repos", len(file.Repos), "pid", os.Getpid(), "version", build.Version())
	ended := make(chan error, 2)
	go func() { ended <- bridge.Serve(ctx, operators, broker.AdminHandler(), logger) }()
	go func() { ended <- bridge.Serve(ctx, ships, broker.Handler(), logger) }()
	first := <-ended
	cancel()
	return errors.Join(first, <-ended)
}

// warnOfCredentials says early which token's file cannot be used. The bridge serves without, since
// the file may come later. Apps ask the forge for their tokens, so those show at the first call.
func warnOfCredentials(ctx context.Context, configured []bridge.HostCredential, logger *slog.Logger) {
	for _, h := range configured {
		if h.File == "" {
			continue
		}
		if _, err := bridge.NewFileCredential("", "", h.File).Authorization(ctx); err != nil {
			logger.Warn("a credential cannot be used", "host", h.Host, "err", err)
		}
	}
}
