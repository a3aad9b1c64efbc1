package main

import (
	"cmp"
	"slices"

	"fleet/api"
)

// sortByNeed puts those first who wait for a person, the longest wait first; then those that
// work; then active ones without an agent; then the rest by name.
func sortByNeed(all []api.Workspace) {
	slices.SortStableFunc(all, func(x, y api.Workspace) int {
		if c := cmp.Compare(need(x), need(y)); c != 0 {
			return c
		}
		if need(x) == needsPerson {
			if c := x.Agent.UpdatedAt.Compare(y.Agent.UpdatedAt); c != 0 {
				return c
			}
		}
		return cmp.Or(cmp.Compare(x.Repo, y.Repo), cmp.Compare(x.Name, y.Name))
	})
}

const (
	needsPerson = iota
	atWork
	idles
	agentless
	inactive
)

func need(ws api.Workspace) int {
	switch {
	case !ws.Active:
		return inactive
	case ws.Agent == nil:
		return agentless
	case ws.Agent.State == api.Awaiting:
		return needsPerson
	case ws.Agent.State == api.Idle:
		return idles
	default:
		return atWork
	}
}
