package toolset_test

import (
	"testing"

	"fleet/internal/atlas"
	"fleet/internal/toolset"
)

func TestBothBuiltinsLoad(t *testing.T) {
	for _, use := range toolset.Builtins() {
		if _, err := toolset.Load(toolset.Host{}, atlas.Toolset{Use: use, Command: []string{"/bin/true"}}); err != nil {
			t.Error(err)
		}
	}
}
