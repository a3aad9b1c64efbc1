package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/bridge"
)

func (a *app) bridgeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "bridge", Short: "Serve a bridge of its own, and decide what ships may do through one",
	}
	cmd.PersistentFlags().StringVar(&a.bridgeFlag, "config", "", "bridge.yaml of a bridge of its own process")
	audit := &cobra.Command{Use: "audit", Short: "Check the audit"}
	audit.AddCommand(a.bridgeVerifyCommand())
	cmd.AddCommand(
		a.bridgeServeCommand(), a.bridgeGrantCommand(), a.bridgeRevokeCommand(),
		a.bridgeListCommand(), noSubcommand(audit),
	)
	return noSubcommand(cmd)
}

func readBridgeFile(path string) (*bridge.File, error) {
	raw, err := readBridgeText(path)
	if err != nil {
		return nil, err
	}
	file, err := bridge.ParseConfig(raw)
	if err != nil {
		return nil, bridgeFault(path, err)
	}
	return file, nil
}

func readBridgeText(path string) ([]byte, error) {
	raw, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, hint(err, "write one; README, \"A bridge of its own\", has an example")
	case errors.Is(err, fs.ErrPermission):
		return nil, hint(err, "run this as the bridge's own user")
	case err != nil:
		return nil, hint(err, "name a bridge.yaml")
	}
	return raw, nil
}

// bridgeFault puts every fault of a bridge.yaml into one line.
func bridgeFault(path string, err error) error {
	return fmt.Errorf("%s: %s", path, strings.ReplaceAll(err.Error(), "\n", "; "))
}

func (a *app) bridgeGrantCommand() *cobra.Command {
	var repo string
	var verbs []string
	cmd := &cobra.Command{
		Use: "grant SHIP --repo NAME --verbs read,comment,review", Short: "Let a ship use a repository through the bridge", Args: exactly(1),
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
			return a.withAdmin(cmd.Context(), true, func(admin bridge.Admin) error {
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
	if g.Note != "" {
		fmt.Fprintln(w, clean(g.Note))
	}
	if g.Credential != "" { // last, so that a script can take the last line
		fmt.Fprintf(w, "Its credential, shown this once; keep it in a file of mode 0600 and name that in FLEET_BRIDGE_CREDENTIAL_FILE:\n%s\n", g.Credential)
	}
}

func grantText(repos map[string][]string) string {
	if len(repos) == 0 {
		return "nothing"
	}
	var parts []string
	for repo, verbs := range repos {
		parts = append(parts, clean(repo)+" "+strings.Join(verbs, ","))
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}

func (a *app) bridgeRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "revoke SHIP", Short: "End everything that a ship may do through the bridge, and its credential", Args: exactly(1),
		RunE: works(func(cmd *cobra.Command, args []string) error {
			return a.withAdmin(cmd.Context(), false, func(admin bridge.Admin) error {
				if err := admin.Revoke(cmd.Context(), args[0]); err != nil {
					return err
				}
				fmt.Fprintf(a.stdout, "%s may do nothing any more.\nTo give rights back: %s\n", clean(args[0]), a.next("bridge", "grant", atlas.Quote(args[0]), "--repo NAME --verbs read,comment,review"))
				return nil
			})
		}),
	}
}

func (a *app) bridgeListCommand() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List ships and what they may do", Args: exactly(0),
		RunE: works(func(cmd *cobra.Command, _ []string) error {
			grants := &api.Grants{Grants: []api.Grant{}}
			err := a.withAdmin(cmd.Context(), false, func(admin bridge.Admin) (err error) {
				grants, err = admin.List(cmd.Context())
				return err
			})
			if errors.Is(err, bridge.ErrNeverUsed) { // as much is true, and no file is made for it
				fmt.Fprintln(a.stderr, "! "+oneLine(err))
				err = nil
			}
			if err != nil {
				return err
			}
			return a.print(grants, func(w io.Writer) { a.printGrants(w, grants.Grants) })
		}),
	})
}

func (a *app) printGrants(w io.Writer, grants []api.Grant) {
	if len(grants) == 0 {
		fmt.Fprintf(w, "No ship may do anything here yet. Next: %s\n", a.next("bridge", "grant", "SHIP --repo NAME --verbs read,comment,review"))
		return
	}
	var t table
	t.row("SHIP", "MAY")
	for _, g := range grants {
		t.row(g.Ship, grantText(g.Repos))
	}
	t.print(w)
}

func (a *app) bridgeVerifyCommand() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use: "verify", Short: "Check that no line of the audit was changed, removed or added", Args: exactly(0),
		RunE: works(func(cmd *cobra.Command, _ []string) error {
			return a.withAdmin(cmd.Context(), false, func(admin bridge.Admin) error {
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
	if len(report.Faults) == 0 {
		fmt.Fprintf(w, "%d lines read; no fault was found.\n", report.Lines)
	} else {
		fmt.Fprintf(w, "%d lines read.\n", report.Lines)
	}
	for _, f := range report.Faults {
		fmt.Fprintf(w, "line %d: %s\n", f.Line, clean(f.What))
	}
	for _, note := range report.Notes {
		fmt.Fprintln(w, clean(note))
	}
}
