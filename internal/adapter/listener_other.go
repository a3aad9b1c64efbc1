//go:build !linux

package adapter

import "net"

// checkListener trusts the port: only Linux tells a program without privileges whose socket
// listens on it.
func checkListener(*net.TCPAddr) error { return nil }
