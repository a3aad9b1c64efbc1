package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"fleet/api"
	"fleet/internal/agent"
)

const (
	maxProblems = 4   // named in one refusal
	maxQuoted   = 100 // bytes of a name that an agent made up
)

// noArguments is what a tool gets that was called without any.
var noArguments = json.RawMessage("{}")

// check holds arguments to the tool's schema and gives them rebuilt: duplicate keys resolved,
// whole numbers in plain digits. Its errors are Invalid, written for a model to act on.
func (t *tool) check(raw json.RawMessage) (json.RawMessage, error) {
	if len(t.inputs) == 0 && emptyObject(raw) {
		return noArguments, nil
	}
	given := map[string]any{}
	if len(raw) > 0 {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&given); err != nil {
			return nil, t.refuse("the arguments are not a JSON object")
		}
	}
	if loneSurrogate(raw) {
		return nil, t.refuse(`a \u escape names half of a character; write the character itself`)
	}
	for name, value := range given {
		given[name] = plainNumbers(value)
		if text, ok := value.(string); ok && t.trimmed {
			given[name] = strings.TrimSpace(text)
		}
	}
	if err := t.schema.Validate(given); err != nil {
		return nil, t.refuse(t.problems(err)...)
	}
	if problem := t.furtherProblem(given); problem != "" {
		return nil, t.refuse(problem)
	}
	rebuilt, err := json.Marshal(given)
	if err != nil {
		return nil, fmt.Errorf("rebuild the arguments of %s: %w", t.name, err)
	}
	return rebuilt, nil
}

func emptyObject(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "{}" || string(raw) == "null"
}

func (t *tool) refuse(problems ...string) error {
	more := ""
	if len(problems) > maxProblems {
		more = fmt.Sprintf("; and %d more", len(problems)-maxProblems)
		problems = problems[:maxProblems]
	}
	return &api.Error{
		Code: api.Invalid, Reason: "bad_arguments", Message: strings.Join(problems, "; ") + more,
		Hint: "correct this and call " + t.name + " again; " + t.brief,
	}
}

// plainNumbers gives whole numbers as int64 where they fit and all others as float64: JSON's
// 1.0 and 1e2 are whole, and no exponent may make the validator count to a billion digits.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return plainNumber(string(v))
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plainNumbers(v[k])
		}
	}
	return v
}

func plainNumber(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	f, _ := strconv.ParseFloat(text, 64) // out of range gives ±Inf
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 && integral(text) {
		return int64(f)
	}
	return max(min(f, math.MaxFloat64), -math.MaxFloat64)
}

// problems turns the validator's findings into sentences, in a fixed order.
func (t *tool) problems(err error) []string {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return []string{"the arguments do not fit the tool's schema"}
	}
	var found []string
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			found = append(found, t.sentences(e)...)
		}
		for _, cause := range e.Causes {
			walk(cause)
		}
	}
	walk(invalid)
	slices.Sort(found)
	return slices.Compact(found)
}

func (t *tool) sentences(e *jsonschema.ValidationError) []string {
	where := quoted(strings.Join(e.InstanceLocation, "."))
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		var out []string
		for _, name := range k.Properties {
			out = append(out, t.unknown(name))
		}
		return out
	case *kind.Required:
		var out []string
		for _, name := range k.Missing {
			out = append(out, "the argument "+quoted(name)+" is missing")
		}
		return out
	case *kind.Type:
		return []string{where + " must be " + typeNames(k.Want)}
	case *kind.Enum:
		return []string{where + " must be one of " + listed(k.Want)}
	case *kind.MinLength:
		if k.Want == 1 {
			return []string{where + " must not be empty"}
		}
		return []string{fmt.Sprintf("%s must have at least %d characters", where, k.Want)}
	case *kind.MaxLength:
		return []string{fmt.Sprintf("%s has %d characters; at most %d are allowed", where, k.Got, k.Want)}
	case *kind.Minimum:
		return []string{fmt.Sprintf("%s must be %s or more", where, k.Want.RatString())}
	case *kind.Maximum:
		return []string{fmt.Sprintf("%s must be %s or less", where, k.Want.RatString())}
	}
	if len(e.InstanceLocation) == 0 {
		return []string{"the arguments do not fit the tool's schema"}
	}
	return []string{where + " does not fit the tool's schema"}
}

func (t *tool) unknown(name string) string {
	text := t.name + " has no argument " + quoted(name)
	switch strings.ToLower(name) {
	case "repo", "repository", "workspace", "owner", "project":
		text += ": this connection is bound to one workspace, and no tool takes a repository or workspace"
	}
	return text
}

// furtherProblem finds what a schema cannot say in words that every harness passes on.
func (t *tool) furtherProblem(given map[string]any) string {
	for _, in := range t.inputs {
		value, ok := given[in.name]
		if !ok {
			continue
		}
		if text, ok := value.(string); ok && in.nonEmpty && !agent.Visible(text) {
			return quoted(in.name) + " must not be empty"
		}
		if _, whole := value.(int64); in.integer && !whole {
			return quoted(in.name) + " is far too large"
		}
	}
	return ""
}

func quoted(name string) string {
	if len(name) > maxQuoted {
		name = strings.ToValidUTF8(name[:maxQuoted], "") + "…"
	}
	return strconv.Quote(name)
}

func typeNames(want []string) string {
	names := make([]string, len(want))
	for i, name := range want {
		switch name {
		case "integer":
			names[i] = "a whole number, without quotes"
		case "array", "object":
			names[i] = "an " + name
		default:
			names[i] = "a " + name
		}
	}
	return strings.Join(names, " or ")
}

func listed(values []any) string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = fmt.Sprint(v)
	}
	return strings.Join(names, ", ")
}
