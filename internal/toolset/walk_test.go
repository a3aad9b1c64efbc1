package toolset_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fleet/internal/toolset"
)

// TestLinksCannotMakeAPathCostWhatTheyLike: 250 bytes of arguments kept a processor busy for eight
// seconds, and a whole request's for hours.
func TestLinksCannotMakeAPathCostWhatTheyLike(t *testing.T) {
	b := serve(t, "builtin:fairlead")
	if err := os.Mkdir(filepath.Join(b.dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	const links = 40
	for i := range links {
		target := strings.Repeat("d/../", 800) + fmt.Sprintf("l%d", i+1)
		if err := os.Symlink(target, filepath.Join(b.dir, fmt.Sprintf("l%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	b.refused(b.call("brief", `{"paths":["l0"]}`), "take too long to follow")
	// What one path may cost, all of a call's may not.
	half := fmt.Sprintf("l%d", links/2)
	if got := b.call("brief", `{"paths":["`+half+`"]}`); got.IsError {
		t.Errorf("a path through %d links is refused: %q", links/2, got.Text)
	}
	if err := os.Remove(b.told); err != nil {
		t.Fatal(err)
	}
	b.refused(b.call("brief", `{"paths":["`+half+`","`+half+`"]}`), "take too long to follow")
}

func TestACallNamesAThousandPathsAndNoMore(t *testing.T) {
	b := serve(t, "builtin:fairlead")
	many := func(n int) json.RawMessage {
		return json.RawMessage(`{"paths":["src"` + strings.Repeat(`,"a/b/c/d/e/f"`, n-1) + `]}`)
	}
	if _, err := b.set.Argv(toolset.Place{Dir: b.dir}, "brief", many(1000)); err != nil {
		t.Errorf("a thousand paths: %v", err)
	}
	b.refused(b.call("brief", string(many(1001))), "more than 1000 items")
}

func TestNoIntegerPassesForAnOption(t *testing.T) {
	b := serve(t, declare(t, `{"toolset":"mine","tools":[{"name":"n","description":"d","input":{"type":"object","properties":{"n":{"type":"integer","minimum":0}},
		"additionalProperties":false},"args":[{"from":"n"}],"output":"text"}]}`))
	for _, n := range []string{"1e300", "9223372036854775808", "9007199254740992"} {
		b.refused(b.call("n", `{"n":`+n+`}`), "2 to the power of 53")
	}
	argv, err := b.set.Argv(b.place(), "n", json.RawMessage(`{"n":9007199254740991}`))
	if err != nil || argv[len(argv)-1] != "9007199254740991" {
		t.Errorf("the largest integer that is exact becomes %q, %v", argv, err)
	}
}
