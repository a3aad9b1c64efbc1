package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/bridge"
)

func (a *app) bridgeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "bridge", Short: "Serve a bridge of its own, and decide what ships may do through one",
		Long: "A bridge holds the forge credentials and does with them what ships may. Without --config the commands\n" +
			"speak of the one that lives in this atlas's ship; with it, of the one that bridge.yaml describes.",
	}
	var config string
	cmd.PersistentFlags().StringVar(&config, "config", "", "bridge.yaml of a bridge of its own process")
	audit := &cobra.Command{Use: "audit", Short: "Check the audit"}
	audit.AddCommand(a.bridgeVerifyCommand(&config))
	cmd.AddCommand(
		a.bridgeServeCommand(&config), a.bridgeGrantCommand(&config), a.bridgeRevokeCommand(&config),
		a.bridgeListCommand(&config), noSubcommand(audit),
	)
	return noSubcommand(cmd)
}

// withAdmin runs f on the bridge that is meant: through its socket, or on its files where none
// runs.
func (a *app) withAdmin(ctx context.Context, config string, f func(bridge.Admin) error) error {
	where, err := a.adminConfig(config)
	if err != nil {
		return err
	}
	admin, err := bridge.OpenAdmin(ctx, where)
	if err != nil {
		return err
	}
	return errors.Join(f(admin), admin.Close())
}

func (a *app) adminConfig(config string) (bridge.AdminConfig, error) {
	if config != "" {
		file, err := readBridgeFile(config)
		if err != nil {
			return bridge.AdminConfig{}, err
		}
		return bridge.AdminConfig{Dir: file.Dir, Socket: filepath.Join(file.Dir, atlas.BridgeSocket)}, nil
	}
	root, err := a.root()
	if err != nil {
		return bridge.AdminConfig{}, err
	}
	sockets, err := atlas.MakeSockets(root)
	if err != nil {
		return bridge.AdminConfig{}, err
	}
	return bridge.AdminConfig{Dir: atlas.StateDir(root), Socket: filepath.Join(sockets, atlas.BridgeSocket), Embedded: true}, nil
}

func readBridgeFile(path string) (*bridge.File, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, hint(err, "write one; README, \"A bridge of its own\", has an example")
	}
	if err != nil {
		return nil, err
	}
	file, err := bridge.ParseConfig(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", path, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return file, nil
}

func (a *app) bridgeGrantCommand(config *string) *cobra.Command {
	var repo string
	var verbs []string
	cmd := &cobra.Command{
		Use: "grant SHIP --repo NAME --verbs read,comment,review", Short: "Let a ship use a repository through the bridge", Args: cobra.ExactArgs(1),
		Long: "Let SHIP do VERBS on a repository (\"*\" for every one), in place of what it might do there before. A ship that is\n" +
			"new gets a credential, printed once and kept as a hash. The ship that a bridge lives in is called local.",
		PreRunE: func(*cobra.Command, []string) error {
			known := []string{api.VerbRead, api.VerbComment, api.VerbReview}
			for _, v := range verbs {
				if !slices.Contains(known, v) {
					return usage("no verb %q; they are %s", v, strings.Join(known, ", "))
				}
			}
			if repo == "" || len(verbs) == 0 {
				return usage("grant wants --repo and --verbs")
			}
			return nil
		},
		RunE: works(func(cmd *cobra.Command, args []string) error {
			return a.withAdmin(cmd.Context(), *config, func(admin bridge.Admin) error {
				granted, err := admin.Grant(cmd.Context(), api.GrantRequest{Ship: args[0], Repo: repo, Verbs: verbs})
				if err != nil {
					return err
				}
				return a.print(granted, func(w io.Writer) { printGranted(w, granted) })
			})
		}),
	}
	cmd.Flags().StringVar(&repo, "repo", "", "registered name of the repository, or \"*\"")
	cmd.Flags().StringSliceVar(&verbs, "verbs", nil, "read, comment, review")
	return a.withJSON(cmd)
}

func printGranted(w io.Writer, g *api.Granted) {
	fmt.Fprintf(w, "%s may: %s\n", clean(g.Ship), grantText(g.Repos))
	if g.Credential != "" {
		fmt.Fprintf(w, "Its credential, shown this once; keep it in a file of mode 0600 and name that in FLEET_BRIDGE_CREDENTIAL_FILE:\n%s\n", g.Credential)
	}
	if g.Note != "" {
		fmt.Fprintln(w, clean(g.Note))
	}
}

func grantText(repos map[string][]string) string {
	var parts []string
	for repo, verbs := range repos {
		parts = append(parts, clean(repo)+" "+strings.Join(verbs, ","))
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}

func (a *app) bridgeRevokeCommand(config *string) *cobra.Command {
	return &cobra.Command{
		Use: "revoke SHIP", Short: "End everything that a ship may do through the bridge, and its credential", Args: cobra.ExactArgs(1),
		RunE: works(func(cmd *cobra.Command, args []string) error {
			return a.withAdmin(cmd.Context(), *config, func(admin bridge.Admin) error {
				if err := admin.Revoke(cmd.Context(), args[0]); err != nil {
					return err
				}
				fmt.Fprintf(a.stdout, "%s may do nothing any more.\n", clean(args[0]))
				return nil
			})
		}),
	}
}

func (a *app) bridgeListCommand(config *string) *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List ships and what they may do", Args: cobra.NoArgs,
		RunE: works(func(cmd *cobra.Command, _ []string) error {
			return a.withAdmin(cmd.Context(), *config, func(admin bridge.Admin) error {
				grants, err := admin.List(cmd.Context())
				if err != nil {
					return err
				}
				return a.print(grants, func(w io.Writer) {
					table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
					fmt.Fprintln(table, "SHIP\tMAY")
					for _, g := range grants.Grants {
						fmt.Fprintf(table, "%s\t%s\n", clean(g.Ship), grantText(g.Repos))
					}
					_ = table.Flush()
				})
			})
		}),
	})
}

func (a *app) bridgeVerifyCommand(config *string) *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use: "verify", Short: "Check that no line of the audit was changed, removed or added", Args: cobra.NoArgs,
		RunE: works(func(cmd *cobra.Command, _ []string) error {
			return a.withAdmin(cmd.Context(), *config, func(admin bridge.Admin) error {
				report, err := admin.VerifyAudit(cmd.Context())
				if err != nil {
					return err
				}
				if err := a.print(report, func(w io.Writer) { printAudit(w, report) }); err != nil {
					return err
				}
				if len(report.Faults) > 0 {
					return fmt.Errorf("the audit is not what was written (%d faults); next: keep the file, and find out who changed it", len(report.Faults))
				}
				return nil
			})
		}),
	})
}

func printAudit(w io.Writer, report *api.AuditReport) {
	fmt.Fprintf(w, "%d lines read.\n", report.Lines)
	for _, f := range report.Faults {
		fmt.Fprintf(w, "line %d: %s\n", f.Line, clean(f.What))
	}
	for _, note := range report.Notes {
		fmt.Fprintln(w, clean(note))
	}
}
