package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/workspace"
)

// maxOperatorBody bounds a request on ship.sock; activate carries values of the environment.
const maxOperatorBody = 4 << 20

// Operator is what the operator API needs. Who may open ship.sock may do all of it.
type Operator struct {
	Workspaces *workspace.Manager
	Call       func(ctx context.Context, id atlas.ID, tool string, arguments json.RawMessage) (text string, isError bool, err error)
	Info       func(context.Context) api.Ship
	Reload     func(context.Context) error // reads atlas.json again
	Stop       func()                      // begins to end the ship; returns at once
	Logger     *slog.Logger
}

// Handler serves the methods that api lists, under /v1/.
func (o *Operator) Handler() http.Handler {
	r := chi.NewRouter()
	r.Post("/v1/info", method(o, func(ctx context.Context, _ api.Empty) (api.Ship, error) { return o.Info(ctx), nil }))
	r.Post("/v1/workspaces", method(o, o.list))
	r.Post("/v1/workspace", method(o, on(o.Workspaces.Get)))
	r.Post("/v1/create", o.create)
	r.Post("/v1/activate", method(o, o.activate))
	r.Post("/v1/deactivate", method(o, on(o.Workspaces.Deactivate)))
	r.Post("/v1/remove", method(o, o.remove))
	r.Post("/v1/rotate", method(o, on(o.rotate)))
	r.Post("/v1/call", method(o, o.call))
	r.Post("/v1/logs", method(o, o.logs))
	r.Post("/v1/reload", method(o, o.reload))
	r.Post("/v1/stop", method(o, o.stop))
	return r
}

// method makes a handler of a function from request to answer; Client.call is its twin.
func method[Req, Resp any](o *Operator, f func(context.Context, Req) (Resp, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var req Req
		if err := decodeBody(w, r, &req); err != nil {
			o.refuse(w, err)
			return
		}
		resp, err := f(r.Context(), req)
		if err != nil {
			o.refuse(w, err)
			return
		}
		// Encoded before the status is sent: an empty 200 would look like a ship of another version.
		body, err := json.Marshal(resp)
		if err != nil {
			o.refuse(w, unencodable(err))
			return
		}
		send(w, http.StatusOK, append(body, '\n'))
	}
}

func unencodable(err error) error {
	return &api.Error{
		Code: api.Internal, Reason: "unencodable_answer", Message: "it was done, but the ship cannot put its answer into JSON",
		Hint: "see the ship's log for the cause", Err: err,
	}
}

// on adapts a function of a workspace to a request that only names one.
func on[Resp any](f func(context.Context, atlas.ID) (Resp, error)) func(context.Context, api.WorkspaceName) (Resp, error) {
	return func(ctx context.Context, t api.WorkspaceName) (Resp, error) {
		id, err := target(t)
		if err != nil {
			var none Resp
			return none, err
		}
		return f(ctx, id)
	}
}

func target(t api.WorkspaceName) (atlas.ID, error) {
	id, err := atlas.NewID(t.Repo, t.Name)
	if err != nil {
		return id, &api.Error{Code: api.Invalid, Reason: "bad_name", Message: err.Error(), Hint: "name a workspace as REPO/NAME", Err: err}
	}
	return id, nil
}

func decodeBody(w http.ResponseWriter, r *http.Request, into any) error {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOperatorBody))
	d.DisallowUnknownFields() // a newer ship's request must not be half understood
	if err := d.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return &api.Error{
			Code: api.Invalid, Reason: "bad_request", Message: "the ship does not understand this request",
			Hint: "use the ship program of the same version as the running ship (ship version)", Err: err,
		}
	}
	return nil
}

// refuse answers with err, and logs its cause, which does not leave the ship.
func (o *Operator) refuse(w http.ResponseWriter, err error) {
	e := o.asError(err)
	body, err := json.Marshal(e)
	if err != nil {
		plain(w, http.StatusInternalServerError, "internal error\n")
		return
	}
	send(w, e.Code.HTTPStatus(), append(body, '\n'))
}

func (o *Operator) asError(err error) *api.Error {
	var e *api.Error
	switch {
	case errors.As(err, &e):
	case errors.Is(err, context.Canceled):
		e = &api.Error{Code: api.Unavailable, Reason: "cancelled", Message: "the request was given up", Err: err}
	case errors.Is(err, context.DeadlineExceeded):
		e = &api.Error{Code: api.Unavailable, Reason: "deadline", Message: "it took too long", Hint: "try again", Err: err}
	default:
		e = &api.Error{Code: api.Internal, Message: err.Error(), Hint: "see the ship's log", Err: err}
	}
	// What the operator can see and mend himself need not be in the log.
	if e.Err != nil && e.Code.HTTPStatus() >= http.StatusInternalServerError {
		o.Logger.Warn("operator request failed", "code", string(e.Code), "reason", e.Reason, "err", e.Err)
	}
	return e
}

