package main

import (
	"fmt"
	"os"

	"fleet/api"
)

// embeddedBridge is what a ship calls a bridge that lives in its own process.
const embeddedBridge = "embedded"

// otherBridge says that the ship that runs speaks to another bridge than the operator means, so
// that one learns at ship up what an agent would meet at its first call; "" where it does not.
func (a *app) otherBridge(ship api.Ship) string {
	wanted := os.Getenv("FLEET_BRIDGE_URL")
	if wanted == "" || wanted == ship.Bridge {
		return ""
	}
	return fmt.Sprintf("FLEET_BRIDGE_URL is set, but the ship that runs was started without it (bridge: %s); next: %s, then ship up again",
		ship.Bridge, a.commandLine(ship.Root, "down"))
}
