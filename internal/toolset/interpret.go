package toolset

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const truncated = "\n[truncated]"

// payload is what a command printed, as one JSON value.
type payload struct {
	raw      json.RawMessage
	declined bool // in the words of its contract
}

// interpret makes a result of a run, as the tool's declaration reads it.
func (t *Toolset) interpret(ctx context.Context, ready *tool, argv []string, given map[string]any, r ran) Result {
	if !slices.Contains(t.declared.ExitCodes, r.exit) {
		return t.unexpected(r)
	}
	if t.declared.Envelope {
		return t.enclose(ctx, ready, argv, given, r)
	}
	whole := strings.ToValidUTF8(string(r.stdout), "\uFFFD")
	limit := t.declared.MaxOutputBytes
	// What stands for bytes that are no UTF-8 is longer than they are.
	result := Result{Text: []string{cut(whole, limit, r.cut)}, partial: r.cut || len(whole) > limit}
	// What was cut cannot be checked, and promises nothing.
	if ready.Output == outputText || r.cut {
		return result
	}
	p, failed := t.payload(&ready.step, r)
	if failed != nil {
		return t.failed(failed)
	}
	result.Refused, result.IsError = p.declined, p.declined
	if bytes.HasPrefix(p.raw, []byte("{")) && !p.declined {
		result.Structured = p.raw
	}
	return result
}

// unexpected is the result of an exit code outside the contract: what the command had to say.
func (t *Toolset) unexpected(r ran) Result {
	said := bytes.TrimSpace(r.stderr)
	if len(said) == 0 {
		said = bytes.TrimSpace(r.stdout)
	}
	text := cut(strings.ToValidUTF8(string(said), "\uFFFD"), t.declared.MaxOutputBytes, false)
	if t.declared.Envelope || text == "" {
		return t.failed(&failure{text: strings.TrimSuffix(fmt.Sprintf("the command ended with exit code %d: %s", r.exit, text), ": ")})
	}
	return Result{Text: []string{text}, IsError: true}
}

// payload checks what was printed against the step's outcomes.
func (t *Toolset) payload(s *step, r ran) (payload, *failure) {
	if !slices.Contains(t.declared.ExitCodes, r.exit) {
		return payload{}, &failure{text: fmt.Sprintf("the command ended with exit code %d", r.exit)}
	}
	if r.cut {
		return payload{}, &failure{text: fmt.Sprintf("the command printed more than %d bytes", len(r.stdout))}
	}
	if !utf8.Valid(r.stdout) {
		return payload{}, &failure{text: "the command printed bytes that are not UTF-8"}
	}
	raw := json.RawMessage(bytes.TrimSpace(r.stdout))
	if s.Output == outputLines {
		var failed *failure
		if raw, failed = lines(raw); failed != nil {
			return payload{}, failed
		}
	} else if err := oneValue(raw); err != nil {
		return payload{}, &failure{text: "the command did not print one JSON value: " + err.Error()}
	}
	return s.judge(raw, r.exit)
}

// lines makes one array of a JSON value a line.
func lines(raw []byte) (json.RawMessage, *failure) {
	var values [][]byte
	for line := range bytes.Lines(raw) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if err := oneValue(line); err != nil {
			return nil, &failure{text: fmt.Sprintf("line %d of the output is not one JSON value: %v", len(values)+1, err)}
		}
		values = append(values, line)
	}
	if len(values) == 0 {
		return nil, &failure{text: "the command printed nothing"}
	}
	return slices.Concat([]byte("["), bytes.Join(values, []byte(",")), []byte("]")), nil
}

// judge finds the first outcome that fits. A step without outcomes takes any JSON value.
func (s *step) judge(raw json.RawMessage, exit int) (payload, *failure) {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return payload{}, &failure{text: "the command printed JSON that cannot be held: " + err.Error()}
	}
	if len(s.outcomes) == 0 {
		return payload{raw: raw}, nil
	}
	var found Faults
	for _, o := range s.outcomes {
		if !o.exit[exit] {
			continue
		}
		misfits := problems(o.schema.Validate(value))
		if len(misfits) == 0 {
			return payload{raw: raw, declined: o.decline}, nil
		}
		if found == nil {
			found = misfits
		}
	}
	text := fmt.Sprintf("the payload at exit code %d is not one of the contract's", exit)
	if found != nil {
		text += ": " + found.few()
	}
	return payload{}, &failure{text: text}
}

// cut bounds a text on a rune's boundary and says so; over tells that more of it was dropped.
func cut(text string, limit int, over bool) string {
	if len(text) <= limit && !over {
		return text
	}
	end := min(len(text), limit-len(truncated))
	for end > 0 && end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + truncated
}
