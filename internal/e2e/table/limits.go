package table

import (
	_ "embed"
	"fmt"

	"go.yaml.in/yaml/v4"
)

//go:embed known-limits.yaml
var knownLimits []byte

// limits is client → transport → reason.
type limits map[string]map[string]string

// Limit gives the reason why client can't be run over transport, and whether there is one. The
// client is named as in the list of rows: with its version where that has one, as in
// "Claude Code 2.1.197". Use it where a test finds out that it can't go on.
func Limit(client, transport string) (reason string, ok bool) {
	known, err := parseLimits(knownLimits)
	if err != nil {
		// The file is part of the program, and a test reads it.
		return "", false
	}
	reason, ok = known[client][transport]
	return reason, ok
}

// parseLimits reads a limits file, which may name only rows of the table, each with a reason.
func parseLimits(text []byte) (limits, error) {
	var known limits
	if err := yaml.Unmarshal(text, &known); err != nil {
		return nil, fmt.Errorf("read the known limits: %w", err)
	}
	for client, transports := range known {
		for transport, reason := range transports {
			if !isRow(client, transport) {
				return nil, fmt.Errorf("the known limits name %s over %s, which is no row of the table", client, transport)
			}
			if reason == "" {
				return nil, fmt.Errorf("the known limits give no reason for %s over %s", client, transport)
			}
		}
	}
	return known, nil
}

func isRow(client, transport string) bool {
	for _, e := range expectedClients() {
		if e.name() == client && e.transport == transport {
			return true
		}
	}
	return false
}

func stale(client, transport, reason string) string {
	return fmt.Sprintf("%s over %s works: known-limits.yaml is stale with %q", client, transport, reason)
}
