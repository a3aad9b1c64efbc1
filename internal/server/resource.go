package server

import (
	"context"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"

	"fleet/internal/atlas"
	"fleet/internal/toolset"
)

// resource is one of a toolset's. The server declares the capability only while there is one.
type resource struct {
	shown toolset.Resource
	set   *toolset.Toolset
	root  string // of the atlas
}

func (r resource) listed() mcp.Resource {
	listed := mcp.NewResource(r.shown.URI, r.shown.Name, mcp.WithResourceDescription(r.shown.Description), mcp.WithMIMEType(r.shown.MIMEType))
	listed.Title = r.shown.Title
	return listed
}

// read reads r for a workspace's agent. It is run as a tool called by its URI would be: bounded,
// recovered and recorded as one event. A failure is an error, and never a document.
func (s *Server) read(ctx context.Context, id atlas.ID, r resource) ([]mcp.ResourceContents, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	var document toolset.Document
	t := &tool{name: r.shown.URI, Tool: Tool{declared: true, Run: func(ctx context.Context, inv Invocation) (Result, error) {
		place, err := placeOf(r.root, inv.Workspace)
		if err != nil {
			return Result{}, err
		}
		if document, err = r.set.ReadResource(ctx, place, r.shown.URI); err != nil {
			return Result{}, err
		}
		return Result{declared: &toolset.Result{Text: []string{document.Text}}}, nil
	}}}
	done := s.run(ctx, t, Invocation{Workspace: id, Tool: t.name, Key: key})
	if done.isError {
		return nil, errors.New(done.text)
	}
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.shown.URI, MIMEType: document.MIMEType, Text: done.text, Meta: document.Meta}}, nil
}
