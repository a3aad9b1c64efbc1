package main

import (
	"maps"
	"slices"
	"testing"
)

func TestAForgeTokenGoesUnderEveryName(t *testing.T) {
	const token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	kept, secrets := sift([]string{
		"BEFORE=" + token, "HOME=/home/ann", "GITHUB_TOKEN=" + token, "GH_TOKEN=x", "DEPLOY=" + token,
		"FLEET_TOKEN=abc", "FLEET_ATLAS=/srv/atlas.toml", "X=x", "EMPTY=",
	})
	if want := []string{"HOME=/home/ann", "FLEET_ATLAS=/srv/atlas.toml", "X=x", "EMPTY="}; !slices.Equal(kept, want) {
		t.Errorf("kept %q, want %q", kept, want)
	}
	if want := map[string]string{"GITHUB_TOKEN": token, "GH_TOKEN": "x"}; !maps.Equal(secrets, want) {
		t.Errorf("secrets %q, want %q", secrets, want)
	}
}
