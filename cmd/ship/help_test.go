package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// commands gives every command that people see, by its words behind "ship".
func commands(cmd *cobra.Command, words string, all map[string]*cobra.Command) map[string]*cobra.Command {
	for _, sub := range cmd.Commands() {
		if name := strings.TrimSpace(words + " " + sub.Name()); !sub.Hidden {
			all[name] = sub
			commands(sub, name, all)
		}
	}
	return all
}

func TestEveryHelpSaysWhatItsCommandDoesAndGivesAnExampleThatIsOne(t *testing.T) {
	all := commands((&app{}).command(), "", map[string]*cobra.Command{})
	for words := range pages() {
		if all[words] == nil {
			t.Errorf("there is a help page for ship %s, which is no command", words)
		}
	}
	for words, cmd := range all {
		if !strings.Contains(cmd.Long, ".") || cmd.Long == cmd.Short {
			t.Errorf("ship %s --help has no sentence: %q", words, cmd.Long)
		}
		examples := 0
		for line := range strings.Lines(cmd.Example) {
			_, typed, ok := strings.Cut(line, "ship ")
			if !ok {
				continue
			}
			examples++
			checkExample(t, words, strings.TrimSpace(typed))
		}
		if examples == 0 {
			t.Errorf("ship %s --help has no example", words)
		}
	}
}

// checkExample parses an example, which must be of the command with those words or below it.
func checkExample(t *testing.T, words, typed string) {
	t.Helper()
	if _, piped, ok := strings.Cut(typed, "| ship "); ok {
		typed = piped
	}
	typed, _, _ = strings.Cut(typed, " <")
	typed, _, _ = strings.Cut(typed, " | ")
	typed = strings.TrimSuffix(typed, ")") // of <(ship …)
	before, _, dashed := strings.Cut(typed, " -- ")
	var line []string
	for _, word := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(before, -1) {
		line = append(line, strings.Trim(word, "'"))
	}
	cmd, rest, err := (&app{}).command().Find(line)
	if err != nil || !strings.HasPrefix(cmd.CommandPath()+" ", "ship "+words+" ") {
		t.Errorf("ship %s --help has the example %q, of another command: %v", words, typed, err)
		return
	}
	err = cmd.ParseFlags(rest)
	if err == nil && !dashed {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err == nil && cmd.PreRunE != nil {
		err = cmd.PreRunE(cmd, cmd.Flags().Args())
	}
	if err != nil {
		t.Errorf("ship %s --help has the example %q: %v", words, typed, err)
	}
}

func TestAMissingArgumentIsNamed(t *testing.T) {
	for line, want := range map[string]string{
		"repo add widgets":        "ship repo add NAME URL|PATH wants 2 arguments, not 1",
		"credential add":          "ship credential add HOST wants 1 argument, not 0",
		"bridge grant":            "ship bridge grant SHIP wants 1 argument, not 0",
		"call a/b":                "ship call REPO/NAME TOOL [JSON] wants 2 to 3 arguments, not 1",
		"status a/b c/d":          "ship status [REPO/NAME] wants 0 to 1 argument, not 2",
		"version x":               `ship version takes no arguments, and "x" is one`,
		"credential add h secret": "the token is read from standard input and is never an argument, where other users and the shell's history see it",
	} {
		root := (&app{}).command()
		root.SetArgs(strings.Fields(line))
		if err := root.Execute(); err == nil || err.Error() != want {
			t.Errorf("ship %s: %v, want %q", line, err, want)
		}
	}
}
