package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"fleet/api"
	"fleet/internal/atlas"
)

// reply is what one message is answered with.
type reply struct {
	status int
	body   []byte // nil: no answer, as to a notification
}

// exchange answers one body that came in with a good token.
func (s *Server) exchange(w http.ResponseWriter, r *http.Request, id atlas.ID, body []byte) {
	if f := checkText(body); f != nil {
		send(w, f.status(false), f.encode())
		return
	}
	var out reply
	if isBatch(body) {
		out = s.batch(r, id, body)
	} else {
		out = s.single(r.Context(), r.Header, id, body, r.Header.Get(requestID))
	}
	if out.body == nil {
		w.WriteHeader(out.status)
		return
	}
	send(w, out.status, out.body)
}

func (s *Server) single(ctx context.Context, h http.Header, id atlas.ID, raw []byte, key string) reply {
	m, f := readMessage(raw)
	if f != nil {
		return reply{http.StatusBadRequest, f.encode()}
	}
	if !m.isRequest() {
		return s.unanswered(h, m)
	}
	isModern, f := checkVersion(h, m)
	if f != nil {
		return reply{f.status(isModern), f.encode()}
	}
	result, f := s.dispatch(ctx, request{m, h, id, isModern, key})
	if f != nil {
		return reply{f.status(isModern), f.encode()}
	}
	return reply{http.StatusOK, answer(m.id, "result", result)}
}

// unanswered takes notifications and responses, and does nothing with them. A notification
// notifications/cancelled is dropped on purpose: closing the request is the cancel, and mcp-go
// would look for the named id among the requests of all clients.
func (s *Server) unanswered(h http.Header, m message) reply {
	f := checkHeader(h, message{})
	if f == nil && m.isResponse() && modern(headerVersion(h)) {
		f = m.fault(codeInvalidRequest, "a client sends no responses in this protocol version")
	}
	if f != nil {
		return reply{http.StatusBadRequest, f.encode()}
	}
	return reply{status: http.StatusAccepted}
}

// batch answers the messages of one body in their order, as revision 2025-03-26 has it.
func (s *Server) batch(r *http.Request, id atlas.ID, body []byte) reply {
	refused := func(f *fault) reply { return reply{http.StatusBadRequest, f.encode()} }
	if !mayBatch(r.Header) {
		return refused(&fault{code: codeInvalidRequest, text: "this protocol version has no batches; send one message a request"})
	}
	messages, f := splitBatch(body)
	if f != nil {
		return refused(f)
	}
	// The time of one tool is the time of all of them together.
	ctx, cancel := context.WithTimeout(r.Context(), s.toolTimeout)
	defer cancel()
	var out []byte
	for _, raw := range messages {
		if one := s.batched(ctx, r.Header, id, raw); one != nil {
			out = append(append(out, ','), one...)
		}
	}
	if out == nil {
		return reply{status: http.StatusAccepted}
	}
	out[0] = '['
	return reply{http.StatusOK, append(out, ']')}
}

func (s *Server) batched(ctx context.Context, h http.Header, id atlas.ID, raw []byte) []byte {
	m, f := readMessage(raw)
	switch {
	case f != nil:
		return f.encode()
	case m.isRequest() && m.method == string(mcp.MethodInitialize):
		return m.fault(codeInvalidRequest, "initialize cannot be part of a batch").encode()
	case m.isRequest() && ctx.Err() != nil:
		return m.fault(codeInternal, "not run, since the batch took too long; send it again by itself").encode()
	}
	key, err := newKey() // each call has its own
	if err != nil {
		return m.fault(codeInternal, "no random numbers to be had").encode()
	}
	return s.single(ctx, h, id, raw, key).body
}

// request is a message that has to be answered, with what came beside it.
type request struct {
	message
	header    http.Header
	workspace atlas.ID
	isModern  bool
	key       string
}

// dispatch answers one request, by way of the workspace's mcp-go server unless it calls a tool.
func (s *Server) dispatch(ctx context.Context, r request) (json.RawMessage, *fault) {
	switch mcp.MCPMethod(r.method) {
	case mcp.MethodSubscriptionsListen:
		return nil, r.fault(codeMethodNotFound, "this server has no subscriptions")
	case mcp.MethodToolsCall:
		return s.callTool(ctx, r)
	}
	if !r.isModern {
		r.params.Meta = nil // nothing that a legacy client says there has a meaning for us
	}
	result, f := s.mounts.of(s, r.workspace).handle(ctx, r.message)
	if f != nil {
		f.id = r.id
	}
	return result, f
}

// callTool calls a tool and answers as mcp-go does, which would decode the request some times
// more before it did. No other request comes nearly as often.
func (s *Server) callTool(ctx context.Context, r request) (json.RawMessage, *fault) {
	t, f := s.named(r.message)
	if f != nil {
		return nil, f
	}
	if r.isModern {
		if f := compareParams(r.header, t, r.message); f != nil {
			return nil, f
		}
	}
	done := s.run(ctx, t, Invocation{Workspace: r.workspace, Tool: t.name, Arguments: r.params.Arguments, Key: r.key})
	result, err := encodeCall(done, r.isModern, s.identity)
	if err != nil {
		return nil, r.fault(codeInternal, "the answer cannot be written as JSON")
	}
	return result, nil
}

// named finds the tool that a tools/call means.
func (s *Server) named(m message) (*tool, *fault) {
	name, ok := asString(m.params.Name)
	if !ok || name == "" {
		return nil, m.fault(codeInvalidParams, "params.name must be the name of a tool, a string")
	}
	if !absent(m.params.Arguments) && !isObject(m.params.Arguments) {
		return nil, m.fault(codeInvalidParams, "params.arguments must be an object")
	}
	t := s.tools.Load().tools[name]
	if t == nil {
		return nil, m.fault(codeInvalidParams, "there is no tool "+quoted(name)+"; tools/list names those that there are")
	}
	return t, nil
}

// callable is named for an operator's call.
func (s *Server) callable(name string, arguments json.RawMessage) (*tool, error) {
	served := s.tools.Load()
	t := served.tools[name]
	if t == nil {
		return nil, &api.Error{
			Code: api.NotFound, Reason: "unknown_tool", Message: "there is no tool " + quoted(name),
			Hint: "choose one of " + strings.Join(served.names, ", "),
		}
	}
	if !absent(arguments) && (!isObject(arguments) || !json.Valid(arguments)) {
		return nil, t.refuse("the arguments must be one JSON object")
	}
	return t, nil
}
