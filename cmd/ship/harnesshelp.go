package main

func harnessPages() map[string]page {
	return map[string]page{
		"harness": {
			"Register agent-mcp with your harnesses as fleet-agent, for your user: once, not for each workspace. Outside a\n" +
				"workspace it is a server without tools.",
			"ship harness list\nship harness install all",
		},
		"harness list": {
			"List the harnesses that ship knows: whether their program is on PATH, and how far each is registered. Changes nothing.\n" +
				"outdated: ship wrote it for another agent-mcp, or a part is missing; install mends it.\n" +
				"conflict: ship did not write it, or it was edited since; it is left alone.",
			"ship harness list\nship harness list --json",
		},
		"harness install": {
			"Register the agent-mcp beside this program in the harness's own file, and let agent_init and agent_status run without a\n" +
				"question to you. Everything else in the file stays byte for byte, and a second run changes nothing. \"all\" means\n" +
				"every harness whose program or folder is here. What was written is remembered, by hash, in\n" +
				"$XDG_STATE_HOME/fleet/harnesses.json (~/.local/state).",
			"ship harness install claude --dry-run\nship harness install all",
		},
		"harness uninstall": {
			"Take out what ship harness install wrote, and nothing else: where the rest of a file is as it was, its bytes are those\n" +
				"from before. What was edited since stays, and is named.",
			"ship harness uninstall claude\nship harness uninstall all --dry-run",
		},
		"harness print": {
			"Print what a registration consists of and which file it belongs in, to write it by hand. Changes nothing.",
			"ship harness print codex\nship harness print claude --json",
		},
	}
}
