package main

import "runtime/debug"

// linked is set by -ldflags "-X main.linked=…".
var linked string

// version names this build: as linked, else the module's version, else the commit, else "dev".
func version() string {
	if linked != "" {
		return linked
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value[:min(12, len(s.Value))]
		}
	}
	return "dev"
}
