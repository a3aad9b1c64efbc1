package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fleet/internal/atlas"
	"fleet/internal/harness"
)

func (a *app) harnessCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "harness", Short: "Register agent-mcp with your harnesses (" + strings.Join(harness.Names(), ", ") + ")"}
	cmd.AddCommand(a.harnessListCommand(), a.harnessInstallCommand(), a.harnessUninstallCommand(), a.harnessPrintCommand())
	return noSubcommand(cmd)
}

// besideUs is agent-mcp beside this program, wherever a link to this program may stand.
func besideUs() string {
	self := executable()
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	return filepath.Join(filepath.Dir(self), "agent-mcp")
}

func installer() (*harness.Installer, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(home) {
		return nil, fmt.Errorf("HOME is %q, which is not absolute; next: set HOME to your home directory", home)
	}
	return harness.New(harness.Config{Home: home, Getenv: os.Getenv, LookPath: exec.LookPath, Adapter: besideUs()}), nil
}

func (a *app) harnessListCommand() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the harnesses: which are on this machine, and which are registered", Args: exactly(0),
		RunE: works(func(*cobra.Command, []string) error {
			in, err := installer()
			if err != nil {
				return err
			}
			list, err := in.List()
			if err != nil {
				return err
			}
			return a.print(map[string]any{"harnesses": list}, func(w io.Writer) { printHarnesses(w, list) })
		}),
	})
}

func printHarnesses(w io.Writer, list []harness.Status) {
	var t table
	t.row("NAME", "PROGRAM", "STATE", "FILE")
	for _, s := range list {
		program := s.Program
		if program == "" {
			program = "not on PATH"
		}
		t.row(s.Name, program, string(s.State), s.File)
	}
	t.print(w)
	for _, s := range list {
		if s.Detail != "" {
			fmt.Fprintf(w, "%s: %s\n", s.Name, clean(s.Detail))
		}
	}
}

func (a *app) harnessInstallCommand() *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use: "install NAME|all", Short: "Register agent-mcp with a harness, for your user", Args: exactly(1), ValidArgs: append(harness.Names(), "all"),
		RunE: works(func(_ *cobra.Command, args []string) error {
			if info, err := os.Stat(besideUs()); err != nil || !info.Mode().IsRegular() {
				return fmt.Errorf("there is no agent-mcp beside this program, at %s; next: build both into one directory (go build -o bin/ ./cmd/...)", besideUs())
			}
			in, err := installer()
			if err != nil {
				return err
			}
			names, err := a.chosen(in, args[0])
			if err != nil {
				return err
			}
			if len(names) == 0 {
				fmt.Fprintf(a.stdout, "No harness was found. Next: once you have one, %[1]s harness install NAME; for any other that speaks MCP\nover stdio, register the command %[2]s as %[3]s.\n",
					atlas.Quote(programName()), atlas.Quote(besideUs()), harness.Key)
			}
			var failed error
			for _, name := range names {
				out, err := in.Install(name, dry)
				if err != nil {
					failed = errors.Join(failed, fmt.Errorf("%s: %w", name, err))
					continue
				}
				a.sayInstalled(out, dry)
			}
			return failed
		}),
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show what would change, and write nothing")
	return cmd
}

// chosen gives the harnesses that an argument means, and says which ones "all" leaves out.
func (a *app) chosen(in *harness.Installer, arg string) ([]string, error) {
	list, err := in.List()
	if err != nil {
		return nil, err
	}
	var names, skipped []string
	for _, s := range list {
		switch {
		case arg == s.Name:
			return []string{arg}, nil
		case s.Present:
			names = append(names, s.Name)
		default:
			skipped = append(skipped, s.Name)
		}
	}
	if arg != "all" {
		return nil, usage("no harness is called %q; known are %s, and all", arg, strings.Join(harness.Names(), ", "))
	}
	if len(skipped) > 0 {
		fmt.Fprintf(a.stdout, "Skipped, as neither the program nor its folder is here: %s.\n", strings.Join(skipped, ", "))
	}
	return names, nil
}

func (a *app) sayInstalled(out harness.Outcome, dry bool) {
	switch {
	case len(out.Files) == 0:
		fmt.Fprintf(a.stdout, "%s: registered already; nothing to change.\n", out.Title)
	case dry:
		a.showDiff(out)
	default:
		fmt.Fprintf(a.stdout, "%s: registered in %s. Start it anew to use it.\n", out.Title, clean(strings.Join(out.Files, ", ")))
	}
	if out.Note != "" {
		fmt.Fprintf(a.stdout, "  Note: %s.\n", out.Note)
	}
}

// showDiff prints a diff: byte for byte into a pipe, so that patch takes it, and without what
// could drive a terminal otherwise.
func (a *app) showDiff(out harness.Outcome) {
	if isTerminal(a.stdout) {
		fmt.Fprint(a.stdout, cleanText(out.Diff))
		return
	}
	fmt.Fprint(a.stdout, out.Diff)
}

func (a *app) harnessUninstallCommand() *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use: "uninstall NAME|all", Short: "Remove what ship harness install wrote, and nothing else", Args: exactly(1), ValidArgs: append(harness.Names(), "all"),
		RunE: works(func(_ *cobra.Command, args []string) error {
			in, err := installer()
			if err != nil {
				return err
			}
			names, err := a.chosen(in, args[0])
			if err != nil {
				return err
			}
			var failed error
			for _, name := range names {
				failed = errors.Join(failed, a.uninstall(in, name, dry))
			}
			return failed
		}),
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show what would change, and write nothing")
	return cmd
}

func (a *app) uninstall(in *harness.Installer, name string, dry bool) error {
	out, err := in.Uninstall(name, dry)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	case len(out.Files) == 0 && len(out.Left) == 0:
		fmt.Fprintf(a.stdout, "%s: not registered by ship; nothing to remove.\n", out.Title)
	case dry:
		a.showDiff(out)
	case len(out.Files) > 0:
		fmt.Fprintf(a.stdout, "%s: removed from %s.\n", out.Title, clean(strings.Join(out.Files, ", ")))
	}
	if len(out.Left) > 0 {
		return fmt.Errorf("%s: %s: %w; next: remove it there by hand if it shall go", name, strings.Join(out.Left, ", "), harness.ErrConflict)
	}
	return nil
}

func (a *app) harnessPrintCommand() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use: "print NAME", Short: "Print what a registration consists of, to write it by hand", Args: exactly(1), ValidArgs: harness.Names(),
		RunE: works(func(_ *cobra.Command, args []string) error {
			in, err := installer()
			if err != nil {
				return err
			}
			snippets, note, err := in.Print(args[0])
			if err != nil {
				return usage("%v", err)
			}
			return a.print(map[string]any{"snippets": snippets, "note": note}, func(w io.Writer) {
				for _, s := range snippets {
					where := clean(s.File)
					if s.IfPresent {
						where += ", only if that list is there already"
					}
					fmt.Fprintf(w, "In %s:\n\n%s\n", where, s.Text)
				}
				if note != "" {
					fmt.Fprintf(w, "Note: %s.\n", note)
				}
			})
		}),
	})
}
