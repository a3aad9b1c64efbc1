package main

func workspacePages() map[string]page {
	return map[string]page{
		"create": {
			"Clone a registered repository into a new workspace, at REPO/NAME below the atlas. Starts no session: that is\n" +
				"activate's.",
			"ship create widgets/main\nship create widgets/fix-auth --branch fix-auth\nship create widgets/hotfix --branch hotfix --from v1.4",
		},
		"activate": {
			"Start a workspace's tmux session, in which CMD runs, else your shell. The session holds the workspace's token;\n" +
				"of your environment only what a terminal needs reaches it, and what you name with --env.",
			"ship activate widgets/fix-auth\nship activate widgets/fix-auth --env ANTHROPIC_API_KEY -- claude",
		},
		"deactivate": {
			"Revoke a workspace's token and end its session, with whatever runs in it. Its files stay. A workspace that is not\n" +
				"active stays as it is, which is no error.",
			"ship deactivate widgets/fix-auth",
		},
		"remove": {
			"Delete a workspace's checkout from disk. Refuses an active workspace, and anything uncommitted, unpushed or\n" +
				"stashed unless --force is given.",
			"ship remove widgets/fix-auth\nship remove widgets/fix-auth --force",
		},
		"attach": {
			"Go into a workspace's session. Leave it with Ctrl-b d; from inside a tmux of your own, with Ctrl-b Ctrl-b d.\n" +
				"The session goes on without you.",
			"ship attach widgets/fix-auth",
		},
		"call": {
			"Call a tool as the workspace's agent would, and print its text. It does what the tool does: a comment is posted.\n" +
				"The workspace must be active. A tool's error ends it with status 1.",
			"ship call widgets/main agent_status_get\n" +
				"ship call widgets/main agent_status '{\"state\":\"idle\",\"description\":\"waiting for work\"}'\n" +
				"ship call widgets/main repo_issue_list '{\"state\":\"all\"}'\n" +
				"ship call widgets/main repo_issue_comment '{\"number\":7,\"body\":\"on it\"}'",
		},
		"token": {"Rotate a workspace's token.", "ship token rotate widgets/fix-auth"},
		"token rotate": {
			"Give an active workspace a new token and revoke the old one at once. Running agent-mcp adapters follow; a harness\n" +
				"that speaks HTTP must be restarted.",
			"ship token rotate widgets/fix-auth",
		},
	}
}

// lookPages are of the commands that change nothing.
func lookPages() map[string]page {
	return map[string]page{
		"ls": {"List every workspace: whether it is active, its branch, its commit and where it lies. Changes nothing.", "ship ls\nship ls --json"},
		"status": {
			"Show what each agent says it does and since when, those who wait for you first; of one workspace, everything.\n" +
				"Changes nothing.",
			"ship status\nship status -w\nship status widgets/fix-auth --json",
		},
		"logs": {"Print the text of a workspace's session, as far back as the session keeps it. Changes nothing.", "ship logs widgets/fix-auth\nship logs widgets/fix-auth -n 50"},
		"events": {
			"Print what happened in the atlas, oldest first: workspaces that came, went and reported, and with --calls each\n" +
				"call of a tool, never its arguments. Works without a running ship, and changes nothing.",
			"ship events --since 1h\nship events -f --calls\nship events --workspace widgets/fix-auth --type agent.status --json",
		},
	}
}

func bridgePages() map[string]page {
	return map[string]page{
		"bridge": {
			"A bridge holds the forge credentials and does with them what ships may. Without --config the commands speak of\n" +
				"the one that lives in this atlas's ship; with it, of the one that bridge.yaml describes. That one's are for its\n" +
				"own user, and work whether it runs or not. What agents may read and post of a repository (trusted_authors_only,\n" +
				"trusted_authors, mass_mentions, closing_keywords) stands beside its url: in atlas.json, or in that bridge.yaml.",
			"ship bridge list\nship bridge grant laptop --repo widgets --verbs read,comment --config bridge.yaml",
		},
		"bridge serve": {
			"Serve the bridge that bridge.yaml describes until SIGINT or SIGTERM. Run it as a user of its own, who owns the\n" +
				"directory that dir names, of mode 0700. \"ready\" on stderr says that it serves; nobody may do anything there\n" +
				"before ship bridge grant. README, \"A bridge of its own\", has an example of the file.\n" +
				"SIGHUP (kill -HUP, with the pid of the \"ready\" line) has it read bridge.yaml again: all of it, or, where anything\n" +
				"is wrong, nothing, and stderr says what. listen, dir and whether there is tls stay until a restart;\n" +
				"certificates, credentials, repos and what agents may read and post of each (trusted_authors_only, trusted_authors,\n" +
				"mass_mentions, closing_keywords) change at once.",
			"ship bridge serve --config bridge.yaml",
		},
		"bridge grant": {
			"Let SHIP do VERBS on a repository (\"*\" for every one), in place of what it might do there before. A ship that is\n" +
				"new gets a credential, printed once and kept as a hash. The ship that a bridge lives in is called local.\n" +
				"It counts at once. What is granted on \"*\" counts on every repository, beside what is granted on its name; to take\n" +
				"that back, revoke and grant anew.",
			"ship bridge grant laptop --repo widgets --verbs read,comment --config bridge.yaml\nship bridge grant local --repo '*' --verbs read",
		},
		"bridge revoke": {
			"End everything that a ship may do through the bridge, and its credential, at once, whether the bridge runs or\n" +
				"not, and also where the file has become faulty or names another dir since it started: stderr says so. To give\n" +
				"rights back, grant anew: a ship of another process then gets a new credential.",
			"ship bridge revoke laptop --config bridge.yaml",
		},
		"bridge list":  {"List ships and what each may do, never their credentials. Changes nothing.", "ship bridge list\nship bridge list --config bridge.yaml --json"},
		"bridge audit": {"Check the bridge's record of what was written to forges.", "ship bridge audit verify"},
		"bridge audit verify": {
			"Check that no line of audit.jsonl, which tells of each write to a forge, was changed, removed or added. Ends with\n" +
				"status 1 where one was. Changes nothing.",
			"ship bridge audit verify\nship bridge audit verify --config bridge.yaml --json",
		},
	}
}
