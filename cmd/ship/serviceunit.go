package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"fleet/internal/atlas"
)

// unit is a systemd user unit that serves one atlas. It holds no secret: credentials are in files
// that it or the bridge's own folder names.
type unit struct {
	program, root string
	environment   []string // NAME=VALUE
	files         []string // EnvironmentFile=, the operator's
}

// name is the unit's file name: one for each atlas, and the same every time.
func (u unit) name() string {
	sum := sha256.Sum256([]byte(u.root))
	return "fleet-ship-" + hex.EncodeToString(sum[:6]) + ".service"
}

// unitHeader begins a unit that ship wrote; the hash is of all that follows its line.
const unitHeader = "# Written by ship service install; a unit that was edited is left alone. sha256:"

// text is the unit's file.
func (u unit) text() string {
	body := u.body()
	return unitHeader + hashOf(body) + "\n" + body
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// ours says that a unit's text is as ship wrote it.
func ours(text string) bool {
	rest, ok := strings.CutPrefix(text, unitHeader)
	if !ok {
		return false
	}
	hash, body, _ := strings.Cut(rest, "\n")
	return hash == hashOf(body)
}

// body is the unit without its header. The agents' sessions live in the unit's control group, so
// each of its limits and its end are the ship's alone: KillMode=process keeps the tmux server when
// the unit stops, OOMPolicy=continue keeps the ship when some build in a session runs out of
// memory, and a task limit would count the agents' processes.
func (u unit) body() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("[Unit]")
	line("Description=Fleet ship of %s", specifiers(clean(u.root)))
	line("")
	line("[Service]")
	line("Type=notify")
	line("NotifyAccess=main")
	// ":" keeps systemd from expanding variables in the line.
	line("ExecStart=%s serve --atlas %s", unitWord(":"+u.program), unitWord(u.root))
	line("ExecReload=kill -HUP $MAINPID")
	line("WorkingDirectory=/")
	for _, entry := range u.environment {
		line("Environment=%s", unitWord(entry))
	}
	for _, file := range u.files {
		line("EnvironmentFile=%s", specifiers(file))
	}
	line("KillMode=process")
	line("OOMPolicy=continue")
	line("TasksMax=infinity")
	line("Restart=on-failure")
	line("RestartSec=2")
	line("TimeoutStopSec=20")
	line("StandardOutput=null")
	line("StandardError=journal")
	line("")
	line("[Install]")
	line("WantedBy=default.target")
	return b.String()
}

// specifiers doubles what systemd would expand in any value.
func specifiers(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// unitWord writes s as one word of a command line or an Environment= (systemd.syntax(7),
// "Quoting"; systemd.unit(5), "Specifiers").
func unitWord(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '%':
			b.WriteString("%%")
		case invisible(r):
			for _, c := range []byte(string(r)) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// check refuses what systemd could not read, before it is written.
func (u unit) check() error {
	if !utf8.ValidString(u.root) {
		return fmt.Errorf("a systemd unit can name no path that is not UTF-8, as this atlas's is: %s", atlas.Quote(u.root))
	}
	if strings.ContainsAny(u.program, "\"'\\\x7f") || strings.ContainsFunc(u.program, unicode.IsControl) || !utf8.ValidString(u.program) {
		return fmt.Errorf("systemd starts no program whose path holds quotes, backslashes or control characters, as %s does; next: install ship elsewhere, such as ~/.local/bin", atlas.Quote(u.program))
	}
	for _, entry := range u.environment {
		name, value, _ := strings.Cut(entry, "=")
		if !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl) {
			return fmt.Errorf("%s holds characters that no systemd unit can; next: unset or change it, then try again", name)
		}
	}
	return nil
}

// unitEnvironment takes from the operator's environment what the ship needs and systemd's user
// manager may not have: where programs are found, by the sessions too, and which bridge is meant.
// A variable that could hold a secret is none of these.
func unitEnvironment(lookup func(string) (string, bool)) ([]string, error) {
	var entries []string
	for _, name := range []string{"PATH", "XDG_CONFIG_HOME", "FLEET_BRIDGE_URL", "FLEET_BRIDGE_CREDENTIAL_FILE"} {
		value, ok := lookup(name)
		if !ok || value == "" {
			continue
		}
		if name == "FLEET_BRIDGE_URL" && strings.Contains(value, "@") {
			return nil, errors.New("FLEET_BRIDGE_URL seems to hold a password, which a unit must not; next: give the address alone")
		}
		if name == "FLEET_BRIDGE_CREDENTIAL_FILE" {
			absolute, err := filepath.Abs(value)
			if err != nil {
				return nil, err
			}
			value = absolute
		}
		entries = append(entries, name+"="+value)
	}
	return entries, nil
}

// environmentFile checks a file of the operator's that the unit shall name, and gives its path.
// It may hold secrets, so that it must be for its owner alone.
func environmentFile(name string) (string, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", hint(err, "make it first, with lines such as NAME=VALUE")
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s must be a regular file that is for you alone; next: chmod 600 %s", path, atlas.Quote(path))
	}
	// EnvironmentFile= knows wildcards but no quotes.
	odd := func(r rune) bool { return unicode.IsControl(r) || slices.Contains([]rune(`*?[\`), r) }
	if strings.ContainsFunc(path, odd) || strings.TrimSpace(path) != path || !utf8.ValidString(path) {
		return "", usage("--env-file %s: systemd reads wildcards, backslashes and outer blanks in such a path otherwise; choose another", clean(path))
	}
	return path, nil
}
