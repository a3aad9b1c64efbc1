package main

func toolsetPages() map[string]page {
	return map[string]page{
		"toolset": {
			"Command-line tools that you declare in a file and name in atlas.json (\"toolsets\"), and that the ship serves beside its\n" +
				"own: one process a call, in the workspace of who calls. README, \"Toolsets\", has an example.",
			"ship toolset check builtin:suspec\nship toolset check /etc/fleet/mine.json",
		},
		"toolset check": {
			"Show the tools that a declaration has, and for sample inputs the argument array that would run; run its contract\n" +
				"check, and list everything that is wrong. The command comes from --command, else from atlas.json. Needs no running\n" +
				"ship and changes nothing. A fault ends it with status 1.",
			"ship toolset check /etc/fleet/mine.json --json\nship toolset check builtin:suspec --command node --command /opt/suspec/bin/suspec.js",
		},
	}
}
