package github

import (
	"strings"
	"testing"
)

func TestTerminalNoiseIsTakenOutOfLines(t *testing.T) {
	cases := map[string]struct{ line, want string }{
		"colours":             {"\x1b[1;31mError:\x1b[0m no", "Error: no"},
		"progress":            {"10%\r50%\r100% done", "100% done"},
		"title and hyperlink": {"\x1b]0;title\x07a \x1b]8;;http://x\x1b\\link", "a link"},
		"cursor":              {"\x1b[2K\x1b[1Gx\x1b(By\x1b=z", "xyz"},
		"byte order mark":     {"\uFEFFx", "x"},
		"invalid text":        {"a\xff\xfeb", "a\uFFFDb"},
		"controls":            {"a\x00\x08b\tc", "ab\tc"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			job, log := failedJob(c.line)
			words, _, _ := excerptOf(t, job, log)
			lines := strings.Split(words, "\n")
			if got := lines[len(lines)-2]; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestProgressOfAnyLengthEndsInItsLastState: a line's last carriage return may stand where one
// buffer ends and the next begins.
func TestProgressOfAnyLengthEndsInItsLastState(t *testing.T) {
	for before := 64<<10 - 40; before < 64<<10+2; before++ {
		job, log := failedJob(strings.Repeat("x", before) + "\r" + "100% done")
		words, _, _ := excerptOf(t, job, log)
		if !strings.Contains(words, "\n100% done\n") || strings.Contains(words, "xxxx") {
			t.Fatalf("behind %d bytes of progress:\n%.300s", before, words)
		}
	}
}
