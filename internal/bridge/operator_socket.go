package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"fleet/api"
)

const (
	adminTime   = 10 * time.Second
	auditTime   = 5 * time.Minute // a long audit is read to its end
	maxAdmin    = 16 << 20        // bytes of an answer to an operator
	adminGrant  = "/v1/grant"
	adminRevoke = "/v1/revoke"
	adminList   = "/v1/list"
	adminVerify = "/v1/audit/verify"
)

// AdminHandler is for operators, on a socket that only they can open (see ListenSocket): whoever
// reaches it may do everything that an Admin does.
func (b *Broker) AdminHandler() http.Handler {
	m := http.NewServeMux()
	m.Handle("POST "+adminGrant, b.admin(func(r api.GrantRequest) (any, error) { return b.desk.grant(r) }))
	m.Handle("POST "+adminRevoke, b.admin(func(r api.GrantRequest) (any, error) { return struct{}{}, b.desk.revoke(r.Ship) }))
	m.Handle("POST "+adminList, b.admin(func(api.GrantRequest) (any, error) { return b.desk.list() }))
	m.Handle("POST "+adminVerify, b.admin(func(api.GrantRequest) (any, error) { return b.desk.verify() }))
	m.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		sendProblem(w, &api.Error{Code: api.NotFound, Reason: "no_route", Message: "the bridge has nothing at this address for operators"})
	})
	return identified(b.log, m)
}

func (b *Broker) admin(do func(api.GrantRequest) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request api.GrantRequest
		if _, err := decodeBody(w, r, &request, "ship", "repo", "verbs"); err != nil {
			sendProblem(w, err)
			return
		}
		if !b.begin() {
			sendProblem(w, ending())
			return
		}
		defer b.work.Done()
		answer, err := do(request)
		var raw json.RawMessage
		if err == nil {
			raw, err = encode(answer)
		}
		if err != nil {
			e := asError(err)
			if e.Err != nil {
				b.log.Warn("an operator's request failed", "code", string(e.Code), "cause", e.Err.Error())
			}
			sendProblem(w, e)
			return
		}
		w.Header().Set("Content-Type", jsonType)
		_, _ = w.Write(raw)
	})
}

// ListenSocket makes a unix socket of mode 0600 at path, in place of one that nobody listens on. The
// directory must be open to its owner alone.
func ListenSocket(path string) (net.Listener, error) { return listenUnix(path, 0o600) }

func listenUnix(path string, mode os.FileMode) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil {
		if info.Mode().Type() != os.ModeSocket {
			return nil, fmt.Errorf("%s is in the way: it is no socket", path)
		}
		if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
			return nil, errors.Join(fmt.Errorf("listen on %s: %w", path, syscall.EADDRINUSE), c.Close())
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("remove a dead socket: %w", err)
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, mode); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// socketAdmin speaks to a running bridge.
type socketAdmin struct{ client *http.Client }

// dialAdmin makes sure that somebody answers at the socket.
func dialAdmin(ctx context.Context, path string) (Admin, error) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "unix", path)
	}
	c, err := dial(ctx, "", "")
	if err != nil {
		why := "does not answer"
		if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) {
			why = "has no socket"
		}
		return nil, &api.Error{
			Code: api.Unavailable, Reason: "bridge_socket", Message: "a bridge is running, but " + why + " at " + path,
			Hint: "if it has just started, try again; otherwise restart it", Err: err,
		}
	}
	_ = c.Close()
	return socketAdmin{&http.Client{Transport: &http.Transport{DialContext: dial}}}, nil
}

func (s socketAdmin) Grant(ctx context.Context, r api.GrantRequest) (*api.Granted, error) {
	return adminCall[api.Granted](ctx, s, adminTime, adminGrant, r)
}

func (s socketAdmin) Revoke(ctx context.Context, ship string) error {
	_, err := adminCall[struct{}](ctx, s, adminTime, adminRevoke, api.GrantRequest{Ship: ship})
	return err
}

func (s socketAdmin) List(ctx context.Context) (*api.Grants, error) {
	return adminCall[api.Grants](ctx, s, adminTime, adminList, api.GrantRequest{})
}

func (s socketAdmin) VerifyAudit(ctx context.Context) (*api.AuditReport, error) {
	return adminCall[api.AuditReport](ctx, s, auditTime, adminVerify, api.GrantRequest{})
}

func (s socketAdmin) Close() error {
	s.client.CloseIdleConnections()
	return nil
}

func adminCall[T any](ctx context.Context, s socketAdmin, limit time.Duration, path string, r api.GrantRequest) (*T, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	raw, err := encode(r)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://bridge"+path, bytes.NewReader(raw))
	if err != nil {
		return nil, internal(err)
	}
	broken := &api.Error{Code: api.Unavailable, Reason: "bridge_socket", Message: "the running bridge broke off", Hint: "look with ship bridge list what it did"}
	resp, err := s.client.Do(req)
	if err != nil {
		broken.Err = err
		return nil, broken
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAdmin))
	if err != nil {
		broken.Err = err
		return nil, broken
	}
	if resp.StatusCode != http.StatusOK {
		if e := problemOf(resp, answer); e != nil {
			return nil, e
		}
		return nil, broken
	}
	value := new(T)
	if err := json.Unmarshal(answer, value); err != nil {
		broken.Err = err
		return nil, broken
	}
	return value, nil
}
