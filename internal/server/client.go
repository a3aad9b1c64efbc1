package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"fleet/api"
)

// Client speaks the operator API on a ship's socket. It is safe for concurrent use.
type Client struct {
	socket string
	http   *http.Client
}

// ErrNoShip says that nobody answers on the socket.
var ErrNoShip = errors.New("no ship answers")

const (
	dialTimeout   = 2 * time.Second
	maxAnswerLine = 4 << 20

	// What a ship has to answer in where the caller sets no deadline.
	usualPatience  = 30 * time.Second
	callPatience   = toolTimeout + usualPatience
	removePatience = 10 * time.Minute // a checkout may hold a million files
)

// NewClient does no I/O. Where the context of a call has no deadline, a ship that does not answer
// in half a minute, a tool in 90 s, or a removal in ten minutes, is an Unavailable that says what
// to do. Create may take as long as it takes.
func NewClient(socket string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "unix", socket)
	}
	return &Client{socket: socket, http: &http.Client{Transport: &http.Transport{DialContext: dial, Proxy: nil}}}
}

// Info asks what the running ship is.
func (c *Client) Info(ctx context.Context) (api.Ship, error) {
	return call[api.Empty, api.Ship](ctx, c, "info", api.Empty{})
}

// Workspaces lists every workspace of the atlas, by repository and name.
func (c *Client) Workspaces(ctx context.Context) (api.Workspaces, error) {
	return call[api.Empty, api.Workspaces](ctx, c, "workspaces", api.Empty{})
}

// Workspace gives one.
func (c *Client) Workspace(ctx context.Context, t api.WorkspaceName) (api.Workspace, error) {
	return call[api.WorkspaceName, api.Workspace](ctx, c, "workspace", t)
}

// Activate starts a workspace's session.
func (c *Client) Activate(ctx context.Context, r api.ActivateRequest) (api.Workspace, error) {
	return call[api.ActivateRequest, api.Workspace](ctx, c, "activate", r)
}

// Deactivate revokes a workspace's token and ends its session.
func (c *Client) Deactivate(ctx context.Context, t api.WorkspaceName) (api.Workspace, error) {
	return call[api.WorkspaceName, api.Workspace](ctx, c, "deactivate", t)
}

// Remove deletes a workspace's checkout.
func (c *Client) Remove(ctx context.Context, r api.RemoveRequest) error {
	_, err := call[api.RemoveRequest, api.Empty](ctx, c, "remove", r)
	return err
}

// Rotate gives a workspace a new token.
func (c *Client) Rotate(ctx context.Context, t api.WorkspaceName) error {
	_, err := call[api.WorkspaceName, api.Empty](ctx, c, "rotate", t)
	return err
}

// Call calls a tool as the workspace's agent would.
func (c *Client) Call(ctx context.Context, r api.CallRequest) (api.CallResult, error) {
	return call[api.CallRequest, api.CallResult](ctx, c, "call", r)
}

// Logs gives a session's text.
func (c *Client) Logs(ctx context.Context, r api.LogsRequest) (api.Logs, error) {
	return call[api.LogsRequest, api.Logs](ctx, c, "logs", r)
}

// Reload lets the ship read atlas.json again.
func (c *Client) Reload(ctx context.Context) (api.Ship, error) {
	return call[api.Empty, api.Ship](ctx, c, "reload", api.Empty{})
}

// Stop begins to end the ship.
func (c *Client) Stop(ctx context.Context) (api.Ship, error) {
	return call[api.Empty, api.Ship](ctx, c, "stop", api.Empty{})
}

// Create makes a workspace; progress gets each line that git prints meanwhile.
func (c *Client) Create(ctx context.Context, r api.CreateRequest, progress func(string)) (api.Workspace, error) {
	resp, err := c.post(ctx, "create", r)
	if err != nil {
		return api.Workspace{}, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxAnswerLine)
	for lines.Scan() {
		var step api.CreateStep
		if err := json.Unmarshal(lines.Bytes(), &step); err != nil {
			return api.Workspace{}, fmt.Errorf("read the ship's answer: %w", err)
		}
		switch {
		case step.Error != nil:
			return api.Workspace{}, step.Error
		case step.Workspace != nil:
			return *step.Workspace, nil
		default:
			progress(step.Progress)
		}
	}
	// What was half cloned is in no workspace's place, so a new try is safe.
	return api.Workspace{}, &api.Error{
		Code: api.Unavailable, Reason: "ship_ended", Message: "the ship ended before the workspace was ready",
		Hint: "start the ship and run ship create again", Err: lines.Err(),
	}
}

// call is the twin of method.
func call[Req, Resp any](ctx context.Context, c *Client, name string, req Req) (Resp, error) {
	var answer Resp
	if _, set := ctx.Deadline(); !set {
		limit := patience(name)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, unheard(name, limit))
		defer cancel()
	}
	resp, err := c.post(ctx, name, req)
	if err != nil {
		return answer, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return answer, cutOff(ctx, fmt.Errorf("read the ship's answer to %s: %w", name, err))
	}
	return answer, nil
}

func patience(name string) time.Duration {
	switch name {
	case "call":
		return callPatience
	case "remove":
		return removePatience
	}
	return usualPatience
}

func unheard(name string, limit time.Duration) error {
	return &api.Error{
		Code: api.Unavailable, Reason: "no_answer",
		Message: fmt.Sprintf("the ship did not answer to %s within %s; it may still do it", name, limit),
		Hint:    "look at ship.log in the atlas's folder .ship; if the ship hangs, end its process, then run: ship up",
	}
}

// cutOff gives err, or what our own deadline says where that was the cause.
func cutOff(ctx context.Context, err error) error {
	var late *api.Error
	if errors.As(context.Cause(ctx), &late) {
		late.Err = err
		return late
	}
	return err
}

func (c *Client) post(ctx context.Context, name string, req any) (*http.Response, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://ship/v1/"+name, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(r)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) && op.Op == "dial" {
			return nil, fmt.Errorf("%w on %s: %w", ErrNoShip, c.socket, op.Err)
		}
		return nil, cutOff(ctx, fmt.Errorf("ask the ship to %s: %w", name, err))
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, refusal(name, resp)
}

func refusal(name string, resp *http.Response) error {
	e := &api.Error{}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerLine))
	if err != nil || json.Unmarshal(raw, e) != nil || e.Code == "" {
		return &api.Error{
			Code: api.Unsupported, Message: fmt.Sprintf("the ship answers %s to %s", resp.Status, name),
			Hint: "use the ship program of the same version as the running ship (ship version)",
		}
	}
	return e
}
