package main

func servicePages() map[string]page {
	return map[string]page{
		"service": {"Write and remove the systemd user unit that starts this atlas's ship.", "ship service install --enable"},
		"service install": {
			"Write a unit for your own systemd (~/.config/systemd/user) that serves this atlas: started again when it fails,\n" +
				"its sessions kept when it stops or starts anew (KillMode=process). It takes over your PATH and which bridge you\n" +
				"use, and holds no secret: forge tokens go in by ship credential add, others by --env-file. Without --enable it\n" +
				"starts nothing. A unit of that name that ship did not write, or that was edited, is left alone.\n" +
				"For sessions that outlive your log-out, and a ship from the machine's start on: loginctl enable-linger",
			"ship service install --dry-run\nship service install --enable\nship service install --env-file ~/.config/fleet/env --enable",
		},
		"service uninstall": {
			"Stop the unit's ship and remove the unit. Sessions live on, for a ship that you start yourself. A unit that was\n" +
				"edited is left alone.",
			"ship service uninstall",
		},
	}
}
