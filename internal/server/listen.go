package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// shutdownTimeout is what requests in flight have left after the ship's end was asked for.
	shutdownTimeout = 8 * time.Second
	portTries       = 20
	// idleTimeout is how long a client may keep a connection for later.
	idleTimeout = 2 * time.Minute
)

// Listeners are the open sockets of one port. Until Serve takes them they are the caller's to Close.
type Listeners struct {
	port int
	all  []net.Listener
}

// Port is the port really bound.
func (l *Listeners) Port() int { return l.port }

// Close closes the sockets.
func (l *Listeners) Close() error {
	var errs []error
	for _, one := range l.all {
		if err := one.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Listen opens one port on 127.0.0.1 and on [::1]; port 0 lets the system choose one that is free
// on both. An address in another's hands is an error that says what to do, since clients that
// come by the other name would send their token there. A machine without IPv6 goes on without.
func Listen(port int) (*Listeners, error) {
	if port != 0 {
		return listenBoth(port)
	}
	var err error
	for range portTries {
		var l *Listeners
		if l, err = listenBoth(0); err == nil {
			return l, nil
		}
	}
	return nil, err
}

func listenBoth(port int) (*Listeners, error) {
	// Multipath sockets, Go's default, take no filter, and there is one path on loopback.
	var config net.ListenConfig
	config.SetMultipathTCP(false)
	four, err := config.Listen(context.Background(), "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, unbound("127.0.0.1", port, err)
	}
	l := &Listeners{port: four.Addr().(*net.TCPAddr).Port, all: []net.Listener{four}}
	six, err := config.Listen(context.Background(), "tcp6", net.JoinHostPort("::1", strconv.Itoa(l.port)))
	switch {
	case err == nil:
		l.all = append(l.all, six)
	case !errors.Is(err, syscall.EADDRNOTAVAIL) && !errors.Is(err, syscall.EAFNOSUPPORT):
		return nil, errors.Join(unbound("::1", l.port, err), l.Close())
	}
	return l, nil
}

func unbound(host string, port int, err error) error {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("another program listens on %s; end it, or give this atlas another \"port\" in atlas.json: %w", address, err)
	}
	return fmt.Errorf("cannot listen on %s; give this atlas another \"port\" in atlas.json: %w", address, err)
}

// Serve answers on l until ctx ends, then lets requests in flight end and returns within 10 s. A
// client is told where nothing that it sent was done. It closes l. The error is nil after an end that
// ctx asked for.
func (s *Server) Serve(ctx context.Context, l *Listeners) error {
	open, draining := newConnections(s.maxConnections), &atomic.Bool{}
	return serve(ctx, l, s.httpServer(open, draining), open, draining)
}

func serve(ctx context.Context, l *Listeners, h *http.Server, open *connections, draining *atomic.Bool) error {
	ended := make(chan error, len(l.all))
	var serving sync.WaitGroup
	var ports []drainable
	for _, one := range l.all {
		ports = append(ports, drainable{one, draining})
	}
	for _, one := range ports {
		serving.Go(func() { ended <- h.Serve(one) })
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-ended:
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	draining.Store(true)
	open.drain()
	for _, one := range ports {
		one.end()
	}
	serving.Wait() // from here on open has every connection
	open.drain()   // one that was accepted before the end may have come to open after the first look
	// Not Shutdown: it may close a connection between its answer and its turn to be told that no
	// further request is read.
	open.wait(stop)
	_ = h.Close() // whoever is left had its time
	return err
}

func (s *Server) httpServer(open *connections, draining *atomic.Bool) *http.Server {
	// No WriteTimeout: a tool may take its time, and bounds itself.
	return &http.Server{
		Handler:           leaving(draining, s.Handler()),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       s.bodyTimeout, // net/http lifts it once the body is there
		IdleTimeout:       idleTimeout,
		ConnState:         open.note,
		ConnContext:       open.attach,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.config.Logger.Handler(), slog.LevelWarn),
	}
}
