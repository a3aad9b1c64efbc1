//go:build !linux

package bridge

func bootClock() func() moment { return processClock() }
