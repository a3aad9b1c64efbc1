package bridge

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"fleet/api"
)

// start is how many of n items earlier answers have shown.
func (s *shower) start(n int) int { return min(s.at.Skip, n) }

// fit says up to which of n items, of these sizes, there is room beside what takes used bytes.
// There is always room for one.
func (s *shower) fit(n, used int, size func(i int) int) int {
	from := s.start(n)
	for i := from; i < n; i++ {
		if used += size(i); used > maxView-cursorRoom && i > from {
			return i
		}
	}
	return n
}

func (s *shower) remaining(shown, n int) *position {
	if shown >= n {
		return nil
	}
	return &position{Page: s.at.Page, Skip: shown, At: s.at.At}
}

// cutJob takes from the middle of a job's excerpt what there is no room for at all.
func cutJob(job api.FailedJob, room int) api.FailedJob {
	over := indentedSize(job, "    ") - room
	if over <= 0 {
		return job
	}
	const mark = "\n[cut here by the bridge]\n"
	// Escapes make text longer on its way into JSON, never shorter: so this is enough.
	keep := max(len(job.Excerpt)-over-2*len(mark), 0)
	head, tail := keep/2, len(job.Excerpt)-keep/2
	for head > 0 && !utf8.RuneStart(job.Excerpt[head]) {
		head--
	}
	for tail < len(job.Excerpt) && !utf8.RuneStart(job.Excerpt[tail]) {
		tail++
	}
	job.Excerpt = job.Excerpt[:head] + mark + job.Excerpt[tail:]
	return job
}

// indentedSize is how many bytes v takes, with its comma and end of line, in JSON indented by two
// blanks.
func indentedSize(v any, prefix string) int {
	raw, err := encode(v)
	if err != nil {
		return 0
	}
	var out bytes.Buffer
	if json.Indent(&out, raw, prefix, "  ") != nil {
		return len(raw)
	}
	return len(prefix) + out.Len() + 2
}
