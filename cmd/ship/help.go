package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// page is what a command's --help says before its flags: what it does and changes, and lines that
// can be typed.
type page struct{ long, example string }

// document gives each command its page.
func document(root *cobra.Command) {
	for words, p := range pages() {
		cmd, rest, err := root.Find(strings.Fields(words))
		if err != nil || len(rest) > 0 {
			continue
		}
		if p.long != "" {
			cmd.Long = p.long
		}
		cmd.Example = "  " + strings.ReplaceAll(p.example, "\n", "\n  ")
	}
}

func pages() map[string]page {
	all := map[string]page{}
	for _, some := range []map[string]page{atlasPages(), workspacePages(), lookPages(), bridgePages(), harnessPages(), toolsetPages(), servicePages(), shellPages()} {
		for words, p := range some {
			all[words] = p
		}
	}
	return all
}

// whichBridge is of the commands that start a ship.
const whichBridge = "FLEET_BRIDGE_URL and FLEET_BRIDGE_CREDENTIAL_FILE name a bridge of its own process. Once a ship has had one, the\n" +
	"next does not start without FLEET_BRIDGE_URL, which would lift what that bridge forbids agents;\n" +
	"FLEET_BRIDGE_URL=embedded says that the bridge in the ship is meant from then on."

func atlasPages() map[string]page {
	return map[string]page{
		"init": {
			"Make a directory an atlas: writes its atlas.json, and .ship, where a ship keeps its files. Starts nothing.\n" +
				"\"ship up\" does this by itself; use init for a directory or a port of your choice.",
			"ship init ~/fleet\nship init /srv/fleet --port 0",
		},
		"serve": {
			"Serve the atlas until SIGINT or SIGTERM. Sessions live on without it, and a new ship takes them over:\n" +
				"same tokens, same statuses. SIGHUP reads atlas.json again. \"ready\" on stderr says that it serves.\n" + whichBridge,
			"ship serve\nFLEET_BRIDGE_URL=unix:///run/fleet-bridge/bridge.sock FLEET_BRIDGE_CREDENTIAL_FILE=~/.ship-credential ship serve",
		},
		"up": {
			"Make an atlas at ~/fleet if none is found above, start the ship in the background, register the repository,\n" +
				"create and activate its workspace main, and print what to do next. Each step only where it is missing, so a\n" +
				"second run changes nothing. Without an argument it only starts the ship; one that runs reads atlas.json and its\n" +
				"toolsets again.\n" +
				"A repository given by its path is registered by that path, which has no forge: for issues, pull requests and\n" +
				"CI give its URL.\n" + whichBridge,
			"ship up https://github.com/acme/widgets.git\nship up .",
		},
		"down": {
			"Stop the ship that \"ship up\" started. Sessions live on, and the next ship takes them over; with --sessions every\n" +
				"workspace is deactivated first. No file of a workspace is touched.",
			"ship down\nship down --sessions",
		},
		"repo": {
			"Register, list and remove repositories in the atlas's atlas.json. A running ship reads it again at once.",
			"ship repo add widgets https://github.com/acme/widgets.git\nship repo list",
		},
		"repo add": {
			"Register a repository under NAME; nothing is cloned or asked yet. Forge and API address follow from well-known\n" +
				"hosts; for others give --forge and, if the API is not where that forge has it, --api-url. A path has no forge,\n" +
				"so its workspaces have no issues, pull requests and CI.\n" +
				"A URL that holds a password or token is refused: git's own credential helper or ssh supplies those.",
			"ship repo add widgets https://github.com/acme/widgets.git\n" +
				"ship repo add tools git@git.example.org:acme/tools.git --forge github --api-url https://git.example.org/api/v3\n" +
				"ship repo add notes ~/src/notes",
		},
		"repo list":   {"List the registered repositories, with their forge and URL. Changes nothing; needs no running ship.", "ship repo list\nship repo list --json"},
		"repo remove": {"Take a repository out of atlas.json. Its workspaces stay on disk, but no more are made.", "ship repo remove widgets"},
		"credential": {
			"Keep, list and remove the forge tokens that the embedded bridge signs with: one file a host, of mode 0600, below\n" +
				"$XDG_CONFIG_HOME/fleet/credentials (~/.config). A bridge of its own takes them from its bridge.yaml:\n" +
				"where this atlas's ship uses one, add refuses, unless FLEET_BRIDGE_URL=embedded is set.",
			"ship credential add github.com <token.txt\nship credential list",
		},
		"credential add": {
			"Keep a token for a forge's host, in place of an earlier one. It is read from standard input (without an echo on a\n" +
				"terminal) and never an argument, kept in a file of mode 0600, and sent to that host alone. A running bridge\n" +
				"picks it up by itself.",
			"ship credential add github.com <token.txt\ngh auth token | ship credential add github.com\nship credential add git.example.org:8443 <token.txt",
		},
		"credential list":   {"List the hosts that have a token, its fingerprint, and why the bridge would not use it. Never the token.", "ship credential list\nship credential list --json"},
		"credential remove": {"Delete the file with a host's token. The token stays valid at the forge until you revoke it there.", "ship credential remove github.com"},
		"version":           {"Print this program's version. ship status says when the running ship has another.", "ship version\nship version --json"},
	}
}
