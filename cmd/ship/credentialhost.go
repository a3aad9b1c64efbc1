package main

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/bridge"
)

// hostAlone refuses what looks like a token among the arguments, without repeating it.
func hostAlone(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usage("the token is read from standard input and is never an argument, where other users and the shell's history see it")
	}
	return exactly(1)(cmd, args)
}

// checkHost refuses a host that no forge can have, before its token is asked for.
func checkHost(text string) error {
	host, err := bridge.ParseCredentialHost(text)
	if err != nil {
		return usage("%v", err)
	}
	name := host
	if before, port, err := net.SplitHostPort(host); err == nil {
		const highest = 65535
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > highest || strconv.Itoa(n) != port {
			return usage("port %s of %s is not between 1 and %d", port, clean(text), highest)
		}
		name = before
	}
	if strings.HasSuffix(name, ".") {
		return usage("%s ends in a dot, as no forge's URL does; leave it out", clean(text))
	}
	return nil
}

// notKept tells who typed a token what is wrong with it.
func notKept(host string, err error) error {
	var e *api.Error
	if !errors.As(err, &e) {
		return err
	}
	_, why, _ := strings.Cut(e.Message, ": ") // without whose credential it was to be
	return hint(fmt.Errorf("nothing was kept for %s: %s", clean(host), why), "ship credential add "+atlas.Quote(host)+" <FILE-WITH-THE-TOKEN")
}

// elsewhere lists the hosts of the atlas's repositories where none is at host: it may be mistyped.
// Without an atlas, or a repository on a forge, nothing can be said.
func (a *app) elsewhere(host string) []string {
	root, err := a.root()
	if err != nil {
		return nil
	}
	file, err := atlas.Read(root)
	if err != nil {
		return nil
	}
	registered := map[string]bridge.Registered{}
	for name, r := range file.Repos {
		registered[name] = bridge.Registered{Forge: r.Forge, URL: r.URL, APIURL: r.APIURL}
	}
	var hosts []string
	for _, r := range bridge.Registrations(registered) {
		if at, err := bridge.ParseCredentialHost(r.API.Host); err == nil {
			hosts = append(hosts, at)
		}
	}
	if slices.Contains(hosts, host) {
		return nil
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}
