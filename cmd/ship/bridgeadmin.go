package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fleet/internal/atlas"
	"fleet/internal/bridge"
)

// withAdmin runs f on the bridge that is meant: through its socket, or on its files where none
// runs. makes says that files may be made where no bridge was yet.
func (a *app) withAdmin(ctx context.Context, makes bool, f func(bridge.Admin) error) error {
	where, err := a.adminConfig(ctx, makes)
	if err != nil {
		return err
	}
	admin, err := bridge.OpenAdmin(ctx, where)
	if errors.Is(err, bridge.ErrNeverUsed) {
		return hint(err, "make sure that dir in "+atlas.Quote(a.bridgeFlag)+" is that of the bridge that is meant")
	}
	if err != nil {
		return whose(err, where.Dir, os.Geteuid())
	}
	return errors.Join(f(admin), admin.Close())
}

// whose says, of files in a bridge's directory that user may not open, who may and how.
func whose(err error, dir string, user int) error {
	var denied *fs.PathError
	if !errors.Is(err, fs.ErrPermission) || !errors.As(err, &denied) {
		return err
	}
	path := atlas.Quote(denied.Path)
	said := fmt.Errorf("%s: %w", clean(denied.Path), fs.ErrPermission) // bbolt names the path twice
	owner, missing := ownerOf(dir)
	switch {
	case errors.Is(missing, fs.ErrNotExist):
		return hint(said, "make "+atlas.Quote(dir)+" for the bridge's own user, of mode 0700")
	case missing != nil || owner != user:
		return hint(said, "run this as the bridge's own user")
	}
	if of, err := ownerOf(denied.Path); err == nil && of != user {
		return hint(said, fmt.Sprintf("chown %d %s, as root", user, path))
	}
	return hint(said, "chmod u=rwX "+path)
}

func (a *app) adminConfig(ctx context.Context, makes bool) (bridge.AdminConfig, error) {
	if a.bridgeFlag != "" {
		dir, err := a.bridgeDir(ctx)
		return bridge.AdminConfig{Dir: dir, Socket: filepath.Join(dir, atlas.BridgeSocket), Existing: !makes}, err
	}
	root, err := a.root()
	if err != nil {
		return bridge.AdminConfig{}, err
	}
	if c := answering(ctx, root); c != nil {
		if ship, err := c.Info(ctx); err == nil && ship.Bridge != embeddedBridge {
			return bridge.AdminConfig{}, fmt.Errorf("this atlas's ship uses the bridge at %s; next: say --config FILE, as that bridge's own user", clean(ship.Bridge))
		}
	}
	sockets, err := atlas.MakeSockets(root)
	if err != nil {
		return bridge.AdminConfig{}, err
	}
	return bridge.AdminConfig{Dir: atlas.StateDir(root), Socket: filepath.Join(sockets, atlas.BridgeSocket), Embedded: true}, nil
}

// bridgeDir is the directory of the bridge that --config names: the one that a running bridge has,
// else the file's. What else is wrong with the file is said and holds nobody up, since somebody who
// must be shut out now cannot wait until it is mended.
func (a *app) bridgeDir(ctx context.Context) (string, error) {
	raw, err := readBridgeText(a.bridgeFlag)
	if err != nil {
		return "", err
	}
	listen, dir := bridge.ConfigPlace(raw)
	running, known := runningDir(ctx, listen)
	_, faults := bridge.ParseConfig(raw)
	if faults != nil {
		faults = bridgeFault(a.bridgeFlag, faults)
	}
	switch {
	case dir == "" && running == "":
		if faults == nil {
			faults = errors.New("a bridge.yaml names its dir") // ParseConfig lets none through without
		}
		return "", faults
	case faults != nil:
		a.warn("%s; only where its bridge is found was read of it", oneLine(faults))
	}
	switch {
	case known && running == "":
		a.warn("a bridge of another user answers at %s; next: if that is the one that is meant, run this as its own user", clean(listen))
	case running != "" && dir != "" && running != dir:
		a.warn("the bridge that runs has its files in %s, not in %s, which %s says by now; that one is meant here, until the bridge is restarted", clean(running), clean(dir), clean(a.bridgeFlag))
	}
	if running != "" {
		dir = running
	}
	return dir, nil
}

func (a *app) warn(format string, args ...any) { fmt.Fprintf(a.stderr, "! "+format+"\n", args...) }
