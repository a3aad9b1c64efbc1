package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// machine says in a line what was measured on and which peers it was measured beside.
func (b *bench) machine(ctx context.Context) string {
	parts := []string{fmt.Sprintf("%d processors%s", runtime.NumCPU(), processor()), runtime.GOOS, runtime.Version()}
	if out, err := (program{argv: []string{"tmux", "-V"}, env: b.environ(), dir: b.dir}).output(ctx); err == nil {
		parts = append(parts, strings.TrimSpace(string(out)))
	}
	return strings.Join(parts, ", ") + "; beside " + strings.Join(b.versions(), ", ")
}

// processor is the model's name in parentheses, where the kernel tells it.
func processor() string {
	raw, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	found := regexp.MustCompile(`(?m)^model name\s*:\s*(.+)$`).FindSubmatch(raw)
	if found == nil {
		return ""
	}
	return " (" + strings.TrimSpace(string(found[1])) + ")"
}

// versions are the peers' that are pinned.
func (b *bench) versions() []string {
	var list []string
	var npm struct{ Dependencies map[string]string }
	raw, err := os.ReadFile(filepath.Join(b.here, "npm", "package.json"))
	if err == nil && json.Unmarshal(raw, &npm) == nil {
		for _, name := range []string{remoteName, gatewayName} {
			list = append(list, name+" "+npm.Dependencies[name])
		}
	}
	mod, err := os.ReadFile(filepath.Join(b.here, "go.mod"))
	if err != nil {
		return list
	}
	for _, found := range regexp.MustCompile(`(?m)/(go-sdk|mcp-go) (v\S+)$`).FindAllSubmatch(mod, -1) {
		list = append(list, string(found[1])+" "+string(found[2]))
	}
	return list
}

// load is what the kernel says of the last minute, our own work included.
func load() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(raw), " ")
	return one
}
