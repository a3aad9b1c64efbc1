package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"fleet/internal/atlas"
	"fleet/internal/server"
)

// operatorSocket is ship.sock. Whatever cleans old files may remove it under a running ship, so
// it is looked after.
type operatorSocket struct {
	path    string
	handler http.Handler
	ship    *ship

	mu      sync.Mutex
	closed  bool
	current *http.Server
	info    os.FileInfo
}

const (
	socketPeriod   = time.Second
	operatorDrain  = 5 * time.Second
	headerDeadline = 10 * time.Second
)

func (s *ship) listenOperator(ctx context.Context) (*operatorSocket, error) {
	dir, err := atlas.MakeSockets(s.root)
	if err != nil {
		return nil, err
	}
	o := &operatorSocket{path: filepath.Join(dir, atlas.OperatorSocket), ship: s}
	operator := &server.Operator{
		Workspaces: s.workspaces, Call: s.server.Call, Info: s.info, Reload: s.reload, Stop: s.stop, Logger: s.logger,
	}
	o.handler = operator.Handler()
	if err := o.open(); err != nil {
		return nil, err
	}
	go o.keep(ctx)
	return o, nil
}

// open listens on the socket's path, in place of what an earlier ship left there: the atlas's
// lock is ours, so nobody listens on it.
func (o *operatorSocket) open() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil
	}
	// Whatever tidied the socket away may have taken its folder too.
	if _, err := atlas.MakeSockets(o.ship.root); err != nil {
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
	if err := os.Chmod(o.path, 0o600); err != nil {
		return err
	}
	if o.info, err = os.Lstat(o.path); err != nil {
		return err
	}
	old := o.current
	o.current = &http.Server{Handler: o.handler, ReadHeaderTimeout: headerDeadline}
	go func(s *http.Server) { _ = s.Serve(listener) }(o.current)
	if old != nil {
		go func() { _ = old.Close() }()
	}
	return nil
}

// keep makes the socket anew where its file was removed or replaced.
func (o *operatorSocket) keep(ctx context.Context) {
	tick := time.NewTicker(socketPeriod)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now, err := os.Lstat(o.path)
		if err == nil && os.SameFile(now, o.info) {
			continue
		}
		o.ship.logger.Warn("the operators' socket was removed; making it anew")
		if err := o.open(); err != nil {
			o.ship.logger.Error("make the operators' socket", "err", err)
		}
	}
}

func (o *operatorSocket) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	ctx, cancel := context.WithTimeout(context.Background(), operatorDrain)
	defer cancel()
	if err := o.current.Shutdown(ctx); err != nil {
		_ = o.current.Close()
	}
	if now, err := os.Lstat(o.path); err == nil && os.SameFile(now, o.info) {
		_ = os.Remove(o.path)
	}
}

// isFree says that no process holds the atlas's lock.
func isFree(root string) (bool, error) {
	lock, err := atlas.Lock(root)
	if errors.Is(err, atlas.ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, lock.Unlock()
}

// detached gives a child a session of its own, so that a closed terminal does not end it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
