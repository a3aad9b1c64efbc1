package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// undumpable keeps other processes of the user from reading this one's memory and environment.
func undumpable() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("make the ship undumpable: %w", err)
	}
	return nil
}
