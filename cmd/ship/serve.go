package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"fleet/api"
	"fleet/internal/agent"
	"fleet/internal/atlas"
	"fleet/internal/bridge"
	"fleet/internal/build"
	"fleet/internal/server"
	"fleet/internal/token"
	"fleet/internal/workspace"
)

// readTime is what reads of the forge have left once the ship is told to end. The bridge's writes
// have eight seconds more.
const readTime = 2 * time.Second

func (a *app) serveCommand() *cobra.Command {
	background, handed := false, 0
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the atlas, in the foreground", Args: exactly(0),
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
				logger: slog.New(slog.NewTextHandler(a.stderr, nil)), manager: takeManager(),
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
	bridgeName string // "embedded", or the address of another process's
	startedAt  time.Time
	// reregister tells the embedded bridge that the registry has changed; nil: there is none.
	reregister func()
	// bridgeReady says why there is no bridge to speak to, or nil.
	bridgeReady func(context.Context) error
	logger      *slog.Logger
	manager     manager

	lock       *atlasLock
	file       atomic.Pointer[atlas.File]
	reading    sync.Mutex            // one reading of atlas.json at a time, so that the latest counts
	refused    atomic.Pointer[error] // why the latest was not put in force; nil: it was
	port       int
	events     *agent.FileLog
	workspaces *workspace.Manager
	server     *server.Server
	stop       context.CancelFunc
}

func (s *ship) serve(ctx context.Context, secrets map[string]bridge.Secret) error {
	ctx, s.stop = context.WithCancel(ctx)
	defer s.stop()
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // one that comes before the ship is ready must not end it
	defer signal.Stop(hangups)
	// Before any socket is touched: two ships on one atlas would take each other's sessions.
	lock, err := takeLock(ctx, s.root)
	if errors.Is(err, atlas.ErrLocked) {
		return hint(fmt.Errorf("%w: %s", err, s.root), "ship status shows it; ship down ends one that ship up started")
	}
	if err != nil {
		return err
	}
	defer lock.release()
	s.lock = lock
	tuneMemory()
	file, err := atlas.Read(s.root)
	if err != nil {
		return mend(err)
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
	if err := s.open(ctx, caller); err != nil {
		s.stop()
		closeBridge()
		return err
	}
	return s.run(ctx, listeners, hangups, closeBridge)
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
	if err == nil {
		err = s.readAtlas()
	}
	if err != nil {
		listeners.Close()
		return nil, mend(err)
	}
	return listeners, nil
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
		Version: build.Version(), Workspaces: s.workspaces, Tokens: tokens,
		Events: s.events, Logger: s.logger,
		Ready: map[string]func(context.Context) error{
			"storage": func(context.Context) error { return s.events.Probe() },
			"bridge":  s.bridgeReady,
			"atlas":   s.atlasReady,
		},
		Repository: &repository{bridge: caller, positions: s.workspaces},
	})
	return err
}

// run serves until ctx ends. Clients, operators and the bridge's writes then get some seconds at
// the same time, so that all is over within ten.
func (s *ship) run(ctx context.Context, listeners *server.Listeners, hangups <-chan os.Signal, closeBridge func()) error {
	s.loadToolsets(ctx)
	defer s.server.CloseToolsets()
	operator, err := s.listenOperator(ctx)
	if err != nil {
		s.stop()
		closeBridge()
		return err
	}
	// A command that edited atlas.json before the socket was there had nobody to tell.
	if err := s.readAtlas(); err != nil {
		s.logger.Error("read atlas.json again; what was read before stays in force", "err", err)
	}
	var work sync.WaitGroup
	work.Go(func() { s.workspaces.Run(ctx) })
	work.Go(func() { s.onHangup(ctx, hangups) })
	work.Go(func() {
		if err := s.lock.keep(ctx); err != nil {
			s.logger.Error("the lock was removed and another ship has taken it; this one ends", "err", err)
			s.stop()
		}
	})
	answered := make(chan struct{}) // closed once clients have their answers
	work.Go(func() {
		<-ctx.Done()
		s.manager.tell(serviceStopping)
		select {
		case <-answered:
		case <-time.After(readTime):
		}
		closeBridge()
	})
	s.append(api.ShipStarted)
	served := make(chan error, 1)
	go func() { served <- s.server.Serve(ctx, listeners); close(answered) }()
	s.logger.Info("ready", "url", fmt.Sprintf("http://127.0.0.1:%d", s.port), "atlas", s.root, "pid", os.Getpid(), "version", build.Version())
	s.manager.tell(serviceReady)
	err = <-served
	s.stop()
	operator.close()
	work.Wait()
	s.append(api.ShipStopped)
	if end := s.workspaces.Close(context.WithoutCancel(ctx)); end != nil {
		s.logger.Warn("end the tmux server, which has no sessions", "err", end)
	}
	return err
}

