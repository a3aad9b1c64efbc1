package main

import (
	"net"
	"os"
)

// manager is the service manager that started this process, as far as it wants to hear of its
// state; the zero value speaks to nobody.
type manager struct{ socket string }

// What a manager is told; see sd_notify(3).
const (
	serviceReady    = "READY=1"
	serviceReloads  = "RELOADING=1"
	serviceStopping = "STOPPING=1"
)

// takeManager finds the manager, and takes it out of the environment: no child of ours may speak
// in our name.
func takeManager() manager {
	m := manager{os.Getenv("NOTIFY_SOCKET")}
	_ = os.Unsetenv("NOTIFY_SOCKET")
	return m
}

// tell sends one datagram. One that is lost costs what the manager's own time limits cost, and the
// ship serves on; so it is nobody's error.
func (m manager) tell(state string) {
	if m.socket == "" {
		return
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: m.socket, Net: "unixgram"})
	if err != nil {
		return
	}
	_, _ = conn.Write([]byte(state))
	_ = conn.Close()
}
