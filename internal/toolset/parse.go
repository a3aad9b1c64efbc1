package toolset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"fleet/api"
)

const schemaBase = "toolset:"

// parse reads a declaration strictly. Its error is a Faults.
func parse(raw []byte) (declaration, error) {
	if !utf8.Valid(raw) {
		return declaration{}, Faults{"$: it is not valid UTF-8"}
	}
	if err := oneValue(raw); err != nil {
		return declaration{}, Faults{"$: " + err.Error()}
	}
	faults := duplicates(raw)
	schema, err := compile(api.ToolsetSchema())
	if err != nil {
		return declaration{}, fmt.Errorf("compile the schema of toolsets: %w", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return declaration{}, Faults{"$: " + err.Error()}
	}
	faults = append(faults, problems(schema.Validate(doc))...)
	if len(faults) > 0 {
		return declaration{}, faults
	}
	var d declaration
	if err := json.Unmarshal(raw, &d); err != nil {
		return declaration{}, Faults{"$: " + err.Error()}
	}
	d.fill()
	if faults := d.check(); len(faults) > 0 {
		return declaration{}, faults
	}
	return d, nil
}

// fill puts the defaults where the file is silent.
func (d *declaration) fill() {
	if d.ExitCodes == nil {
		d.ExitCodes = []int{0}
	}
	if d.TimeoutSeconds == 0 {
		d.TimeoutSeconds = 60
	}
	if d.MaxOutputBytes == 0 {
		d.MaxOutputBytes = 256 << 10
	}
}

// oneValue says why raw is not exactly one JSON value.
func oneValue(raw []byte) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	var value json.RawMessage
	if err := d.Decode(&value); err != nil {
		if errors.Is(err, io.EOF) {
			return errors.New("there is no JSON value")
		}
		return errors.New("it is not valid JSON")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON value")
	}
	return nil
}

// duplicates names keys that an object gives twice, of which encoding/json would take the last.
func duplicates(raw []byte) Faults {
	var found Faults
	d := json.NewDecoder(bytes.NewReader(raw))
	var scan func(path string)
	scan = func(path string) {
		token, err := d.Token()
		if err != nil {
			return
		}
		switch token {
		case json.Delim('{'):
			seen := map[string]bool{}
			for d.More() {
				key, _ := d.Token()
				name, _ := key.(string)
				if seen[name] {
					found = append(found, member(path, name)+": the key is given twice")
				}
				seen[name] = true
				scan(member(path, name))
			}
			_, _ = d.Token()
		case json.Delim('['):
			for i := 0; d.More(); i++ {
				scan(path + "[" + strconv.Itoa(i) + "]")
			}
			_, _ = d.Token()
		}
	}
	scan("$")
	return found
}

func member(path, key string) string { return path + "." + key }

// jsonPath writes a validator's location as a JSON path; only objects have keys that are digits
// in none of our formats.
func jsonPath(location []string) string {
	var out strings.Builder
	out.WriteString("$")
	for _, part := range location {
		if _, err := strconv.Atoi(part); err == nil {
			out.WriteString("[" + part + "]")
		} else {
			out.WriteString("." + part)
		}
	}
	return out.String()
}

// newCompiler takes one document, whose schemas may refer to nothing outside it: no file, no
// network.
func newCompiler(raw []byte) (*jsonschema.Compiler, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(jsonschema.SchemeURLLoader{})
	return c, c.AddResource(schemaBase, doc)
}

func compile(raw []byte) (*jsonschema.Schema, error) {
	c, err := newCompiler(raw)
	if err != nil {
		return nil, err
	}
	return c.Compile(schemaBase)
}

const (
	maxShownFaults = 4
	maxFaultBytes  = 500
)

// few shows the first faults, each cut: an array of an agent's, or of a command's, can be at fault
// in every element, and a name in it as long as all of it.
func (f Faults) few() string {
	var shown []string
	for _, fault := range f[:min(len(f), maxShownFaults)] {
		shown = append(shown, cut(fault, maxFaultBytes, false))
	}
	if more := len(f) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(shown, "; ")
}

// problems turns the validator's findings into lines, in a fixed order. Only its leaves say what
// is wrong; the rest is structure, with ids of ours that nobody knows.
func problems(err error) Faults {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil
	}
	printer := message.NewPrinter(language.English)
	var found Faults
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			found = append(found, jsonPath(e.InstanceLocation)+": "+e.ErrorKind.LocalizedString(printer))
		}
		for _, cause := range e.Causes {
			walk(cause)
		}
	}
	walk(invalid)
	slices.Sort(found)
	return slices.Compact(found)
}
