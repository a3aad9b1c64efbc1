package main

import "fmt"

// adapterRows holds the adapters' scores against what agent-mcp must reach; size is that of its
// program in MB. An adapter that is missing leaves rows without values.
func adapterRows(by map[string]*scores, size float64) []row {
	of := func(name string) *scores {
		if s, ok := by[name]; ok {
			return s
		}
		return &scores{}
	}
	fwd, own, remote, gateway := of(forwarderName), of(agentName), of(remoteName), of(gatewayName)
	scrubbed := of(scrubbedName)
	start := func(s *scores) string { return fmt.Sprintf("%.1f ms", s.start.median()) }
	call := func(s *scores) string { return fmt.Sprintf("%.0f µs", 1000*s.perCall.median()) }
	allowed := fwd.perCall.each(func(ms float64) float64 { return 1.2*ms + 0.2 })
	return []row{
		{"start to tools/list ÷ forwarder", "×", own.start.over(fwd.start), atMost(1.5), start(own) + " ÷ " + start(fwd)},
		{"the same, environment scrubbed", "×", scrubbed.start.over(fwd.start), atMost(2.5), start(scrubbed) + " ÷ " + start(fwd)},
		{"mcp-remote's start ÷ agent-mcp's", "×", remote.start.over(own.start), atLeast(40), start(remote) + " ÷ " + start(own)},
		{"a call ÷ (1.2 × forwarder + 0.2 ms)", "×", own.perCall.over(allowed), atMost(1), call(own) + " beside " + call(fwd)},
		{"a call ÷ forwarder", "×", own.perCall.over(fwd.perCall), limit{}, ""},
		{"calls/s, 32 in flight ÷ forwarder", "×", own.rate.over(fwd.rate), atLeast(0.75), fmt.Sprintf("%.0f/s ÷ %.0f/s", own.rate.median(), fwd.rate.median())},
		{"idle memory", "MiB", own.idle, atMost(10), fmt.Sprintf("forwarder %.1f MiB, mcp-remote %.0f MiB", fwd.idle.median(), remote.idle.median())},
		{"program, stripped", "MB", series{size}, atMost(8), ""},
		{"mcp-remote: a call ÷ agent-mcp's", "×", remote.perCall.over(own.perCall), limit{}, call(remote) + " ÷ " + call(own)},
		{"agent-mcp's calls/s ÷ mcp-remote's", "×", own.rate.over(remote.rate), limit{}, fmt.Sprintf("%.0f/s ÷ %.0f/s", own.rate.median(), remote.rate.median())},
		{"supergateway's start ÷ agent-mcp's", "×", gateway.start.over(own.start), limit{}, start(gateway) + " ÷ " + start(own)},
		{"supergateway: a call ÷ agent-mcp's", "×", gateway.perCall.over(own.perCall), limit{}, call(gateway) + " ÷ " + call(own)},
		{"agent-mcp's calls/s ÷ supergateway's", "×", own.rate.over(gateway.rate), limit{}, fmt.Sprintf("%.0f/s ÷ %.0f/s", own.rate.median(), gateway.rate.median())},
	}
}