func (o *Operator) list(ctx context.Context, _ api.Empty) (api.Workspaces, error) {
	all, err := o.Workspaces.List(ctx)
	if all == nil {
		all = []api.Workspace{}
	}
	return api.Workspaces{Workspaces: all}, err
}

func (o *Operator) activate(ctx context.Context, req api.ActivateRequest) (api.Workspace, error) {
	id, err := target(req.WorkspaceName)
	if err != nil {
		return api.Workspace{}, err
	}
	return o.Workspaces.Activate(ctx, id, workspace.ActivateOptions{Env: req.Env, Command: req.Command})
}

func (o *Operator) remove(ctx context.Context, req api.RemoveRequest) (api.Empty, error) {
	id, err := target(req.WorkspaceName)
	if err != nil {
		return api.Empty{}, err
	}
	return api.Empty{}, o.Workspaces.Remove(ctx, id, req.Force)
}

func (o *Operator) rotate(ctx context.Context, id atlas.ID) (api.Empty, error) {
	return api.Empty{}, o.Workspaces.Rotate(ctx, id)
}

func (o *Operator) call(ctx context.Context, req api.CallRequest) (api.CallResult, error) {
	id, err := target(req.WorkspaceName)
	if err != nil {
		return api.CallResult{}, err
	}
	text, isError, err := o.Call(ctx, id, req.Tool, req.Arguments)
	return api.CallResult{Text: text, IsError: isError}, err
}

func (o *Operator) logs(ctx context.Context, req api.LogsRequest) (api.Logs, error) {
	id, err := target(req.WorkspaceName)
	if err != nil {
		return api.Logs{}, err
	}
	lines := req.Lines
	if lines == 0 {
		lines = math.MaxInt
	}
	text, err := o.Workspaces.Capture(ctx, id, lines)
	return api.Logs{Text: text}, err
}

func (o *Operator) reload(ctx context.Context, _ api.Empty) (api.Ship, error) {
	if err := o.Reload(ctx); err != nil {
		return api.Ship{}, &api.Error{
			Code: api.Invalid, Reason: "bad_atlas", Message: "the ship goes on with the old atlas: " + err.Error(),
			Hint: "mend atlas.json, then send the ship SIGHUP", Err: err,
		}
	}
	return o.Info(ctx), nil
}

func (o *Operator) stop(ctx context.Context, _ api.Empty) (api.Ship, error) {
	info := o.Info(ctx)
	o.Stop()
	return info, nil
}

// create streams git's progress, since a clone may take minutes, and ends with the workspace or
// an error on the last line. A caller who hangs up ends the clone.
func (o *Operator) create(w http.ResponseWriter, r *http.Request) {
	var req api.CreateRequest
	err := decodeBody(w, r, &req)
	if err != nil {
		o.refuse(w, err)
		return
	}
	id, err := target(req.WorkspaceName)
	if err != nil {
		o.refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	steps := &stepWriter{encoder: json.NewEncoder(w), flush: http.NewResponseController(w).Flush}
	made, err := o.Workspaces.Create(r.Context(), id, workspace.CreateOptions{Branch: req.Branch, From: req.From}, steps)
	last := api.CreateStep{Workspace: &made}
	if err != nil {
		last = api.CreateStep{Error: o.asError(err)}
	}
	if err := steps.send(last); err != nil {
		_ = steps.send(api.CreateStep{Error: o.asError(unencodable(err))})
	}
}

// stepWriter turns what git prints, lines that end in \n or \r, into steps.
type stepWriter struct {
	encoder *json.Encoder
	flush   func() error
	partial string
}

// maxProgress bounds a line: what git prints comes from a remote too, which may never end one.
const maxProgress = 8 << 10

// Write takes parts of lines, and passes each line on once it has ended.
func (s *stepWriter) Write(p []byte) (int, error) {
	text := s.partial + string(p)
	for {
		i := strings.IndexAny(text, "\r\n")
		if i < 0 {
			break
		}
		if line := strings.TrimSpace(text[:i]); line != "" {
			_ = s.send(api.CreateStep{Progress: line}) // who hung up is told by the request's context
		}
		text = text[i+1:]
	}
	s.partial = text[:min(len(text), maxProgress)]
	return len(p), nil
}

// send writes nothing of a step that cannot be encoded.
func (s *stepWriter) send(step api.CreateStep) error {
	return errors.Join(s.encoder.Encode(step), s.flush())
}
