package main

import (
	"regexp"
	"strings"

	"fleet/internal/atlas"
)

// placed makes the commands in an error's hint work as they stand: under the name by which the
// shell finds this program, on the atlas that --atlas names and on the bridge that --config names.
func (a *app) placed(line string) string {
	before, next, ok := strings.Cut(line, "; next: ")
	if !ok {
		return line
	}
	// Of an app of its own: making the commands sets their flags to what they are by default.
	var names []string
	for _, cmd := range (&app{}).command().Commands() {
		names = append(names, cmd.Name())
	}
	// Not within a path, which names its program already, nor a longer word such as "serves".
	commands := regexp.MustCompile("(^|[ (`])ship (" + strings.Join(names, "|") + ")($|[^a-z-])")
	var out strings.Builder
	at := 0
	for _, m := range commands.FindAllStringSubmatchIndex(next, -1) {
		word, rest := next[m[4]:m[5]], next[m[5]:]
		out.WriteString(next[at:m[3]] + strings.Join(a.prefix(word, rest), " "))
		at = m[5]
	}
	return before + "; next: " + out.String() + next[at:]
}

// prefix is how a hint's command begins that goes on with rest.
func (a *app) prefix(word, rest string) []string {
	words := []string{atlas.Quote(programName())}
	switch word {
	case "bridge":
		if strings.Contains(rest, " --config ") { // of a bridge that is not this run's
			return append(words, word)
		}
		if a.bridgeFlag != "" {
			return append(words, word, "--config", atlas.Quote(a.bridgeFlag))
		}
	case "init", "credential", "harness", "version": // no atlas of theirs
		return append(words, word)
	}
	if a.atlasFlag != "" && !strings.HasPrefix(rest, " --atlas") {
		words = append(words, "--atlas", atlas.Quote(a.atlasFlag))
	}
	return append(words, word)
}
