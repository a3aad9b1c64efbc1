package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// width is how many requests wait for their answer at once, wherever that is measured.
const width = 32

// settle is how long an adapter is left alone before its idle memory is read.
const settle = 200 * time.Millisecond

// adapter is one that is measured, and how much of it a round bears.
type adapter struct {
	name string
	program
	starts int // from start to the answer of tools/list
	calls  int // one after the other
	burst  int // calls with many in flight
	scores *scores
}

// scores are an adapter's, each a value a round.
type scores struct {
	start   series // ms
	perCall series // ms, the median of a round's calls
	rate    series // calls a second with many in flight
	idle    series // MiB
}

const (
	forwarderName = "forwarder"
	agentName     = "agent-mcp"
	scrubbedName  = "agent-mcp, scrubbed environment"
	remoteName    = "mcp-remote"
	gatewayName   = "supergateway"
)

func measureAdapter(ctx context.Context, b *bench) ([]row, error) {
	far, address, _, err := b.program("bare").serve(ctx, ":")
	if err != nil {
		return nil, err
	}
	defer far.stop()
	w, err := b.newWorkspace(address)
	if err != nil {
		return nil, err
	}
	defer w.close()
	if err := w.openSession(ctx); err != nil {
		return nil, err
	}
	adapters := b.adapters(ctx, w)
	for i := range b.rounds(12) {
		b.say("  round %d", i+1)
		if err := startRound(ctx, adapters); err != nil {
			return nil, err
		}
		if err := callRound(ctx, adapters); err != nil {
			return nil, err
		}
		slices.Reverse(adapters) // so that nobody always comes first
	}
	byName := map[string]*scores{}
	for _, a := range adapters {
		byName[a.name] = a.scores
	}
	size, err := os.Stat(filepath.Join(b.bin, "agent-mcp"))
	if err != nil {
		return nil, err
	}
	return adapterRows(byName, float64(size.Size())/1e6), nil
}

// adapters lists those that can run here. Those on Node get fewer turns: they are slow enough to
// be measured well, and a round should not last.
func (b *bench) adapters(ctx context.Context, w *standInWorkspace) []adapter {
	inherited := append(b.environ(), "FLEET_AGENT_MCP_URL="+w.url, "FLEET_AGENT_MCP_TOKEN="+w.token)
	at := func(p program, env []string) program { return program{p.argv, env, w.dir} }
	list := []adapter{
		{name: forwarderName, program: at(b.program("forwarder"), inherited), starts: 7, calls: 400, burst: 4000},
		{name: agentName, program: at(b.program("agent-mcp"), inherited), starts: 7, calls: 400, burst: 4000},
		{name: scrubbedName, program: at(b.program("agent-mcp"), b.environ()), starts: 7},
	}
	modules, err := b.installPeers(ctx)
	if err != nil {
		b.say("  without peers from npm: %v", err)
	} else {
		bearer := "Authorization:Bearer " + w.token
		node := func(args ...string) program {
			return program{append([]string{"node"}, args...), b.environ(), b.dir}
		}
		list = append(list,
			adapter{name: remoteName, starts: 1, calls: 100, burst: 400, program: node(
				filepath.Join(modules, "mcp-remote", "dist", "proxy.js"), w.url, "--allow-http", "--header", bearer)},
			adapter{name: gatewayName, starts: 1, calls: 100, burst: 400, program: node(
				filepath.Join(modules, "supergateway", "dist", "index.js"), "--streamableHttp", w.url, "--header", bearer, "--logLevel", "none")},
		)
	}
	for i := range list {
		list[i].scores = &scores{}
	}
	return list
}

// startRound starts the adapters in turns.
func startRound(ctx context.Context, adapters []adapter) error {
	times := make([][]time.Duration, len(adapters))
	for turn := range 7 {
		for i, a := range adapters {
			if turn >= a.starts {
				continue
			}
			h, took, err := a.attach(ctx)
			if err != nil {
				return err
			}
			h.end()
			times[i] = append(times[i], took)
		}
	}
	for i, a := range adapters {
		a.scores.start = append(a.scores.start, medianOf(times[i]))
	}
	return nil
}

// callRound has all adapters running at once, idle but for the one whose turn it is.
func callRound(ctx context.Context, adapters []adapter) error {
	running := make([]*harness, len(adapters))
	defer func() {
		for _, h := range running {
			if h != nil {
				h.end()
			}
		}
	}()
	for i, a := range adapters {
		if a.calls == 0 {
			continue
		}
		var err error
		if running[i], _, err = a.attach(ctx); err != nil {
			return err
		}
	}
	time.Sleep(settle)
	for i, a := range adapters {
		if a.calls == 0 {
			continue
		}
		if err := a.scores.addCalls(running[i], a.calls, a.burst); err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
	}
	return nil
}

// addCalls measures one running adapter: its memory while it is idle, then calls.
func (s *scores) addCalls(h *harness, calls, burst int) error {
	idle, err := resident(h.cmd.Process.Pid)
	if err != nil {
		return err
	}
	// A harness's first calls meet cold caches; they are not what a call costs.
	if _, err := h.sequential(calls / 10); err != nil {
		return err
	}
	times, err := h.sequential(calls)
	if err != nil {
		return err
	}
	rate, err := h.inFlight(burst, width)
	if err != nil {
		return err
	}
	s.idle = append(s.idle, idle)
	s.perCall = append(s.perCall, medianOf(times))
	s.rate = append(s.rate, rate)
	return nil
}
