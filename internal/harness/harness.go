// Package harness registers the agent-mcp program with the harnesses that people use: in each
// one's own file and format, for the user, with the rules that let agent_init and agent_status
// run unasked. It changes nothing else in a file, remembers by hash what it wrote, and touches no
// registration that somebody else wrote or edited.
//
// It knows nothing of ships, atlases and workspaces.
package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Config is what an Installer works with. Home, Getenv, LookPath and Adapter are needed.
type Config struct {
	// Home is the user's home directory.
	Home string
	// Getenv and LookPath are os.Getenv and exec.LookPath. Of the environment these are read:
	// XDG_CONFIG_HOME, XDG_STATE_HOME, CLAUDE_CONFIG_DIR, CODEX_HOME, GEMINI_CLI_HOME, COPILOT_HOME,
	// CURSOR_CONFIG_DIR, AMP_SETTINGS_FILE.
	Getenv   func(string) string
	LookPath func(string) (string, error)
	// Adapter is the absolute path of agent-mcp.
	Adapter string
}

// Installer lists, makes and removes registrations. Its methods are safe to call from several
// processes: they wait for one another.
type Installer struct {
	home     home
	lookPath func(string) (string, error)
	adapter  string
	state    string
}

// New makes an Installer; it reads and writes nothing yet. What was written is remembered in
// fleet/harnesses.json under $XDG_STATE_HOME, else ~/.local/state.
func New(c Config) *Installer {
	state := c.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // the standard ignores one that is not absolute
		state = filepath.Join(c.Home, ".local", "state")
	}
	in := &Installer{
		home:     home{dir: c.Home, getenv: c.Getenv},
		lookPath: c.LookPath, adapter: c.Adapter,
		state: filepath.Join(state, "fleet", "harnesses.json"),
	}
	in.home.pick = in.inUse
	return in
}

// Names lists the harnesses that an Installer knows, in the order of List.
func Names() []string {
	var names []string
	for _, c := range clients() {
		names = append(names, c.name)
	}
	return names
}

func clientNamed(name string) (client, error) {
	for _, c := range clients() {
		if c.name == name {
			return c, nil
		}
	}
	return client{}, fmt.Errorf("no harness is called %q; known are %s", name, strings.Join(Names(), ", "))
}

// State says how far a harness is registered.
type State string

// The states of a registration.
const (
	NotInstalled State = "not installed"
	Installed    State = "installed"
	// Outdated: we wrote it, and would write it otherwise today, or a part is missing.
	Outdated State = "outdated"
	// Conflict: under our key stands what we did not write, or what was edited since.
	Conflict State = "conflict"
	// Unreadable: a file of the harness is not what the harness documents, or can't be read.
	Unreadable State = "unreadable"
)

// Status is one harness on this machine.
type Status struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Program is the path of its program, "" where PATH has none.
	Program string `json:"program"`
	// Present says that it is used here: its program or its folder is there.
	Present bool `json:"present"`
	// File is the file of the registration; rules may stand in more.
	File  string `json:"file"`
	State State  `json:"state"`
	// Detail says why, for Outdated, Conflict and Unreadable.
	Detail string `json:"detail,omitempty"`
	// Note is what else the user has to know, "" for nothing.
	Note string `json:"note,omitempty"`
}

// List tells of every harness. It writes nothing.
func (in *Installer) List() ([]Status, error) {
	r, err := in.record()
	if err != nil {
		return nil, err
	}
	var all []Status
	for _, c := range clients() {
		s, err := in.status(c, r)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (in *Installer) status(c client, r *record) (Status, error) {
	s := Status{Name: c.name, Title: c.title, Note: c.note}
	for _, program := range c.programs {
		if path, err := in.lookPath(program); err == nil && s.Program == "" {
			s.Program = path
		}
	}
	_, err := os.Stat(c.folder(in.home))
	s.Present = err == nil || s.Program != ""
	changes, err := c.changes(in.home, in.adapter)
	if err != nil {
		return s, err
	}
	s.File = changes[0].file()
	found, err := in.look(c.name, changes, r)
	if err != nil {
		s.State, s.Detail = Unreadable, err.Error()
		return s, nil
	}
	s.State, s.Detail = summary(found)
	return s, nil
}

// inUse picks of several files the one that we wrote to, else the first that is there, else the first.
func (in *Installer) inUse(candidates ...string) string {
	r, err := in.record()
	for _, path := range candidates {
		if err == nil && slices.ContainsFunc(clients(), func(c client) bool { return r.of(c.name, path) != nil }) {
			return path
		}
	}
	for _, path := range candidates {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return path
		}
	}
	return candidates[0]
}

// Snippet is what belongs into one file.
type Snippet struct {
	File string `json:"file"`
	Text string `json:"text"`
	// IfPresent: only where the file has the list in question already. To make the list would
	// change what other tools may do.
	IfPresent bool `json:"if_present"`
}

// Print gives what a registration consists of, for a person who writes it by hand, and a note.
func (in *Installer) Print(name string) ([]Snippet, string, error) {
	c, err := clientNamed(name)
	if err != nil {
		return nil, "", err
	}
	changes, err := c.changes(in.home, in.adapter)
	if err != nil {
		return nil, "", err
	}
	var all []Snippet
	for _, ch := range changes {
		s := Snippet{File: ch.file(), IfPresent: ch.weight() == narrowing}
		at := slices.IndexFunc(all, func(o Snippet) bool { return o.File == s.File && o.IfPresent == s.IfPresent })
		if at < 0 {
			at, all = len(all), append(all, s)
		}
		text, _, _, err := ch.insert([]byte(all[at].Text))
		if err != nil {
			return nil, "", err
		}
		all[at].Text = string(text)
	}
	return all, c.note, nil
}
