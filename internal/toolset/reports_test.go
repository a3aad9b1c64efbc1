package toolset

import (
	"context"
	"encoding/json"
	"testing"
)

func TestJudgingReportsEndsWithTheCall(t *testing.T) {
	raw, asked := json.RawMessage(`[{"type":"spec","path":"/a"}]`), []any{"/a"}
	if failed := (&step{}).follow(t.Context(), raw, asked); failed != nil {
		t.Errorf("reports that follow the paths: %q", failed.text)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if failed := (&step{}).follow(ctx, raw, asked); failed == nil {
		t.Error("reports were judged after their call had ended")
	}
}
