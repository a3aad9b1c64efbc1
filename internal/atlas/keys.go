package atlas

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// checkKeys names every key of an atlas.json that Fleet does not know. encoding/json's own
// DisallowUnknownFields stops at the first, gives no path and takes "Port" for "port".
func checkKeys(raw []byte) error {
	top, unknown, err := keysOf(raw, "", "fleet", "port", "repos", "env", "toolsets")
	if err != nil {
		return err
	}
	repos := map[string]json.RawMessage{}
	if r, ok := top["repos"]; ok {
		if err := json.Unmarshal(r, &repos); err != nil {
			return fmt.Errorf("repos is not an object: %w", err)
		}
	}
	for key, r := range repos {
		_, more, err := keysOf(r, "repos."+key+".", "url", "forge", "default_branch", "api_url")
		if err != nil {
			return err
		}
		unknown = append(unknown, more...)
	}
	var toolsets []json.RawMessage
	if t, ok := top["toolsets"]; ok {
		if err := json.Unmarshal(t, &toolsets); err != nil {
			return fmt.Errorf("toolsets is not a list: %w", err)
		}
	}
	for i, t := range toolsets {
		_, more, err := keysOf(t, fmt.Sprintf("toolsets[%d].", i), "use", "command", "roots")
		if err != nil {
			return err
		}
		unknown = append(unknown, more...)
	}
	if len(unknown) == 0 {
		return nil
	}
	sort.Strings(unknown)
	return fmt.Errorf("unknown keys: %s", strings.Join(unknown, ", "))
}

func keysOf(raw []byte, path string, known ...string) (map[string]json.RawMessage, []string, error) {
	object := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, nil, fmt.Errorf("%s is not an object: %w", strings.TrimSuffix(path, "."), err)
	}
	var unknown []string
	for key := range object {
		if !slices.Contains(known, key) {
			unknown = append(unknown, path+key)
		}
	}
	return object, unknown, nil
}
