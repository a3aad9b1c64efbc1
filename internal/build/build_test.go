package build_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestBothProgramsTellTheLinkedVersion(t *testing.T) {
	bin := t.TempDir() + string(filepath.Separator)
	out, err := exec.Command("go", "build", "-ldflags", "-X fleet/internal/build.linked=v1.2.3", "-o", bin, "fleet/cmd/...").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for program, want := range map[string]string{"ship": "v1.2.3", "agent-mcp": "agent-mcp v1.2.3"} {
		out, err := exec.Command(bin+program, "--version").Output()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%s --version = %q, %v; want %q", program, got, err, want)
		}
	}
}
