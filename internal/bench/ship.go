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
	text, err := b.answerText(answer)
	if err != nil {
		return nil, err
	}
	order := []*contender{bare, ship}
	for _, library := range [][2]string{{"go-sdk", "gosdk"}, {"mcp-go", "mcpgo"}} {
		c, stop, err := b.libraryContender(ctx, library[0], library[1], text)
		if err != nil {
			return nil, err
		}
		defer stop()
		order = append(order, c)
	}
	for i := range b.rounds(12) {
		b.say("  round %d", i+1)
		for j := range order {
			c := order[(i+j)%len(order)]
			if err := c.round(ctx); err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	return shipRows(bare, ship, order[2], order[3]), nil
}

// shipRows holds the ship against its peers.
func shipRows(bare, ship, sdk, mcpGo *contender) []row {
	rate := func(s series) string { return fmt.Sprintf("%.0f/s", s.median()) }
	cpu := func(c *contender) string { return fmt.Sprintf("%s %.0f µs", c.name, c.cpu.median()) }
	return []row{
		{"calls/s, 32 in flight ÷ bare handler", "×", ship.many.over(bare.many), atLeast(0.45), rate(ship.many) + " ÷ " + rate(bare.many)},
		{"calls/s, 32 in flight ÷ go-sdk", "×", ship.many.over(sdk.many), atLeast(3.5), rate(ship.many) + " ÷ " + rate(sdk.many)},
		{"calls/s, 32 in flight ÷ mcp-go", "×", ship.many.over(mcpGo.many), limit{}, rate(ship.many) + " ÷ " + rate(mcpGo.many)},
		{"as the first, but clients that cost less", "×", ship.lean.over(bare.lean), limit{}, rate(ship.lean) + " ÷ " + rate(bare.lean)},
		{"calls/s, one at a time ÷ bare handler", "×", ship.one.over(bare.one), limit{}, rate(ship.one) + " ÷ " + rate(bare.one)},
		{"calls/s, one at a time ÷ go-sdk", "×", ship.one.over(sdk.one), limit{}, rate(ship.one) + " ÷ " + rate(sdk.one)},
		{"calls/s, one at a time ÷ mcp-go", "×", ship.one.over(mcpGo.one), limit{}, rate(ship.one) + " ÷ " + rate(mcpGo.one)},
		{"server's processor time ÷ bare handler's", "×", ship.cpu.over(bare.cpu), limit{}, "a call, 32 in flight: " + cpu(ship) + ", " + cpu(bare) + ", " + cpu(sdk) + ", " + cpu(mcpGo)},
	}
}

// contender is a server that is measured.
type contender struct {
	name string
	pid  int
	ask  request

	many, one series // calls a second with 32 clients and with one
	lean      series // with 32 clients that cost less
	cpu       series // µs of the server's processor time a call, with 32 clients
}

// round measures c for a good two seconds in all.
func (c *contender) round(ctx context.Context) error {
	rate, cpu, err := c.measure(usualClients(c.ask, width), time.Second)
	if err != nil {
		return err
	}
	c.many, c.cpu = append(c.many, rate), append(c.cpu, cpu)
	if rate, _, err = c.measure(usualClients(c.ask, 1), time.Second/2); err != nil {
		return err
	}
	c.one = append(c.one, rate)
	lean, err := leanClients(ctx, c.ask, width)
	if err != nil {
		return err
	}
	if rate, _, err = c.measure(lean, time.Second/2); err != nil {
		return err
	}
	c.lean = append(c.lean, rate)
	return ctx.Err()
}

// measure gives calls a second and processor time a call in µs, after a warm-up.
func (c *contender) measure(by *clients, d time.Duration) (rate, cpu float64, err error) {
	defer by.close()
	if _, _, err := by.run(d / 5); err != nil {
		return 0, 0, err
	}
	before, err := cpuTime(c.pid)
	if err != nil {
		return 0, 0, err
	}
	calls, took, err := by.run(d)
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
	for _, call := range [][2]string{
		{"agent_init", `{"model":"a-model-of-1","provider":"a-provider","harness":"bench"}`},
		{"agent_status", `{"state":"building","description":"measuring how long a call takes, round by round"}`},
	} {
		if _, err := f.command("call", "r/"+workspaceName(0), call[0], call[1]).output(ctx); err != nil {
			return nil, nil, err
		}
	}
	ask, err := f.askStatus(ctx)
	if err != nil {
		return nil, nil, err
	}
	one := usualClients(ask, 1)
	defer one.close()
	answer, err := one.calls[0]()
	return &contender{name: "ship", pid: f.ship.pid(), ask: ask}, answer, err
}

// askStatus is agent_status_get, as an agent in r/w0 asks it.
func (f *fleet) askStatus(ctx context.Context) (request, error) {
	address, err := f.variable(ctx, 0, "FLEET_AGENT_MCP_URL")
	if err != nil {
		return request{}, err
	}
	token, err := f.variable(ctx, 0, "FLEET_AGENT_MCP_TOKEN")
	if err != nil {
		return request{}, err
	}
	u, err := url.Parse(address)
	if err != nil {
		return request{}, err
	}
	return request{u.Host, u.EscapedPath(), token, getStatus}, nil
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
	return &contender{name: "bare handler", pid: d.pid(), ask: request{address, "/canned", "none", getStatus}}, d.stop, nil
}

// answerText keeps the text of the ship's answer in a file, for the libraries' tools.
func (b *bench) answerText(answer []byte) (path string, err error) {
	var whole struct {
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal(answer, &whole); err != nil {
		return "", err
	}
	if len(whole.Result.Content) != 1 {
		return "", fmt.Errorf("the ship answers agent_status_get with %s", answer)
	}
	path = filepath.Join(b.dir, "answer.txt")
	return path, os.WriteFile(path, []byte(whole.Result.Content[0].Text), 0o600)
}

// libraryContender is a server made with a library, whose tool answers with the text at path.
func (b *bench) libraryContender(ctx context.Context, name, program, path string) (*contender, func(), error) {
	const token = "of-the-peer"
	d, address, _, err := b.program(program, "-text", path, "-token", token).serve(ctx, ":")
	if err != nil {
		return nil, nil, err
	}
	return &contender{name: name, pid: d.pid(), ask: request{address, "/", token, getStatus}}, d.stop, nil
}
