package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"fleet/api"
	"fleet/internal/agent"
	"fleet/internal/atlas"
	"fleet/internal/bridge"
	"fleet/internal/server"
	"fleet/internal/token"
	"fleet/internal/workspace"
)

func (a *app) serveCommand() *cobra.Command {
	background, handed := false, 0
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the atlas, in the foreground", Args: cobra.NoArgs,
		Long: "Serve the atlas until SIGINT or SIGTERM. Sessions live on without it, and a new ship takes them over:\n" +
			"same tokens, same statuses. SIGHUP reads atlas.json again. \"ready\" on stderr says that it serves.",
		RunE: works(func(cmd *cobra.Command, _ []string) error {
			root, err := a.root()
			if err != nil {
				return err
			}
			secrets, err := shedSecrets(handed)
			if err != nil {
				return err
			}
			s := &ship{
				root: root, background: background, startedAt: time.Now().UTC(),
				logger: slog.New(slog.NewTextHandler(a.stderr, nil)),
			}
			return s.serve(cmd.Context(), secrets)
		}),
	}
	cmd.Flags().BoolVar(&background, "background", false, "")
	_ = cmd.Flags().MarkHidden("background")
	hiddenInt(cmd, &handed, handedFlag)
	return cmd
}

// ship is the running daemon.
type ship struct {
	root       string
	background bool
	startedAt  time.Time
	logger     *slog.Logger

	file       atomic.Pointer[atlas.File]
	port       int
	events     *agent.FileLog
	workspaces *workspace.Manager
	server     *server.Server
	stop       context.CancelFunc
}

func (s *ship) serve(ctx context.Context, secrets map[string]bridge.Secret) error {
	ctx, s.stop = context.WithCancel(ctx)
	defer s.stop()
	// Before any socket is touched: two ships on one atlas would take each other's sessions.
	lock, err := atlas.Lock(s.root)
	if errors.Is(err, atlas.ErrLocked) {
		return hint(fmt.Errorf("%w: %s", err, s.root), "ship status shows it; ship down ends one that ship up started")
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	tuneMemory()
	file, err := atlas.Read(s.root)
	if err != nil {
		return err
	}
	s.file.Store(file)
	listeners, err := s.listen(file)
	if err != nil {
		return err
	}
	defer listeners.Close()
	if s.events, err = agent.OpenLog(atlas.StateDir(s.root)); err != nil {
		return err
	}
	defer func() { _ = s.events.Close() }()
	caller, closeBridge, err := s.openBridge(ctx, secrets)
	if err != nil {
		return err
	}
	defer closeBridge()
	if err := s.open(ctx, caller); err != nil {
		return err
	}
	return s.run(ctx, listeners)
}

// listen takes the port, and keeps in atlas.json the one that the system chose for port 0.
func (s *ship) listen(file *atlas.File) (*server.Listeners, error) {
	listeners, err := server.Listen(file.Port)
	if err != nil {
		return nil, err
	}
	s.port = listeners.Port()
	if file.Port == s.port {
		return listeners, nil
	}
	err = atlas.Edit(s.root, func(f *atlas.File) error { f.Port = s.port; return nil })
	if err != nil {
		listeners.Close()
		return nil, err
	}
	return listeners, s.reload(context.Background())
}

// open takes over the sessions and builds the server. Nothing is served yet.
func (s *ship) open(ctx context.Context, caller bridge.Caller) error {
	tokens := &token.Table[atlas.ID]{}
	var err error
	s.workspaces, err = workspace.Open(ctx, workspace.Config{
		Root: s.root, Atlas: s.file.Load, Port: func() int { return s.port },
		Tokens: tokens, Events: s.events, Logger: s.logger,
		LookupEnv: os.LookupEnv, Environ: os.Environ(),
		OnInactive: func(id atlas.ID) { s.server.Drop(id) },
	})
	if err != nil {
		return err
	}
	s.server, err = server.New(server.Config{
		Root: s.root, Version: version(), Workspaces: s.workspaces, Tokens: tokens,
		Events: s.events, Logger: s.logger,
		Ready:      func(context.Context) error { return s.events.Probe() },
		Repository: &repository{bridge: caller, positions: s.workspaces},
	})
	return err
}

// run serves until ctx ends, and then for as long as requests in flight take, 10 s at most.
func (s *ship) run(ctx context.Context, listeners *server.Listeners) error {
	operator, err := s.listenOperator(ctx)
	if err != nil {
		return err
	}
	defer operator.close()
	// A command that edited atlas.json before the socket was there had nobody to tell.
	if err := s.reload(ctx); err != nil {
		return err
	}
	ticking := make(chan struct{})
	go func() { defer close(ticking); s.workspaces.Run(ctx) }()
	defer func() {
		<-ticking
		if err := s.workspaces.Close(context.WithoutCancel(ctx)); err != nil {
			s.logger.Warn("end the tmux server, which has no sessions", "err", err)
		}
	}()
	defer s.stop()
	stopHangup := s.onHangup(ctx)
	defer stopHangup()

	s.append(api.ShipStarted)
	served := make(chan error, 1)
	go func() { served <- s.server.Serve(ctx, listeners) }()
	s.logger.Info("ready", "url", fmt.Sprintf("http://127.0.0.1:%d", s.port), "atlas", s.root, "pid", os.Getpid(), "version", version())
	err = <-served
	s.append(api.ShipStopped)
	return err
}

// append writes an event of the ship's own. A full disk shows in /readyz, not here.
func (s *ship) append(event string) {
	if err := s.events.Append(api.Event{Type: event}); err != nil {
		s.logger.Error("write an event", "type", event, "err", err)
	}
}

// reload reads atlas.json again. The port of a running ship stays.
func (s *ship) reload(context.Context) error {
	file, err := atlas.Read(s.root)
	if err != nil {
		return err
	}
	s.file.Store(file)
	return nil
}

func (s *ship) onHangup(ctx context.Context) (stop func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangups:
				if err := s.reload(ctx); err != nil {
					s.logger.Error("read atlas.json again; the old one stays in force", "err", err)
				} else {
					s.logger.Info("atlas.json read again")
				}
			}
		}
	}()
	return func() { signal.Stop(hangups) }
}

func (s *ship) info(ctx context.Context) api.Ship {
	info := api.Ship{
		Version: version(), PID: os.Getpid(), Root: s.root, Port: s.port,
		StartedAt: s.startedAt, Background: s.background, Problems: []string{},
	}
	if err := errors.Join(s.workspaces.Ready(ctx), s.events.Probe()); err != nil {
		info.Problems = append(info.Problems, oneLine(err))
	}
	return info
}
