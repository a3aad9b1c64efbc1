package server

import (
	"path"
	"strings"
)

// ToolNames lists the tools that every workspace has, sorted.
func ToolNames() []string {
	entries, err := definitions.ReadDir("tools")
	if err != nil {
		return nil // the folder is part of the program
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), path.Ext(e.Name())))
	}
	return names
}
