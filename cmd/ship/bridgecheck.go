package main

import (
	"context"
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
	said := "set"
	if wanted == embeddedBridge {
		said = wanted
	}
	return fmt.Sprintf("FLEET_BRIDGE_URL is %s, but the ship that runs was started without it (bridge: %s); next: %s, then ship up again",
		said, ship.Bridge, a.commandLine(ship.Root, "down"))
}

// separateBridge is the address of the bridge of its own process that this atlas's ship uses, or
// used last; "" where it has none, or FLEET_BRIDGE_URL=embedded says that none is meant.
func (a *app) separateBridge(ctx context.Context) string {
	switch url := os.Getenv("FLEET_BRIDGE_URL"); url {
	case "":
	case embeddedBridge:
		return ""
	default:
		return url
	}
	root, err := a.root()
	if err != nil {
		return ""
	}
	if c := answering(ctx, root); c != nil {
		if ship, err := c.Info(ctx); err == nil && ship.Bridge == embeddedBridge {
			return ""
		} else if err == nil {
			return ship.Bridge
		}
	}
	last, _ := lastBridge(root)
	return last
}

// bridgeKeeps says where the credentials of a bridge of its own belong.
const bridgeKeeps = "put the token into a file of that bridge's own user, name it under credentials: of its bridge.yaml, and send it SIGHUP"
