// Package build says which build of Fleet a program is, for ship and agent-mcp alike: agent-mcp
// --check compares the two. It imports nothing of ours.
package build

import "runtime/debug"

// linked is set with -ldflags "-X fleet/internal/build.linked=v1.2.3", and never by the program.
var linked string

// Version is what was linked, else the module's version, which the go command takes from the
// repository's tags and commits, else "dev".
func Version() string {
	if linked != "" {
		return linked
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
