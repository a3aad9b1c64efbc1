package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"fleet/api"
)

func (a *app) serviceCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "service", Short: "Have systemd start this atlas's ship"}
	cmd.AddCommand(a.serviceInstallCommand(), a.serviceUninstallCommand())
	return noSubcommand(cmd)
}

func (a *app) serviceInstallCommand() *cobra.Command {
	var dry, enable bool
	var envFiles []string
	cmd := &cobra.Command{
		Use: "install", Short: "Write a systemd user unit that serves this atlas", Args: exactly(0),
		RunE: works(func(cmd *cobra.Command, _ []string) error {
			s, err := a.service(runtime.GOOS)
			if err != nil {
				return err
			}
			if len(envFiles) == 0 { // one of them may name it
				if _, err := chosenBridge(s.root); err != nil {
					return err
				}
			}
			if s.unit, err = makeUnit(s.root, envFiles); err != nil {
				return err
			}
			if dry {
				fmt.Fprint(a.stdout, s.unit.text())
				return nil
			}
			return a.installService(cmd.Context(), s, enable)
		}),
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print the unit; write nothing")
	cmd.Flags().BoolVar(&enable, "enable", false, "start it too, now and with every start of your systemd")
	cmd.Flags().StringArrayVar(&envFiles, "env-file", nil, "a file of mode 0600 with NAME=VALUE lines that the ship gets too (repeat for more)")
	_ = cmd.RegisterFlagCompletionFunc("env-file", files)
	return cmd
}

// service is an atlas's unit and where it lies.
type service struct {
	root string
	unit unit
	dir  string // of the user's units
}

func (s service) path() string { return filepath.Join(s.dir, s.unit.name()) }

// service finds the atlas and the folder of the units.
func (a *app) service(system string) (service, error) {
	root, err := a.root()
	if err != nil {
		return service{}, err
	}
	if system != "linux" {
		return service{}, &api.Error{
			Code: api.Unsupported, Message: "ship service writes units of systemd, which " + system + " has not",
			Hint: "run ship up after each log-in, or have launchd run: " + a.commandLine(root, "serve") + " (with AbandonProcessGroup, so that sessions outlive it)",
		}
	}
	config, err := os.UserConfigDir()
	if err != nil {
		return service{}, err
	}
	return service{root: root, unit: unit{root: root}, dir: filepath.Join(config, "systemd", "user")}, nil
}

func makeUnit(root string, files []string) (unit, error) {
	u := unit{program: lastingProgram(), root: root}
	var err error
	if u.environment, err = unitEnvironment(os.LookupEnv); err != nil {
		return u, err
	}
	for _, name := range files {
		path, err := environmentFile(name)
		if err != nil {
			return u, err
		}
		u.files = append(u.files, path)
	}
	return u, u.check()
}

// lastingProgram is this program's absolute path, under the name on PATH where that is a link to
// it: a link stays when an upgrade moves what it leads to.
func lastingProgram() string {
	if found, err := exec.LookPath("ship"); err == nil && sameDir(found, executable()) {
		if path, err := filepath.Abs(found); err == nil {
			return path
		}
	}
	return executable()
}

func (a *app) serviceUninstallCommand() *cobra.Command {
	return &cobra.Command{
		Use: "uninstall", Short: "Stop the unit's ship and remove the unit; sessions live on", Args: exactly(0),
		RunE: works(func(cmd *cobra.Command, _ []string) error {
			s, err := a.service(runtime.GOOS)
			if err != nil {
				return err
			}
			was, err := s.written()
			if err != nil {
				return err
			}
			if was == "" {
				fmt.Fprintf(a.stdout, "This atlas has no unit (%s).\n", clean(s.path()))
				return nil
			}
			if err := s.remove(cmd.Context()); err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "%s is removed; files and sessions stay.\n", clean(s.path()))
			return nil
		}),
	}
}
