package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"time"

	"fleet/api"
	"fleet/internal/bridge"
)

const bridgePatience = 2 * time.Second

// bridgeProblems says what keeps the ship from the bridge that the operator means: at ship up one
// learns early what an agent would meet at its first call.
func (a *app) bridgeProblems(ctx context.Context, ship api.Ship) []string {
	wanted := os.Getenv("FLEET_BRIDGE_URL")
	if wanted != "" && wanted != ship.Bridge {
		return []string{fmt.Sprintf("FLEET_BRIDGE_URL is set, but the ship that runs was started without it (bridge: %s); next: %s, then ship up again",
			ship.Bridge, a.commandLine(ship.Root, "down"))}
	}
	if ship.Bridge == embeddedBridge {
		return nil
	}
	var problems []string
	if err := reach(ctx, ship.Bridge); err != nil {
		problems = append(problems, fmt.Sprintf("nothing answers at the bridge's address %s (%v); next: start it, with ship bridge serve --config FILE", ship.Bridge, err))
	}
	if file := os.Getenv("FLEET_BRIDGE_CREDENTIAL_FILE"); wanted != "" && file != "" {
		if _, err := bridge.NewFileCredential("", "", file).Authorization(ctx); err != nil {
			problems = append(problems, "this ship's credential for the bridge: "+oneLine(err))
		}
	}
	return problems
}

const embeddedBridge = "embedded"

// reach connects to a bridge's address, and asks it nothing.
func reach(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	network, at := "unix", u.Path
	if u.Scheme != "unix" {
		network, at = "tcp", u.Host
		if u.Port() == "" {
			at = net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
		}
	}
	ctx, cancel := context.WithTimeout(ctx, bridgePatience)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, network, at)
	if err != nil {
		return err
	}
	return conn.Close()
}
