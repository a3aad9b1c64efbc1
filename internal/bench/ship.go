package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

const getStatus = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"agent_status_get","arguments":{}}}`

// contender is a server that is measured.
type contender struct {
	name    string
	pid     int
	address string
	request []byte

	many, one       series // calls a second on 32 connections and on one
	manyCPU, oneCPU series // µs of the server's processor time a call
}

func measureShip(ctx context.Context, b *bench) ([]row, error) {
	f, err := b.newFleet(ctx, "s")
	if err != nil {
		return nil, err
	}
	defer f.close()
	ship, answer, err := f.contender(ctx)
	if err != nil {
		return nil, err
	}
	bare, stop, err := b.bareContender(ctx, answer)
	if err != nil {
		return nil, err
	}
	defer stop()
	sdk, stop, err := b.sdkContender(ctx, answer)
	if err != nil {
		return nil, err
	}
	defer stop()
	full := 2 * time.Second
	if b.short {
		full = time.Second
	}
	order := []*contender{bare, ship, sdk}
	for i := range b.rounds(8) {
		b.say("  round %d", i+1)
		for j := range order {
			c := order[(i+j)%len(order)]
			if err := c.round(ctx, full); err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	return shipRows(bare, ship, sdk), nil
}

// shipRows holds the ship against its peers.
func shipRows(bare, ship, sdk *contender) []row {
	rate := func(s series) string { return fmt.Sprintf("%.0f/s", s.median()) }
	cpu := func(c *contender) string {
		return fmt.Sprintf("%s %.0f (%.0f)", c.name, c.manyCPU.median(), c.oneCPU.median())
	}
	return []row{
		{"calls/s, 32 in flight ÷ bare handler", "×", ship.many.over(bare.many), atLeast(0.45), rate(ship.many) + " ÷ " + rate(bare.many)},
		{"calls/s, 32 in flight ÷ go-sdk", "×", ship.many.over(sdk.many), atLeast(3.5), rate(ship.many) + " ÷ " + rate(sdk.many)},
		{"calls/s, one at a time ÷ bare handler", "×", ship.one.over(bare.one), limit{}, rate(ship.one) + " ÷ " + rate(bare.one)},
		{"calls/s, one at a time ÷ go-sdk", "×", ship.one.over(sdk.one), limit{}, rate(ship.one) + " ÷ " + rate(sdk.one)},
		{"processor time a call ÷ bare handler", "×", ship.manyCPU.over(bare.manyCPU), limit{}, "µs at 32 (at one): " + cpu(ship) + ", " + cpu(bare) + ", " + cpu(sdk)},
	}
}

// round measures c for d on many connections, and for half of it on one.
func (c *contender) round(ctx context.Context, d time.Duration) error {
	rate, cpu, err := c.measure(ctx, width, d)
	if err != nil {
		return err
	}
	c.many, c.manyCPU = append(c.many, rate), append(c.manyCPU, cpu)
	if rate, cpu, err = c.measure(ctx, 1, d/2); err != nil {
		return err
	}
	c.one, c.oneCPU = append(c.one, rate), append(c.oneCPU, cpu)
	return nil
}

// measure gives calls a second and processor time a call in µs, after a warm-up.
func (c *contender) measure(ctx context.Context, connections int, d time.Duration) (rate, cpu float64, err error) {
	clients, err := dial(ctx, c.address, c.request, connections)
	if err != nil {
		return 0, 0, err
	}
	defer clients.close()
	if _, _, err := clients.run(d / 5); err != nil {
		return 0, 0, err
	}
	before, err := cpuTime(c.pid)
	if err != nil {
		return 0, 0, err
	}
	calls, took, err := clients.run(d)
	if err != nil {
		return 0, 0, err
	}
	after, err := cpuTime(c.pid)
	return float64(calls) / took.Seconds(), float64((after - before).Microseconds()) / float64(calls), err
}

// contender serves a workspace in which an agent has said what it does, and gives the ship's
// own answer to the question that will be asked, for the peers to give too.
func (f *fleet) contender(ctx context.Context) (*contender, []byte, error) {
	if err := f.makeWorkspaces(ctx, 1); err != nil {
		return nil, nil, err
	}
	if _, err := f.serve(ctx); err != nil {
		return nil, nil, err
	}
	if _, err := f.operate(ctx, "activate", 0, nil); err != nil {
		return nil, nil, err
	}
	for tool, arguments := range map[string]string{
		"agent_init": `{"model":"a-model-of-1","provider":"a-provider","harness":"bench"}`,
	} {
		if _, err := f.command("call", "r/w0", tool, arguments).output(ctx); err != nil {
			return nil, nil, err
		}
	}
	const working = `{"state":"building","description":"measuring how long a call takes, round by round"}`
	if _, err := f.command("call", "r/w0", "agent_status", working).output(ctx); err != nil {
		return nil, nil, err
	}
	address, err := f.variable(ctx, 0, "FLEET_AGENT_MCP_URL")
	if err != nil {
		return nil, nil, err
	}
	token, err := f.variable(ctx, 0, "FLEET_AGENT_MCP_TOKEN")
	if err != nil {
		return nil, nil, err
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, nil, err
	}
	c := &contender{name: "ship", pid: f.ship.pid(), address: u.Host, request: post(u.Host, u.EscapedPath(), token, getStatus)}
	one, err := dial(ctx, c.address, c.request, 1)
	if err != nil {
		return nil, nil, err
	}
	defer one.close()
	answer, err := one.call(one.conns[0])
	return c, answer, err
}

// bareContender answers with the ship's own bytes, unasked.
func (b *bench) bareContender(ctx context.Context, answer []byte) (*contender, func(), error) {
	path := filepath.Join(b.dir, "answer.json")
	if err := os.WriteFile(path, answer, 0o600); err != nil {
		return nil, nil, err
	}
	d, address, _, err := b.program("bare", "-answer", path).serve(ctx, ":")
	if err != nil {
		return nil, nil, err
	}
	return &contender{name: "bare handler", pid: d.pid(), address: address, request: post(address, "/canned", "none", getStatus)}, d.stop, nil
}

// sdkContender has a tool that answers with the text of the ship's.
func (b *bench) sdkContender(ctx context.Context, answer []byte) (*contender, func(), error) {
	var whole struct {
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal(answer, &whole); err != nil {
		return nil, nil, err
	}
	if len(whole.Result.Content) != 1 {
		return nil, nil, fmt.Errorf("the ship answers agent_status_get with %s", answer)
	}
	path := filepath.Join(b.dir, "answer.txt")
	if err := os.WriteFile(path, []byte(whole.Result.Content[0].Text), 0o600); err != nil {
		return nil, nil, err
	}
	d, address, _, err := b.program("gosdk", "-text", path, "-token", "of-the-peer").serve(ctx, ":")
	if err != nil {
		return nil, nil, err
	}
	return &contender{name: "go-sdk", pid: d.pid(), address: address, request: post(address, "/", "of-the-peer", getStatus)}, d.stop, nil
}
