package toolset

import (
	"errors"
	"fmt"
	"strings"
)

// CheckNames says, all at once, which names clash when sets are served beside the tools called
// taken: of tools, of toolsets, and the URIs of resources.
func CheckNames(sets []*Toolset, taken ...string) error {
	tools, names, uris := map[string]string{}, map[string]string{}, map[string]string{}
	for _, name := range taken {
		tools[name] = "the ship itself"
	}
	var found []string
	claim := func(held map[string]string, what, name string, by *Toolset) {
		if other, ok := held[name]; ok {
			found = append(found, fmt.Sprintf("toolset %s: %s %s belongs to %s", by.source, what, name, other))
			return
		}
		held[name] = by.source
	}
	for _, t := range sets {
		claim(names, "the name", t.Name(), t)
		for _, d := range t.declared.Tools {
			claim(tools, "the tool", d.Name, t)
		}
		for _, d := range t.declared.Resources {
			claim(uris, "the resource", d.URI, t)
		}
	}
	if found == nil {
		return nil
	}
	return errors.New(strings.Join(found, "; "))
}
