package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"fleet/internal/bridge"
)

func readme(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// blocks gives README's code blocks in one language.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	var all []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(readme(t), -1) {
		all = append(all, m[1])
	}
	if len(all) == 0 {
		t.Fatalf("README has no %s block", language)
	}
	return all
}

func TestEveryCommandInREADMEExists(t *testing.T) {
	called := regexp.MustCompile(`(?:^|[ (&])(?:bin/)?ship ([a-z][^#;&)]*)`)
	found := 0
	text := strings.Join(blocks(t, "sh"), "\n")
	for _, m := range regexp.MustCompile("`((?:bin/)?ship [a-z][^`]*)`").FindAllStringSubmatch(readme(t), -1) {
		text += "\n" + m[1]
	}
	for line := range strings.Lines(text) {
		for _, m := range called.FindAllStringSubmatch(line, -1) {
			found++
			words := strings.Fields(regexp.MustCompile(` \| |<`).Split(m[1], 2)[0])
			root := (&app{}).command()
			cmd, rest, err := root.Find(words)
			if err != nil || cmd == root {
				t.Errorf("README says %q, which is no command: %v", strings.TrimSpace(line), err)
				continue
			}
			if before, _, ok := strings.Cut(" "+strings.Join(rest, " ")+" ", " -- "); ok {
				rest = strings.Fields(before)
			}
			if err := cmd.ParseFlags(rest); err != nil && !strings.Contains(err.Error(), "help requested") {
				t.Errorf("README says %q: %v", strings.TrimSpace(line), err)
			}
		}
	}
	if found < 15 {
		t.Errorf("only %d commands found in README; the test's eyes are bad", found)
	}
}

func TestREADMEsBridgeConfigurationIsOne(t *testing.T) {
	for _, text := range blocks(t, "yaml") {
		file, err := bridge.ParseConfig([]byte(text))
		if err != nil {
			t.Errorf("README's bridge.yaml: %v", err)
			continue
		}
		if file.Repos["widgets"].Forge != "github" || len(file.Credentials) != 1 || file.Credentials[0].App == nil {
			t.Errorf("README's bridge.yaml says %+v", file)
		}
	}
}
