package toolset

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// envelope is the structured result of a toolset that asks for one.
type envelope struct {
	OK             bool            `json:"ok"` // a valid payload was printed, whatever it says
	Source         source          `json:"source"`
	Data           json.RawMessage `json:"data"`
	ResponseFormat string          `json:"responseFormat"`
}

type source struct {
	Command  string `json:"command"`
	ExitCode int    `json:"exitCode"`
}

// enclose checks a payload and puts it in its envelope; clients that read texts alone get the
// same in two of them.
func (t *Toolset) enclose(ctx context.Context, ready *tool, argv []string, given map[string]any, r ran) Result {
	p, failed := t.payload(&ready.step, r)
	if failed == nil && ready.ReportsFollow != "" && !p.declined {
		failed = ready.follow(ctx, p.raw, given[ready.ReportsFollow])
	}
	if failed != nil {
		return t.failed(failed)
	}
	e := envelope{OK: !p.declined, Source: source{display(argv), r.exit}, Data: p.raw, ResponseFormat: detailed}
	if ready.keep != nil && given[responseFormat] != detailed {
		e.ResponseFormat = concise
		if !p.declined {
			e.Data = ready.keep.project(p.raw)
		}
	}
	var pretty bytes.Buffer
	_ = json.Indent(&pretty, e.Data, "", "  ") // it has been parsed
	head := fmt.Sprintf("%s → exit %d", e.Source.Command, r.exit)
	data := cut(pretty.String(), t.declared.MaxOutputBytes, false)
	if len(data) != pretty.Len() || data != pretty.String() {
		// A client that knows the outputSchema takes an error alone without structuredContent.
		return Result{Text: []string{head, data, t.Name() + " adapter error: the result is too long; ask for less at once"}, IsError: true}
	}
	structured, err := marshal(e)
	if err != nil {
		return t.failed(&failure{text: "the payload cannot be written", cause: err})
	}
	return Result{Text: []string{head, data}, Structured: structured, Refused: p.declined}
}

// marshal writes JSON for people and models, who are no browsers.
func marshal(v any) (json.RawMessage, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// display writes an argument array as a person would type it. Nothing ever runs it.
func display(argv []string) string {
	parts := make([]string, len(argv))
	for i, arg := range argv {
		parts[i] = arg
		if arg == "" || strings.ContainsFunc(arg, needsQuotes) {
			parts[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(parts, " ")
}

func needsQuotes(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_@%+=:,./-", r)
}
