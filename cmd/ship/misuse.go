package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// misusedFlag puts an error of a flag into a person's words. Where a command was mistyped, its
// flags are unknown too, and the command is what to say.
func misusedFlag(cmd *cobra.Command, err error) error {
	if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
		return unknown(cmd, words[0])
	}
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	wanted := invalid.GetFlag().Value.Type()
	switch wanted {
	case "int":
		wanted = "a whole number"
	case "duration":
		wanted = "a duration such as 90s, 15m or 24h"
	}
	return usage("--%s wants %s, not %q", invalid.GetFlag().Name, wanted, invalid.GetValue())
}

// strictHelpers has cobra's own commands, help and completion, take a wrong word for wrong usage.
func strictHelpers(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			noSubcommand(cmd)
		case "help":
			cmd.Args = topic
		}
	}
}

// topic takes the words of a command.
func topic(help *cobra.Command, words []string) error {
	cmd, rest, err := help.Root().Find(words)
	if err != nil {
		return usage("%v", err)
	}
	if len(rest) == 0 {
		return nil
	}
	if !cmd.HasSubCommands() {
		return usage("%s has no subcommands, and %q is none", cmd.CommandPath(), rest[0])
	}
	return unknown(cmd, rest[0])
}

// shellPages are those of cobra's own commands; what it says of each shell stands.
func shellPages() map[string]page {
	return map[string]page{
		"help": {"Print what a command does and changes, as its --help does.", "ship help\nship help repo add"},
		"completion": {
			"Print a script that has your shell complete commands, workspaces and tools. It reads the atlas's files alone, so it\n" +
				"works without a running ship.",
			"source <(ship completion bash)",
		},
		"completion bash":       {"", "source <(ship completion bash)"},
		"completion fish":       {"", "ship completion fish | source"},
		"completion powershell": {"", "ship completion powershell | Out-String | Invoke-Expression"},
		"completion zsh":        {"", "source <(ship completion zsh)"},
	}
}
