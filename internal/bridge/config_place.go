package bridge

import (
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
)

// topText finds a key of the document's own with a plain value.
var topText = regexp.MustCompile(`(?m)^(listen|dir):[ \t]+["']?([^"'#\s]+)["']?[ \t]*(?:#.*)?\r?$`)

// ConfigPlace reads from bridge.yaml only where its bridge is found: what a File has as Listen and
// Dir. Whatever else is wrong with text, even that it is no YAML, must not keep an operator from
// revoking. "" is for what cannot be read, or is not fit.
func ConfigPlace(text []byte) (listen, dir string) {
	if f, _ := parseConfig(text); f != nil {
		listen, dir = f.Listen, f.Dir
	} else if len(text) <= maxConfig {
		found := map[string][]string{}
		for _, m := range topText.FindAllStringSubmatch(string(text), -1) {
			found[m[1]] = append(found[m[1]], m[2])
		}
		listen, dir = only(found["listen"]), only(found["dir"])
	}
	if !filepath.IsAbs(dir) || strings.ContainsFunc(dir, unicode.IsControl) {
		dir = ""
	}
	return listen, dir
}

func only(all []string) string {
	if len(all) != 1 {
		return ""
	}
	return all[0]
}
