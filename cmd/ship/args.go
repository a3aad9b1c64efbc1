package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// between takes at least and at most so many arguments, and says otherwise which belong there.
func between(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && len(args) <= most {
			return nil
		}
		if most == 0 {
			return usage("%s takes no arguments, and %q is one", synopsis(cmd), args[0])
		}
		wanted := fmt.Sprint(least)
		if least != most {
			wanted = fmt.Sprintf("%d to %d", least, most)
		}
		noun := "arguments"
		if most == 1 {
			noun = "argument"
		}
		return usage("%s wants %s %s, not %d", synopsis(cmd), wanted, noun, len(args))
	}
}

func exactly(n int) cobra.PositionalArgs { return between(n, n) }

// synopsis is a command with its arguments, without its flags.
func synopsis(cmd *cobra.Command) string {
	words := strings.Fields(cmd.CommandPath())
	for _, word := range strings.Fields(cmd.Use)[1:] {
		if strings.HasPrefix(strings.TrimPrefix(word, "["), "-") {
			break
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}
