package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"fleet/internal/bridge"
)

// maxTypedToken bounds what is read of a token; the longest known ones have some 700 bytes.
const maxTypedToken = 64 << 10

func (a *app) credentialCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "credential", Short: "Keep, list and remove the forge tokens of the embedded bridge"}
	cmd.AddCommand(a.credentialAddCommand(), a.credentialListCommand(), a.credentialRemoveCommand())
	return noSubcommand(cmd)
}

// credentials opens the operator's own store, which lies outside every atlas.
func credentials() (*bridge.CredentialStore, error) {
	dir, err := bridge.CredentialDir(os.Getenv)
	if err != nil {
		return nil, err
	}
	return bridge.NewCredentialStore(bridge.CredentialStoreConfig{Dir: dir})
}

func (a *app) credentialAddCommand() *cobra.Command {
	return &cobra.Command{
		Use: "add HOST", Short: "Keep a token for a forge's host, read from standard input", Args: hostAlone,
		RunE: works(func(cmd *cobra.Command, args []string) error {
			if err := checkHost(args[0]); err != nil {
				return err
			}
			if url := a.separateBridge(cmd.Context()); url != "" {
				return hint(fmt.Errorf("nothing was kept: this atlas's ship uses the bridge at %s, which keeps its credentials from this user; one that is kept here it would not see, and agents could read", clean(url)),
					bridgeKeeps+"; where you mean the bridge in a ship all the same, set FLEET_BRIDGE_URL=embedded for this command")
			}
			store, err := credentials()
			if err != nil {
				return err
			}
			token, err := a.readToken(args[0])
			if err != nil {
				return err
			}
			host, err := store.Add(args[0], token)
			if err != nil {
				return notKept(args[0], err)
			}
			fmt.Fprintf(a.stdout, "The credential for %s is kept (fingerprint %s).\n", clean(host), token.Fingerprint())
			if at := a.elsewhere(host); len(at) > 0 {
				fmt.Fprintf(a.stdout, "No repository of this atlas is there; they are at %s.\n", clean(strings.Join(at, ", ")))
			}
			return nil
		}),
	}
}

// readToken reads the token from standard input, without an echo where a person types it.
func (a *app) readToken(host string) (bridge.Secret, error) {
	if f, ok := a.stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprintf(a.stderr, "Token for %s (not shown): ", clean(host))
		raw, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(a.stderr)
		return bridge.NewSecret(strings.TrimSpace(string(raw))), err
	}
	raw, err := io.ReadAll(io.LimitReader(a.stdin, maxTypedToken))
	return bridge.NewSecret(strings.TrimSpace(string(raw))), err
}

func (a *app) credentialListCommand() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the hosts that have a credential, never the credentials", Args: exactly(0),
		RunE: works(func(cmd *cobra.Command, _ []string) error {
			url := a.separateBridge(cmd.Context())
			if url != "" {
				fmt.Fprintf(a.stderr, "! this atlas's ship uses the bridge at %s, which sees none of these; next: %s\n", clean(url), bridgeKeeps)
			}
			store, err := credentials()
			if err != nil {
				return err
			}
			list, err := store.List()
			if err != nil {
				return err
			}
			if list == nil {
				list = []bridge.StoredCredential{}
			}
			return a.print(map[string]any{"credentials": list}, func(w io.Writer) { printCredentials(w, list, url == "") })
		}),
	})
}

func printCredentials(w io.Writer, list []bridge.StoredCredential, used bool) {
	if len(list) == 0 {
		said := "No credentials are kept."
		if used {
			said += " Next: ship credential add HOST <FILE-WITH-THE-TOKEN"
		}
		fmt.Fprintln(w, said)
		return
	}
	var t table
	t.row("HOST", "FINGERPRINT", "CHANGED", "FAULT")
	for _, c := range list {
		t.row(c.Host, c.Fingerprint, seen(&c.UpdatedAt, time.Now()), c.Fault)
	}
	t.print(w)
}

func (a *app) credentialRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove HOST", Aliases: []string{"rm"}, Short: "Forget the token of a host", Args: exactly(1),
		RunE: works(func(_ *cobra.Command, args []string) error {
			store, err := credentials()
			if err != nil {
				return err
			}
			err = store.Remove(args[0])
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("no credential is kept for %s; next: ship credential list", clean(args[0]))
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "The credential for %s is gone. Revoke it at the forge too if it may have leaked.\n", clean(args[0]))
			return nil
		}),
	}
}
