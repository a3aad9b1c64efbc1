package toolset

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

const (
	defaultPath = "/usr/local/bin:/usr/bin:/bin"
	defaultLang = "C.UTF-8"
)

// command finds what to run: what atlas.json says, then the declaration, then the variable that
// it names, then its program on PATH.
func (h Host) command(atlas []string, d declaration) ([]string, error) {
	prefix := atlas
	if len(prefix) == 0 {
		prefix = d.Command
	}
	if len(prefix) == 0 && d.CommandVariable != "" {
		if value := h.getenv(d.CommandVariable); value != "" {
			prefix = []string{value}
		}
	}
	if len(prefix) == 0 && d.Program != "" {
		prefix = []string{d.Program}
	}
	if len(prefix) == 0 {
		return nil, errors.New("it names no command; give it one in atlas.json")
	}
	if strings.ContainsRune(strings.Join(prefix, ""), 0) {
		return nil, errors.New("the command holds a NUL")
	}
	program, err := h.program(prefix[0])
	if err != nil {
		return nil, err
	}
	for _, part := range prefix[1:] {
		if err := h.part(part); err != nil {
			return nil, err
		}
	}
	return append([]string{program}, prefix[1:]...), nil
}

// scripts are the suffixes of what interpreters run.
const scripts = ".sh .bash .py .js .mjs .cjs .ts .mts .rb .pl .php .lua .jar .jl .R .tcl"

// part refuses an argument of the command that names a file which agents can write: a script is as
// much the program as its interpreter. A folder may be named, since a sandbox binds it.
func (h Host) part(part string) error {
	path := part
	if strings.HasPrefix(part, "-") {
		_, path, _ = strings.Cut(part, "=")
	}
	if filepath.IsAbs(path) {
		if st, err := os.Stat(path); h.inAtlas(path) && (err != nil || !st.IsDir()) {
			return fmt.Errorf("the command's part %s lies in the atlas, where agents write, and is no folder", part)
		}
		return nil
	}
	// A shell's text is the operator's to write, and has spaces in it.
	if strings.ContainsFunc(path, unicode.IsSpace) || strings.Contains(path, "://") {
		return nil
	}
	dotted := strings.HasPrefix(path, "./") || strings.HasPrefix(path, "../")
	suffix := filepath.Ext(path)
	script := suffix != "" && slices.Contains(strings.Fields(scripts), suffix)
	if dotted || script || path == part && strings.Contains(path, "/") {
		return fmt.Errorf("the command's part %s is a relative path, and each call starts in a folder that an agent writes; make it absolute", part)
	}
	return nil
}

// program makes name absolute and refuses one that agents can write.
func (h Host) program(name string) (string, error) {
	if !strings.Contains(name, "/") {
		for _, folder := range filepath.SplitList(h.path()) {
			if path := filepath.Join(folder, name); executable(path) == nil && !h.inAtlas(path) {
				return path, nil
			}
		}
		return "", fmt.Errorf("there is no %s on PATH outside the atlas; name its command in atlas.json", name)
	}
	if !filepath.IsAbs(name) {
		return "", fmt.Errorf("the command %s is neither an absolute path nor a plain name", name)
	}
	if h.inAtlas(name) {
		return "", fmt.Errorf("the command %s lies in the atlas, where agents write", name)
	}
	if err := executable(name); err != nil {
		return "", fmt.Errorf("the command %s %w", name, err)
	}
	return filepath.Clean(name), nil
}

func executable(path string) error {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return errors.New("is not there")
	case !st.Mode().IsRegular():
		return errors.New("is not a regular file")
	case st.Mode().Perm()&0o111 == 0:
		return errors.New("is not executable; a script needs its interpreter in front of it")
	}
	return nil
}

// path is PATH without what depends on the working directory or lies in the atlas: the command
// starts in a folder that an agent writes.
func (h Host) path() string {
	value := h.getenv("PATH")
	if value == "" {
		value = defaultPath
	}
	var kept []string
	for _, folder := range filepath.SplitList(value) {
		if filepath.IsAbs(folder) && !h.inAtlas(folder) {
			kept = append(kept, folder)
		}
	}
	return strings.Join(kept, string(filepath.ListSeparator))
}

// environ is the whole environment of a command.
func (h Host) environ(d declaration) []string {
	vars := map[string]string{"PATH": h.path(), "LANG": defaultLang}
	for _, name := range append([]string{"HOME", "LANG"}, d.PassEnv...) {
		if name == "PATH" || h.Getenv == nil {
			continue
		}
		if value, ok := h.Getenv(name); ok {
			vars[name] = value
		}
	}
	maps.Copy(vars, d.Env)
	list := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		list = append(list, name+"="+vars[name])
	}
	return list
}
