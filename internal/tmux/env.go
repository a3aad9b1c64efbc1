package tmux

import (
	"slices"
	"strings"
)

// Environ gives what of an operator's environment reaches tmux, and with it every pane:
// the variables of the allow-list, and a UTF-8 locale where the operator has none, since without
// one tmux and the programs in it lose every character beyond ASCII. It is idempotent.
func Environ(environ []string) []string {
	var out []string
	values := map[string]string{}
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		if _, seen := values[name]; ok && !seen && allowed(name) {
			values[name] = value
			out = append(out, kv)
		}
	}
	if isUTF8(locale(values)) {
		return out
	}
	out = slices.DeleteFunc(out, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return name == "LC_ALL" || name == "LC_CTYPE" || name == "LANG"
	})
	return append(out, "LANG=C.UTF-8")
}

func allowed(name string) bool {
	listed := []string{
		"HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "TERM", "TZ", "SSH_AUTH_SOCK", "DISPLAY", "WAYLAND_DISPLAY",
	}
	return slices.Contains(listed, name) || strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_")
}

// locale is the one that decides on characters, as setlocale(3) chooses it.
func locale(values map[string]string) string {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if values[name] != "" {
			return values[name]
		}
	}
	return ""
}

func isUTF8(locale string) bool {
	l := strings.ToLower(locale)
	return strings.Contains(l, "utf-8") || strings.Contains(l, "utf8")
}

func isName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}
