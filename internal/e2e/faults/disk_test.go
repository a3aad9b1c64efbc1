//go:build e2e && linux

package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// mount gives atlas and bridge disks of 16 MiB, where the plan wants it and this machine can.
func (w *world) mount(p *plan) error {
	if !p.disk || os.Getuid() != 0 {
		return nil
	}
	for _, dir := range []string{w.atlas, w.bridgeDir} {
		if err := syscall.Mount("faults", dir, "tmpfs", 0, "size=16m,mode=0700"); err != nil {
			return nil // a machine where nobody mounts anything runs the plan without
		}
		w.disks = append(w.disks, dir)
	}
	return nil
}

// unmount takes the disks away. A program that still lives on one is left over.
func (w *world) unmount() {
	for _, dir := range w.disks {
		var err error
		for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			if err = syscall.Unmount(dir, 0); err == nil {
				break
			}
		}
		if err != nil {
			w.problem("left over: something uses the disk at %s: %v", dir, err)
			_ = syscall.Unmount(dir, syscall.MNT_DETACH)
		}
	}
	w.disks = nil
}

// fill leaves no room on the disk of dir until it is freed.
func (w *world) fill(dir string) (free func(), err error) {
	if len(w.disks) == 0 {
		return func() {}, nil
	}
	path := filepath.Join(dir, "full")
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	for size := 1 << 20; size > 0; size /= 2 {
		for range 1000 {
			if _, err = file.Write(make([]byte, size)); err != nil {
				break
			}
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return nil, fmt.Errorf("fill %s: %w", dir, err)
	}
	return func() { _ = os.Remove(path) }, nil
}
