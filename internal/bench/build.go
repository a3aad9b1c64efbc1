package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// build makes the product's programs, stripped as a release is, and the peers that are ours.
func (b *bench) build(ctx context.Context) error {
	b.bin = filepath.Join(b.dir, "bin")
	for dir, packages := range map[string][]string{
		filepath.Join(b.here, "..", ".."): {"./cmd/ship", "./cmd/agent-mcp"},
		b.here:                            {"./peers/..."},
	} {
		b.say("building %s in %s", packages, dir)
		argv := append([]string{"go", "build", "-trimpath", "-ldflags", "-s -w", "-o", b.bin + "/"}, packages...)
		if _, err := (program{argv: argv, env: os.Environ(), dir: dir}).output(ctx); err != nil {
			return err
		}
	}
	return nil
}

// program is one of the built ones.
func (b *bench) program(name string, args ...string) program {
	return program{argv: append([]string{filepath.Join(b.bin, name)}, args...), env: b.environ(), dir: b.dir}
}

// environ is the little that programs under test inherit.
func (b *bench) environ() []string {
	return []string{"HOME=" + filepath.Join(b.dir, "home"), "PATH=" + os.Getenv("PATH"), "SHELL=/bin/sh", "LANG=C.UTF-8"}
}

// errNoNode says why there is nothing from npm.
var errNoNode = errors.New("node or npm is not installed")

// installPeers brings what npm/package-lock.json pins, unless it is there, and gives the folder
// that holds the packages. No package's script runs.
func (b *bench) installPeers(ctx context.Context) (string, error) {
	dir := filepath.Join(b.here, "npm")
	modules := filepath.Join(dir, "node_modules")
	for _, name := range []string{"node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			return "", errNoNode
		}
	}
	if _, err := os.Stat(filepath.Join(modules, ".package-lock.json")); err == nil {
		return modules, nil
	}
	b.say("installing the peers from npm in %s", dir)
	_, err := program{argv: []string{"npm", "ci", "--ignore-scripts"}, env: os.Environ(), dir: dir}.output(ctx)
	if err != nil {
		return "", fmt.Errorf("install the peers: %w", err)
	}
	return modules, nil
}
