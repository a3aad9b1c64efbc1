package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"fleet/internal/atlas"
)

// lastBridgeFile holds, below .ship, the address of the bridge of its own process that the atlas's
// last ship spoke to. Without the file that one was embedded.
const lastBridgeFile = "last-bridge"

// lastBridge gives that address, or "".
func lastBridge(root string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(atlas.StateDir(root), lastBridgeFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(raw)), err
}

// rememberBridge keeps the address; "" is for the embedded one. It holds no secret: a client takes
// no address with a user or a query.
func rememberBridge(root, url string) error {
	path := filepath.Join(atlas.StateDir(root), lastBridgeFile)
	if url != "" {
		return renameio.WriteFile(path, []byte(url+"\n"), 0o600)
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// forgottenBridge gives the last ship's bridge where the environment does not say which one is
// meant now, or "".
func forgottenBridge(root string) (string, error) {
	if os.Getenv("FLEET_BRIDGE_URL") != "" {
		return "", nil
	}
	return lastBridge(root)
}

// forgotten says what forgottenBridge found.
func forgotten(url string) string {
	return "the last ship of this atlas used the bridge at " + clean(url) + ", and FLEET_BRIDGE_URL is not set"
}

const rememberIt = "set FLEET_BRIDGE_URL and FLEET_BRIDGE_CREDENTIAL_FILE as they were, or FLEET_BRIDGE_URL=embedded if the bridge in the ship is meant from now on"

// chosenBridge is the address of the bridge that a ship which starts shall speak to; "" is the
// embedded one. A shell without FLEET_BRIDGE_URL must not lift what a bridge.yaml forbids agents to
// read and post, so that one which had it before has to say that it is meant.
func chosenBridge(root string) (string, error) {
	url, err := forgottenBridge(root)
	if err != nil {
		return "", fmt.Errorf("look which bridge the last ship used: %w", err)
	}
	if url != "" {
		return "", hint(errors.New(forgotten(url)+"; nothing was started, since what that bridge's bridge.yaml says agents may read and post would not hold"), rememberIt)
	}
	if url = os.Getenv("FLEET_BRIDGE_URL"); url == embeddedBridge {
		return "", nil
	}
	return url, nil
}
