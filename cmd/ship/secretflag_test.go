package main

import (
	"regexp"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// What stands on a command line stands in ps and in the shell's history.
func TestNoCommandTakesASecretOnItsCommandLine(t *testing.T) {
	secret := regexp.MustCompile(`(?i)token|secret|password|passphrase|bearer|credential|api-?key`)
	flags := 0
	for words, cmd := range commands((&app{}).command(), "", map[string]*cobra.Command{}) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			flags++
			if secret.MatchString(f.Name) {
				t.Errorf("ship %s has the flag --%s", words, f.Name)
			}
		})
		if arguments := cmd.Use[len(cmd.Name()):]; secret.MatchString(arguments) {
			t.Errorf("ship %s takes the argument%s", words, arguments)
		}
	}
	if flags < 15 {
		t.Errorf("only %d flags were looked at; the test's eyes are bad", flags)
	}
}
