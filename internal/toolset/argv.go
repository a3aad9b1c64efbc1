package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fleet/api"
)

// Argv gives the whole argument array that a call would start, the command's own part first, and
// starts nothing. What may not run is an *api.Error with code Invalid.
func (t *Toolset) Argv(place Place, name string, args json.RawMessage) ([]string, error) {
	ready, err := t.tool(name)
	if err != nil {
		return nil, err
	}
	bounds, err := t.bounds(place)
	if err != nil {
		return nil, err
	}
	given, err := ready.read(args)
	if err != nil {
		return nil, err
	}
	return t.argv(context.Background(), ready, bounds, given)
}

func (t *Toolset) tool(name string) (*tool, error) {
	if ready, ok := t.tools[name]; ok {
		return ready, nil
	}
	return nil, &api.Error{Code: api.Invalid, Reason: "unknown_tool", Message: fmt.Sprintf("the toolset %s has no tool %q", t.Name(), name)}
}

// maxItems bounds an array of an agent's, whatever the input schema says.
const maxItems = 1000

// read holds arguments to the tool's input schema. Numbers become float64, which bounds what an
// exponent can cost.
func (t *tool) read(args json.RawMessage) (map[string]any, error) {
	given := map[string]any{}
	if len(args) > 0 && string(args) != "null" {
		if err := json.Unmarshal(args, &given); err != nil || given == nil {
			return nil, t.refuse("the arguments are not a JSON object")
		}
	}
	for name, value := range given {
		if list, ok := value.([]any); ok && len(list) > maxItems {
			return nil, t.refuse(fmt.Sprintf("the arguments do not fit: %q has more than %d items", cut(name, maxFaultBytes, false), maxItems))
		}
	}
	if found := problems(t.input.Validate(given)); len(found) > 0 {
		return nil, t.refuse("the arguments do not fit: " + found.few())
	}
	return given, nil
}

func (t *tool) refuse(message string) error {
	return &api.Error{
		Code: api.Invalid, Reason: "bad_arguments", Message: message,
		Hint: "correct this and call " + t.shown.Name + " again; nothing was run",
	}
}

func (t *Toolset) argv(ctx context.Context, ready *tool, b bounds, given map[string]any) ([]string, error) {
	argv := slices.Clone(t.command)
	for _, a := range ready.Args {
		if a.isLiteral() {
			argv = append(argv, a.Literal)
			continue
		}
		value, ok := given[a.From]
		if !ok {
			continue
		}
		values, err := b.values(ctx, a, value)
		if ctx.Err() != nil {
			return nil, unstarted(ctx)
		}
		if err != nil {
			return nil, ready.refuse(fmt.Sprintf("%q: %v", a.From, err))
		}
		if a.Flag != "" && values != nil {
			argv = append(argv, a.Flag)
		}
		argv = append(argv, values...)
	}
	return argv, nil
}

// values turns one input into arguments; nil means that not even its flag is passed.
func (b bounds) values(ctx context.Context, a argument, value any) ([]string, error) {
	switch v := value.(type) {
	case bool:
		if v {
			return []string{}, nil
		}
	case float64:
		// From here on two integers are the same float64, and the largest would turn negative.
		if math.Abs(v) >= 1<<53 {
			return nil, errors.New("its value must be less than 2 to the power of 53")
		}
		return []string{strconv.FormatInt(int64(v), 10)}, nil
	case string:
		text, err := b.bind(ctx, a.As, v)
		return []string{text}, err
	case []any:
		var list []string
		for _, item := range v {
			text, _ := item.(string) // the schema of toolsets lets arrays hold strings alone
			bound, err := b.bind(ctx, a.As, text)
			if err != nil {
				return nil, err
			}
			list = append(list, bound)
		}
		return list, nil
	}
	return nil, nil
}

// bind makes an argument of one text, by its kind. No kind lets it start with a dash.
func (b bounds) bind(ctx context.Context, kind, text string) (string, error) {
	switch kind {
	case kindPath:
		return b.path(ctx, text)
	case kindAbsPath:
		return b.absPath(ctx, text)
	case kindPathOrWord:
		if strings.ContainsAny(text, "/.") {
			return b.path(ctx, text)
		}
		return word(text)
	case kindText:
		return plainText(text)
	}
	return word(text)
}

var wordPattern = regexp.MustCompile(`^[A-Za-z0-9._/~^@][A-Za-z0-9._/~^@-]{0,199}$`)

func word(text string) (string, error) {
	if !wordPattern.MatchString(text) {
		return "", fmt.Errorf("it must be 1 to 200 letters, digits and ._/~^@-, and not start with -")
	}
	return text, nil
}

func plainText(text string) (string, error) {
	if text == "" || strings.HasPrefix(text, "-") || strings.ContainsRune(text, 0) {
		return "", fmt.Errorf("it must not be empty, start with - or hold a NUL")
	}
	return text, nil
}
