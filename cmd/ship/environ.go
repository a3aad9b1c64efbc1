package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"fleet/internal/atlas"
	"fleet/internal/bridge"
)

// maxHanded bounds what a pipe can take without a reader: one page on every system.
const maxHanded = 4096

// shedSecrets leaves no forge token and none of another workspace's variables in a daemon's
// environment, and gives the forge tokens that stood there, by name. Unsetting them would leave
// them readable in /proc/PID/environ, so the program executes itself again, under the same
// process id, with a clean environment, and hands itself the tokens through a pipe. handed is the
// pipe's file descriptor, from the hidden flag of that second start; 0 at the first.
func shedSecrets(handed int) (map[string]bridge.Secret, error) {
	if err := undumpable(); err != nil {
		return nil, err
	}
	if handed != 0 {
		return takeSecrets(handed)
	}
	kept, secrets := sift(os.Environ())
	if len(kept) == len(os.Environ()) {
		return nil, nil
	}
	fd, err := handOver(secrets)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	argv := slices.Concat(os.Args, []string{"--" + handedFlag + "=" + strconv.Itoa(fd)})
	return nil, fmt.Errorf("execute %s again: %w", self, syscall.Exec(self, argv, kept))
}

// handedFlag is the hidden flag of a daemon's second start.
const handedFlag = "handed-fd"

// shortestShed keeps what is no token, such as a placeholder, from taking other variables along.
const shortestShed = 8

// sift parts an environment into what may stay and the forge tokens. What is Fleet's own but no
// ship's business, such as the token of the workspace in which somebody typed "ship up", is in
// neither, and nor is a forge token under any other name.
func sift(environ []string) (kept []string, secrets map[string]string) {
	secrets = map[string]string{}
	shed := map[string]bool{}
	for _, entry := range environ {
		if name, value, _ := strings.Cut(entry, "="); atlas.IsForgeToken(name) {
			secrets[name] = value
			shed[value] = len(value) >= shortestShed
		}
	}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case atlas.IsForgeToken(name), shed[value]:
		case strings.HasPrefix(name, "FLEET_") && !slices.Contains(ownVariables(), name):
		default:
			kept = append(kept, entry)
		}
	}
	return kept, secrets
}

// ownVariables are those that tell a daemon how to serve.
func ownVariables() []string {
	return []string{"FLEET_ATLAS", "FLEET_BRIDGE_URL", "FLEET_BRIDGE_CREDENTIAL_FILE"}
}

// handOver writes secrets into a pipe and gives the end to read from, which survives an exec.
func handOver(secrets map[string]string) (fd int, err error) {
	raw, err := json.Marshal(secrets)
	if err != nil {
		return 0, err
	}
	if len(raw) > maxHanded {
		return 0, errors.New("the forge tokens in the environment are longer than any token is; next: ship credential add HOST")
	}
	var ends [2]int
	if err := syscall.Pipe(ends[:]); err != nil {
		return 0, err
	}
	if _, err := syscall.Write(ends[1], raw); err != nil {
		return 0, err
	}
	return ends[0], syscall.Close(ends[1])
}

func takeSecrets(fd int) (map[string]bridge.Secret, error) {
	pipe := os.NewFile(uintptr(fd), "handed")
	if pipe == nil {
		return nil, fmt.Errorf("file descriptor %d is not open", fd)
	}
	defer pipe.Close()
	raw, err := io.ReadAll(io.LimitReader(pipe, maxHanded))
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	if err := json.Unmarshal(raw, &texts); err != nil {
		return nil, errors.New("what was handed over is not readable")
	}
	secrets := map[string]bridge.Secret{}
	for name, text := range texts {
		secrets[name] = bridge.NewSecret(text)
	}
	return secrets, nil
}

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
