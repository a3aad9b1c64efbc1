package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"fleet/api"
)

// Call runs one tool once, as one process in place's folder. It answers within a second of
// ctx's end or of the declaration's timeout_seconds, whichever comes first, with every process
// that the call started, and that stayed in its group, dead. At most four calls run at once in a
// workspace; others wait for their turn as long as ctx lasts.
//
// Whatever goes wrong is told in the Result.
func (t *Toolset) Call(ctx context.Context, place Place, name string, args json.RawMessage) Result {
	ready, err := t.tool(name)
	if err != nil {
		return refusal(err)
	}
	b, err := t.bounds(place)
	if err != nil {
		return refusal(err)
	}
	// Checking arguments is work for an agent too: the slots bound it as they bound processes.
	release, err := t.host.Limiter.acquire(ctx, b.workspace)
	if err != nil {
		return refusal(unstarted(ctx))
	}
	defer release()
	given, err := ready.read(args)
	if err != nil {
		return refusal(err)
	}
	session, err := t.session(ready, given)
	if err != nil {
		return refusal(err)
	}
	result := t.perform(ctx, b, ready, given)
	result.Session = session
	return result
}

// session is held to a plain word also where the command never gets it, since it is recorded.
func (t *Toolset) session(ready *tool, given map[string]any) (string, error) {
	text, ok := given[t.declared.SessionInput].(string)
	if !ok {
		return "", nil
	}
	if _, err := word(text); err != nil {
		return "", ready.refuse(fmt.Sprintf("%q: %v", t.declared.SessionInput, err))
	}
	return text, nil
}

func (t *Toolset) perform(ctx context.Context, b bounds, ready *tool, given map[string]any) Result {
	argv, err := t.argv(ctx, ready, b, given)
	if err != nil {
		return refusal(err)
	}
	r, failed := t.run(ctx, b.workspace, argv)
	if failed != nil {
		return t.failed(failed)
	}
	result := t.interpret(ctx, ready, argv, given, r)
	if ready.shown.RepositoryText {
		result.Meta = map[string]any{t.Name() + "/repository-text": true}
	}
	return result
}

// unstarted says why a call whose ctx has ended started nothing.
func unstarted(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &api.Error{
			Code: api.Unavailable, Reason: "busy", Message: "the call's time was over before its turn came and its arguments were checked, so nothing was run",
			Hint: "wait for other calls of this workspace to end and call again",
		}
	}
	return &api.Error{
		Code: api.Unavailable, Reason: "given_up", Message: "the request was given up before the command started, so nothing was run",
		Hint: "call again if you still want it",
	}
}

// refusal is the result of a call that started nothing.
func refusal(err error) Result {
	var known *api.Error
	if !errors.As(err, &known) {
		known = &api.Error{Code: api.Internal, Message: "the call could not be prepared", Err: err}
	}
	return Result{Text: []string{known.Text()}, IsError: true, Refused: known.Code == api.Invalid, Err: known.Err}
}

// failed is the result of a run that told nothing.
func (t *Toolset) failed(f *failure) Result {
	text := cut(t.Name()+" adapter error: "+f.text, t.declared.MaxOutputBytes, false)
	return Result{Text: []string{text}, IsError: true, Err: f.cause}
}

// Verify runs the declaration's contract check, if it has one, and says how the command breaks
// it. A toolset that fails is not to be served; it may be verified again.
func (t *Toolset) Verify(ctx context.Context) error {
	if t.contract == nil {
		return nil
	}
	r, failed := t.run(ctx, "/", t.Contract())
	if failed == nil {
		var p payload
		if p, failed = t.payload(t.contract, r); failed == nil && p.declined {
			failed = &failure{text: "the command declined: " + string(p.raw)}
		}
	}
	if failed == nil {
		return nil
	}
	err := fmt.Errorf("toolset %s: contract check: %s", t.source, cut(failed.text, t.declared.MaxOutputBytes, false))
	if failed.cause != nil {
		err = fmt.Errorf("%w: %w", err, failed.cause)
	}
	return err
}

// Document is what a resource holds now.
type Document struct {
	MIMEType string
	Text     string
	Meta     map[string]any // its _meta: the same marks as the tool's results have; nil for most
}

// ReadResource runs the tool behind a resource and gives the text in full detail. A command that
// declines, breaks its contract or prints more than max_output_bytes is an *api.Error with code
// Unavailable, an unknown URI one with NotFound; neither is ever the resource's text.
func (t *Toolset) ReadResource(ctx context.Context, place Place, uri string) (Document, error) {
	n := slices.IndexFunc(t.declared.Resources, func(r resourceDeclaration) bool { return r.URI == uri })
	if n < 0 {
		return Document{}, &api.Error{Code: api.NotFound, Reason: "unknown_resource", Message: fmt.Sprintf("the toolset %s has no resource %q", t.Name(), uri)}
	}
	r := t.declared.Resources[n]
	args := json.RawMessage(`{}`)
	if t.tools[r.Tool].keep != nil {
		args = json.RawMessage(`{"responseFormat":"detailed"}`)
	}
	result := t.Call(ctx, place, r.Tool, args)
	text := result.Text[len(result.Text)-1]
	switch {
	case result.IsError || result.Refused:
		return Document{}, unreadable(text, result.Err)
	case result.partial: // half a document would pass for the whole one
		return Document{}, unreadable(fmt.Sprintf("it is longer than %d bytes", t.declared.MaxOutputBytes), nil)
	}
	return Document{MIMEType: r.MIMEType, Text: text, Meta: result.Meta}, nil
}

func unreadable(why string, cause error) error {
	return &api.Error{Code: api.Unavailable, Reason: "resource_failed", Message: "the resource cannot be read: " + why, Err: cause}
}
