package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fleet/internal/atlas"
	"fleet/internal/server"
	"fleet/internal/toolset"
)

func (a *app) toolsetCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "toolset", Short: "Check declared command-line tools, which the ship serves beside its own"}
	cmd.AddCommand(a.toolsetCheckCommand())
	return noSubcommand(cmd)
}

func (a *app) toolsetCheckCommand() *cobra.Command {
	var command []string
	cmd := a.withJSON(&cobra.Command{
		Use: "check FILE|builtin:NAME", Short: "Show what a toolset would serve and run, and what is wrong with it", Args: exactly(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return toolset.Builtins(), cobra.ShellCompDirectiveDefault
		},
		RunE: works(func(cmd *cobra.Command, args []string) error {
			report, err := a.checkToolset(cmd.Context(), args[0], command)
			if err != nil {
				return err
			}
			if err := a.print(report, report.print); err != nil {
				return err
			}
			switch {
			case len(report.Faults) == 0:
				return nil
			case a.json:
				return &failure{} // the JSON says it
			}
			return fmt.Errorf("%s would not be served; next: mend what is listed above and check again", report.Use)
		}),
	})
	cmd.Flags().StringArrayVar(&command, "command", nil, "the command's program; repeat for each of its first arguments (default: what atlas.json says)")
	return cmd
}

// toolsetReport is what ship toolset check finds.
type toolsetReport struct {
	Use       string       `json:"use"`
	Name      string       `json:"name"`
	Command   []string     `json:"command"`
	Contract  []string     `json:"contract"` // the argument array of its check; empty: it has none
	Tools     []toolReport `json:"tools"`
	Resources []string     `json:"resources"`
	Faults    []string     `json:"faults"`
}

type toolReport struct {
	Name           string          `json:"name"`
	Title          string          `json:"title"`
	Description    string          `json:"description"`
	InputSchema    json.RawMessage `json:"input_schema"`
	RepositoryText bool            `json:"repository_text"`
	Samples        []sampleReport  `json:"samples"`
}

// sampleReport is an input, and the argument array that it would run or why it would not.
type sampleReport struct {
	Input   json.RawMessage `json:"input"`
	Argv    []string        `json:"argv"`
	Problem string          `json:"problem,omitempty"`
}

// checkToolset looks at a toolset as a ship of the atlas would, and runs its contract check.
func (a *app) checkToolset(ctx context.Context, use string, command []string) (*toolsetReport, error) {
	root, file, err := a.atlasAround()
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(use, "builtin:") {
		if use, err = filepath.Abs(use); err != nil {
			return nil, err
		}
	}
	host, ref := toolsetHost(root), atlas.Toolset{Use: use}
	var others []*toolset.Toolset
	for _, listed := range file.Toolsets {
		if listed.Use == use {
			ref = listed
		} else if other, err := toolset.Load(host, listed); err == nil {
			others = append(others, other)
		}
	}
	if len(command) > 0 {
		ref.Command = command
	}
	r := &toolsetReport{Use: use, Command: []string{}, Contract: []string{}, Tools: []toolReport{}, Resources: []string{}, Faults: []string{}}
	set, err := toolset.Load(host, ref)
	var found toolset.Faults
	switch {
	case errors.As(err, &found):
		r.Faults = append(r.Faults, found...)
	case err != nil:
		r.Faults = append(r.Faults, err.Error())
	default:
		r.fill(ctx, set, others)
	}
	return r, nil
}

// atlasAround is the atlas that a toolset is checked for. Without one it is "" and an empty file.
func (a *app) atlasAround() (root string, file *atlas.File, err error) {
	if root, err = a.root(); err != nil {
		if a.atlasFlag != "" || os.Getenv("FLEET_ATLAS") != "" {
			return "", nil, err
		}
		return "", &atlas.File{}, nil
	}
	file, err = atlas.Read(root)
	return root, file, err
}

func (r *toolsetReport) fill(ctx context.Context, set *toolset.Toolset, others []*toolset.Toolset) {
	r.Name, r.Command = set.Name(), set.Command()
	r.Contract = append(r.Contract, set.Contract()...)
	here, err := os.Getwd()
	if err != nil {
		here = "/"
	}
	place := toolset.Place{Dir: here}
	for _, t := range set.Tools() {
		shown := toolReport{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.InputSchema, RepositoryText: t.RepositoryText}
		samples, err := set.Samples(place, t.Name)
		if err != nil {
			r.Faults = append(r.Faults, err.Error())
		}
		for _, input := range samples {
			argv, err := set.Argv(place, t.Name, input)
			sample := sampleReport{Input: input, Argv: argv}
			if err != nil {
				sample.Argv, sample.Problem = []string{}, oneLine(err)
			}
			shown.Samples = append(shown.Samples, sample)
		}
		r.Tools = append(r.Tools, shown)
	}
	for _, resource := range set.Resources() {
		r.Resources = append(r.Resources, resource.URI)
	}
	if err := toolset.CheckNames(append(others, set), server.ToolNames()...); err != nil {
		r.Faults = append(r.Faults, err.Error())
	}
	if err := server.CheckToolset(set); err != nil {
		r.Faults = append(r.Faults, oneLine(err))
	}
	if err := set.Verify(ctx); err != nil {
		r.Faults = append(r.Faults, oneLine(err))
	}
}

func (r *toolsetReport) print(w io.Writer) {
	if r.Name != "" {
		fmt.Fprintf(w, "%s (%s) runs: %s\n", clean(r.Name), clean(r.Use), quotedLine(r.Command))
	}
	if len(r.Contract) > 0 {
		fmt.Fprintf(w, "contract check: %s\n", quotedLine(r.Contract))
	}
	for _, t := range r.Tools {
		fmt.Fprintf(w, "\n%s: %s\n", clean(t.Name), clean(t.Description))
		for _, s := range t.Samples {
			fmt.Fprintf(w, "  %s\n", clean(string(s.Input)))
			if s.Problem != "" {
				fmt.Fprintf(w, "    would be refused: %s\n", s.Problem)
				continue
			}
			fmt.Fprintf(w, "    %s\n", quotedLine(s.Argv))
		}
	}
	for _, uri := range r.Resources {
		fmt.Fprintf(w, "\nresource: %s\n", clean(uri))
	}
	if len(r.Faults) == 0 {
		fmt.Fprintln(w, "\nNo faults.")
		return
	}
	if r.Name != "" {
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, "faults:")
	for _, fault := range r.Faults {
		fmt.Fprintf(w, "  %s\n", clean(fault))
	}
}

// quotedLine writes an argument array as a shell reads it, though none ever does.
func quotedLine(argv []string) string {
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = atlas.Quote(clean(word))
	}
	return strings.Join(words, " ")
}
