package main

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"

	"fleet/internal/atlas"
)

const maxGitConfig = 1 << 20

// originOf gives the remote address of a checkout's origin, or "" where there is none that can be
// registered: a path, or a URL with a password. The configuration is read as a file, since git
// would run what it names.
func originOf(checkout string) string {
	f, err := os.Open(filepath.Join(gitDir(checkout), "config"))
	if err != nil {
		return ""
	}
	defer f.Close()
	origin, within := "", false
	lines := bufio.NewScanner(io.LimitReader(f, maxGitConfig))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			within = strings.HasPrefix(line, `[remote "origin"]`)
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if within && ok && strings.EqualFold(strings.TrimSpace(key), "url") {
			origin = strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	if _, remote := hostOf(origin); !remote || atlas.CheckURL(origin) != nil {
		return ""
	}
	return origin
}

// gitDir is where a checkout's configuration is: .git, or for a linked worktree its repository's.
func gitDir(checkout string) string {
	dir := filepath.Join(checkout, ".git")
	raw, err := os.ReadFile(dir)
	if err != nil { // a directory
		return dir
	}
	named, ok := strings.CutPrefix(strings.TrimSpace(string(raw)), "gitdir: ")
	if !ok {
		return dir
	}
	if !filepath.IsAbs(named) {
		named = filepath.Join(checkout, named)
	}
	if common, err := os.ReadFile(filepath.Join(named, "commondir")); err == nil {
		return filepath.Join(named, strings.TrimSpace(string(common)))
	}
	return named
}

// originSteps say how to work on the forge that a repository registered by its path comes from.
// There are none where its origin is registered already.
func (a *app) originSteps(root, name string) []string {
	file, err := atlas.Read(root)
	if err != nil || file.Repos[name].Forge != "none" {
		return nil
	}
	origin := originOf(file.Repos[name].URL)
	if origin == "" {
		return nil
	}
	for _, r := range file.Repos {
		if r.URL == origin {
			return nil
		}
	}
	other := name + "-origin"
	words := []string{"repo add", atlas.Quote(other), atlas.Quote(origin)}
	host, _ := hostOf(origin)
	if forge, _ := knownHosts(host); forge == "" {
		words = append(words, "--forge "+strings.Join(atlas.Forges(), "|"))
	}
	return []string{
		"It is registered by its path, which has no forge. For the issues, pull requests and CI of its origin, register that too:",
		a.commandLine(root, words...),
		a.commandLine(root, "create", atlas.ID{Repo: other, Name: firstWorkspace}.Shell()),
	}
}
