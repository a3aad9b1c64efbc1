package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"fleet/internal/atlas"
	"fleet/internal/server"
)

// operatorSocket is ship.sock. Whatever cleans old files may remove it under a running ship, so
// it is looked after, and made anew for as long as the ship lives.
type operatorSocket struct {
	root, path string
	server     *http.Server
	logger     *slog.Logger
	work       sync.WaitGroup

	mu    sync.Mutex
	ended bool
	info  os.FileInfo // of the socket that is listened on
}

const (
	socketPeriod   = time.Second
	operatorDrain  = 5 * time.Second
	headerDeadline = 10 * time.Second
)

// listenOperator serves operators until ctx ends; what they wait for then, such as a clone, is
// broken off. close waits until the last one has his answer.
func (s *ship) listenOperator(ctx context.Context) (*operatorSocket, error) {
	dir, err := atlas.MakeSockets(s.root)
	if err != nil {
		return nil, err
	}
	operator := &server.Operator{
		Workspaces: s.workspaces, Call: s.server.Call, Info: s.info, Stop: s.stop, Logger: s.logger,
		// Contract checks outlast the request that asked for them.
		Reload: func(context.Context) error { return s.reload(ctx) },
	}
	o := &operatorSocket{root: s.root, path: filepath.Join(dir, atlas.OperatorSocket), logger: s.logger}
	o.server = &http.Server{
		Handler: operator.Handler(), ReadHeaderTimeout: headerDeadline,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	if err := o.open(); err != nil {
		return nil, err
	}
	o.work.Go(func() { o.keep(ctx) })
	return o, nil
}

// open listens on the socket's path, in place of what an earlier ship left there: the atlas's
// lock is ours, so nobody listens on it. A socket that was removed goes on serving those who are
// connected to it.
func (o *operatorSocket) open() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return nil
	}
	// Whatever tidied the socket away may have taken its folder too.
	if _, err := atlas.MakeSockets(o.root); err != nil {
		return err
	}
	if err := os.Remove(o.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// The folder has mode 0700, so the moment before chmod lets nobody in.
	listener, err := net.Listen("unix", o.path)
	if err != nil {
		return fmt.Errorf("listen for operators: %w", err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	err = os.Chmod(o.path, 0o600)
	if err == nil {
		o.info, err = os.Lstat(o.path)
	}
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	o.work.Go(func() {
		if err := o.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			o.logger.Error("serve operators", "err", err)
		}
	})
	return nil
}

// keep makes the socket anew where its file was removed or replaced.
func (o *operatorSocket) keep(ctx context.Context) {
	tick := time.NewTicker(socketPeriod)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			o.end()
			return
		case <-tick.C:
		}
		if o.stands() {
			continue
		}
		o.logger.Warn("the operators' socket was removed; making it anew")
		if err := o.open(); err != nil {
			o.logger.Error("make the operators' socket", "err", err)
		}
	}
}

func (o *operatorSocket) stands() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	now, err := os.Lstat(o.path)
	return err == nil && os.SameFile(now, o.info)
}

// end takes no more operators and gives those that are here some seconds.
func (o *operatorSocket) end() {
	o.mu.Lock()
	o.ended = true
	o.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), operatorDrain)
	defer cancel()
	if err := o.server.Shutdown(ctx); err != nil {
		_ = o.server.Close()
	}
	if o.stands() {
		_ = os.Remove(o.path)
	}
}

// close waits until all that end began is over.
func (o *operatorSocket) close() { o.work.Wait() }
