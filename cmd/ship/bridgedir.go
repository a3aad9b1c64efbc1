package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"fleet/internal/bridge"
)

const (
	// headerDir tells operators where a running bridge has its files, which bridge.yaml may not
	// say any more.
	headerDir = "Fleet-Bridge-Dir"
	healthz   = "/v1/healthz"
	dirTime   = 2 * time.Second
)

// tellsDir adds the bridge's directory to what everybody may ask. Behind TLS, where other hosts
// ask too, it does not: without, the bridge is on loopback or a unix socket.
func tellsDir(file *bridge.File, next http.Handler) http.Handler {
	if file.TLS != nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == healthz {
			w.Header().Set(headerDir, file.Dir)
		}
		next.ServeHTTP(w, r)
	})
}

// runningDir asks whoever listens there where it has its files. answered: it has said so. dir is ""
// unless this user owns that directory: another one's listener, in the place of a bridge that does
// not run, must not have operators speak to it.
func runningDir(ctx context.Context, listen string) (dir string, answered bool) {
	network, address := "tcp", listen
	if path, ok := strings.CutPrefix(listen, "unix://"); ok {
		network, address = "unix", path
	}
	if network == "tcp" && !onLoopback(address) {
		return "", false
	}
	ctx, cancel := context.WithTimeout(ctx, dirTime)
	defer cancel()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+healthz, nil)
	if err != nil {
		return "", false
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return "", false
	}
	defer resp.Body.Close()
	dir = resp.Header.Get(headerDir)
	if !filepath.IsAbs(dir) {
		return "", false
	}
	if owner, err := ownerOf(dir); err != nil || owner != os.Geteuid() {
		return "", true
	}
	return dir, true
}

func onLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && (host == "localhost" || net.ParseIP(host).IsLoopback())
}

// ownerOf is the user to whom a file belongs.
func ownerOf(path string) (int, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return -1, err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid), nil
	}
	return -1, syscall.ENOTSUP
}