// append writes an event of the ship's own. A full disk shows in /readyz, not here.
func (s *ship) append(event string) {
	if err := s.events.Append(api.Event{Type: event}); err != nil {
		s.logger.Error("write an event", "type", event, "err", err)
	}
}

// reload reads atlas.json again, and the toolsets that it names. ctx lasts as long as the ship.
func (s *ship) reload(ctx context.Context) error {
	if err := s.readAtlas(); err != nil {
		return err
	}
	s.loadToolsets(ctx)
	return nil
}

// readAtlas reads atlas.json again. The port of a running ship stays. A file that is refused is a
// problem of the ship's until a good one was read.
func (s *ship) readAtlas() error {
	s.reading.Lock()
	defer s.reading.Unlock()
	file, err := atlas.Read(s.root)
	if err != nil {
		s.refused.Store(&err)
		return err
	}
	s.refused.Store(nil)
	s.file.Store(file)
	if s.reregister != nil {
		s.reregister()
	}
	if file.Port != s.port {
		s.logger.Warn("atlas.json says another port than the one that is served; it counts from the next start on", "says", file.Port, "served", s.port)
	}
	return nil
}

// atlasProblem says, to operators, why atlas.json is not in force: what somebody wrote there, such
// as a rule of what agents may read, does not count yet.
func (s *ship) atlasProblem() error {
	refused := s.refused.Load()
	if refused == nil {
		return nil
	}
	return hint(fmt.Errorf("atlas.json was refused, so what it said before stays in force, and a ship that starts now would not serve: %w", *refused),
		"mend atlas.json, then ship up")
}

// atlasReady is atlasProblem for /readyz, which anybody can ask: of what the file holds, a token
// in the wrong place too, it repeats nothing.
func (s *ship) atlasReady(context.Context) error {
	if s.refused.Load() == nil {
		return nil
	}
	return errors.New("atlas.json was refused, so what it said before stays in force; next: ship status names each fault")
}

// onHangup reads atlas.json again on each SIGHUP, until ctx ends.
func (s *ship) onHangup(ctx context.Context, hangups <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			s.manager.tell(serviceReloads)
			if err := s.reload(ctx); err != nil {
				s.logger.Error("read atlas.json again; the old one stays in force", "err", err)
			} else {
				s.logger.Info("atlas.json read again")
			}
			s.manager.tell(serviceReady)
		}
	}
}

// info describes the ship. A problem of the disk is looked for only where one was met: it is
// asked often.
func (s *ship) info(ctx context.Context) api.Ship {
	info := api.Ship{
		Version: build.Version(), PID: os.Getpid(), Root: s.root, Port: s.port, Bridge: s.bridgeName,
		StartedAt: s.startedAt, Background: s.background, Problems: []string{}, Toolsets: s.server.Toolsets(),
	}
	note := func(err error) {
		if err != nil {
			info.Problems = append(info.Problems, oneLine(err))
		}
	}
	note(s.workspaces.Ready(ctx))
	note(s.bridgeReady(ctx))
	note(s.atlasProblem())
	if s.events.Err() != nil {
		note(s.events.Probe())
	}
	file := s.file.Load()
	if file.Port != s.port {
		note(fmt.Errorf("atlas.json says port %d, but this ship serves on %d, so new adapters send nothing; next: ship down, then ship up, or put the port back", file.Port, s.port))
	}
	return info
}
