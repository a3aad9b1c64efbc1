package toolset

import (
	"encoding/json"
	"fmt"
	"path/filepath"
)

// Samples gives inputs with which a person can see what a tool would run: the required ones
// alone, then all of them where there are more. They satisfy the tool's schema as far as its
// types, enums and examples tell; a pattern without an example may refuse them.
func (t *Toolset) Samples(place Place, name string) ([]json.RawMessage, error) {
	ready, err := t.tool(name)
	if err != nil {
		return nil, err
	}
	kinds := map[string]string{}
	for _, a := range ready.Args {
		kinds[a.From] = a.As
	}
	least, all := map[string]any{}, map[string]any{}
	for input, p := range ready.inputs.Properties {
		all[input] = p.sample(place, kinds[input])
	}
	for _, input := range ready.inputs.Required {
		least[input] = all[input]
	}
	var list []json.RawMessage
	for _, given := range []map[string]any{least, all} {
		raw, err := marshal(given)
		if err != nil {
			return nil, fmt.Errorf("write sample inputs of %s: %w", name, err)
		}
		list = append(list, raw)
	}
	if len(least) == len(all) {
		list = list[:1]
	}
	return list, nil
}

func (p property) sample(place Place, kind string) any {
	switch {
	case len(p.Examples) > 0:
		return p.Examples[0]
	case len(p.Enum) > 0:
		return p.Enum[0]
	}
	switch p.Type {
	case "boolean":
		return true
	case "integer":
		if p.Minimum != nil {
			return int64(*p.Minimum)
		}
		return 0
	case "array":
		n := max(p.MinItems, 2)
		list := make([]string, n)
		for i := range list {
			list[i] = sampleText(place, kind, i+1)
		}
		return list
	}
	return sampleText(place, kind, 1)
}

func sampleText(place Place, kind string, n int) string {
	switch kind {
	case kindPath, kindPathOrWord:
		return fmt.Sprintf("dir/file-%d.txt", n)
	case kindAbsPath:
		return filepath.Join(place.Dir, fmt.Sprintf("dir/file-%d.txt", n))
	case kindText:
		return "some words"
	}
	return fmt.Sprintf("name-%d", n)
}
