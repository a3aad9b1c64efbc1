package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"fleet/internal/atlas"
)

// shedSecrets leaves no forge token and none of another workspace's variables in the daemon's
// environment. Unsetting would leave them readable in /proc/PID/environ, so the program executes
// itself again, with the same process id, with a clean environment.
func shedSecrets() error {
	environ := os.Environ()
	kept := slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return atlas.IsForgeToken(name) || strings.HasPrefix(name, "FLEET_") && !slices.Contains(ownVariables(), name)
	})
	if len(kept) == len(environ) {
		return undumpable()
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return fmt.Errorf("execute %s again: %w", self, syscall.Exec(self, os.Args, kept))
}

// ownVariables are those that tell a ship how to serve.
func ownVariables() []string { return []string{"FLEET_ATLAS"} }

// tuneMemory trades memory for processor time: marking costs a quarter of each call at the
// runtime's default. $GOGC and $GOMEMLIMIT win.
func tuneMemory() {
	const (
		percent = 400
		limit   = 1 << 30
	)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}
