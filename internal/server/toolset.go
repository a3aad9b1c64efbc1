package server

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/toolset"
)

const (
	// checkPatience is how long a load waits for contract checks. One that takes longer goes on,
	// and its toolset is served from when it holds: no command may keep the ship from serving.
	checkPatience = 5 * time.Second
	maxProblem    = 1000 // bytes of what is said of a broken toolset; a command may have written it
)

// toolsets are those that the operator declared, and how they stand. The zero toolsets are none.
type toolsets struct {
	limiter  toolset.Limiter // one for all, also across loads
	patience time.Duration   // of a load; 0 means checkPatience

	loading sync.Mutex // held over a load
	cancel  context.CancelFunc
	checks  *sync.WaitGroup // of the last load

	mu  sync.Mutex
	all []*declared
}

// declared is one toolset that atlas.json names.
type declared struct {
	use   string
	root  string           // of the atlas
	set   *toolset.Toolset // nil where its declaration is at fault
	tools []*tool
	state string
	err   error // why it is broken
}

// LoadToolsets puts the toolsets that refs name in the place of those that were served before, and
// checks their contracts. One that is at fault is not served, keeps no other from being served, and
// is told of by Toolsets and /readyz; it is tried again by the next load. A call that runs ends with
// the toolset that it began with, and no session notices.
//
// It waits some seconds for the contract checks, which end at the latest with ctx; give it one that
// lasts as long as the ship. host.Atlas must be the atlas's real path. CloseToolsets must be called
// at the end.
func (s *Server) LoadToolsets(ctx context.Context, host toolset.Host, refs []atlas.Toolset) {
	ts := &s.toolsets
	ts.loading.Lock()
	defer ts.loading.Unlock()
	ts.end()
	host.Limiter = &ts.limiter
	all := s.declare(host, refs)
	ctx, ts.cancel = context.WithCancel(ctx)
	checks := &sync.WaitGroup{}
	ts.checks = checks
	for _, d := range all {
		if d.state == api.ToolsetChecking {
			checks.Go(func() { s.verify(ctx, d) })
		}
	}
	checked := make(chan struct{})
	go func() { checks.Wait(); close(checked) }()
	select {
	case <-checked:
	case <-time.After(cmp.Or(ts.patience, checkPatience)):
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.all = all
	s.serveDeclared()
}

// CloseToolsets ends the contract checks that run and waits for them.
func (s *Server) CloseToolsets() {
	s.toolsets.loading.Lock()
	defer s.toolsets.loading.Unlock()
	s.toolsets.end()
}

func (ts *toolsets) end() {
	if ts.cancel != nil {
		ts.cancel()
		ts.checks.Wait()
	}
}

// Toolsets says how the toolsets of the last load stand, in atlas.json's order.
func (s *Server) Toolsets() []api.Toolset {
	s.toolsets.mu.Lock()
	defer s.toolsets.mu.Unlock()
	list := []api.Toolset{}
	for _, d := range s.toolsets.all {
		list = append(list, d.told())
	}
	return list
}

func (d *declared) told() api.Toolset {
	told := api.Toolset{Use: d.use, State: d.state, Tools: []string{}, Resources: []string{}}
	if d.err != nil {
		told.Problem = shortened(d.err.Error())
	}
	if d.set == nil {
		return told
	}
	told.Name = d.set.Name()
	for _, t := range d.set.Tools() {
		told.Tools = append(told.Tools, t.Name)
	}
	for _, r := range d.set.Resources() {
		told.Resources = append(told.Resources, r.URI)
	}
	return told
}

func shortened(text string) string {
	if len(text) <= maxProblem {
		return text
	}
	return strings.ToValidUTF8(text[:maxProblem], "") + "…"
}

// declare loads what refs name. Of two that clash the first one keeps the name, whether its contract
// holds or not: a mended command must not take tools away from another's clients.
func (s *Server) declare(host toolset.Host, refs []atlas.Toolset) []*declared {
	var all []*declared
	var fit []*toolset.Toolset
	for _, ref := range refs {
		d := &declared{use: ref.Use, root: host.Atlas, state: api.ToolsetChecking}
		all = append(all, d)
		if d.set, d.err = toolset.Load(host, ref); d.err == nil {
			d.err = toolset.CheckNames(append(fit[:len(fit):len(fit)], d.set), s.own.names...)
		}
		if d.err == nil {
			d.tools, d.err = declaredTools(host.Atlas, d.set)
		}
		if d.err != nil {
			d.state = api.ToolsetBroken
			s.config.Logger.Error("a toolset cannot be served", "toolset", d.use, "err", d.err)
			continue
		}
		fit = append(fit, d.set)
	}
	return all
}

// verify checks one contract, and has the toolset served where its load has not waited for it.
func (s *Server) verify(ctx context.Context, d *declared) {
	err := d.set.Verify(ctx)
	if ctx.Err() != nil {
		return // another load, or the ship's end
	}
	s.toolsets.mu.Lock()
	defer s.toolsets.mu.Unlock()
	if d.state, d.err = api.ToolsetServed, err; err != nil {
		d.state = api.ToolsetBroken
		s.config.Logger.Error("a toolset breaks its contract and is not served", "toolset", d.use, "err", err)
	}
	if slices.Contains(s.toolsets.all, d) {
		s.serveDeclared()
	}
}

// serveDeclared has every request from now on see our own tools and those of fit toolsets.
func (s *Server) serveDeclared() {
	c := &catalog{tools: maps.Clone(s.own.tools), names: slices.Clone(s.own.names)}
	for _, d := range s.toolsets.all {
		if d.state != api.ToolsetServed {
			continue
		}
		for _, t := range d.tools {
			c.tools[t.name] = t
			c.names = append(c.names, t.name)
		}
		for _, r := range d.set.Resources() {
			c.resources = append(c.resources, resource{r, d.set, d.root})
		}
	}
	slices.Sort(c.names)
	s.tools.Store(c)
}

// noteToolsets tells /readyz what is not served and why.
func (s *Server) noteToolsets(found *finding) {
	for _, told := range s.Toolsets() {
		switch told.State {
		case api.ToolsetBroken:
			found.note("toolset "+told.Use, errors.New(told.Problem))
		case api.ToolsetChecking:
			found.note("toolset "+told.Use, errors.New("its contract check has not ended yet"))
		}
	}
}
