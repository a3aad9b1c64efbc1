package toolset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	outputText  = "text"
	outputJSON  = "json"
	outputLines = "lines"
)

// envelopeSchema is the outputSchema of a tool whose results are envelopes.
const envelopeSchema = `{"type":"object","properties":{` +
	`"ok":{"type":"boolean","description":"whether the command ran and printed a valid payload, not whether the payload is good news"},` +
	`"source":{"type":"object","properties":{"command":{"type":"string"},"exitCode":{"type":"integer"}},"required":["command","exitCode"]},` +
	`"data":{},"note":{"type":"string"},"responseFormat":{"enum":["concise","detailed"]}},"required":["ok","source"]}`

// step is a stepDeclaration made ready.
type step struct {
	stepDeclaration
	outcomes []outcome
}

type outcome struct {
	exit    map[int]bool
	schema  *jsonschema.Schema
	decline bool
}

// tool is a toolDeclaration made ready.
type tool struct {
	step
	shown  Tool
	inputs inputs
	input  *jsonschema.Schema
	keep   fields // of a concise result; nil where there is none
}

// prepare compiles every schema of the file, whose text is raw. Its error is a Faults.
func (t *Toolset) prepare(raw []byte) error {
	compiler, err := newCompiler(raw)
	if err != nil {
		return Faults{"$: " + err.Error()}
	}
	var found Faults
	t.tools = map[string]*tool{}
	for i, d := range t.declared.Tools {
		ready, faults := t.prepareTool(compiler, i, d)
		found = append(found, faults...)
		t.tools[d.Name] = ready
	}
	if c := t.declared.Contract; c != nil {
		ready, faults := prepareStep(compiler, "$.contract", "#/contract", *c)
		found = append(found, faults...)
		t.contract = &ready
	}
	if found != nil {
		return found
	}
	return nil
}

func (t *Toolset) prepareTool(c *jsonschema.Compiler, i int, d toolDeclaration) (*tool, Faults) {
	at := fmt.Sprintf("$.tools[%d]", i)
	s, found := prepareStep(c, at, fmt.Sprintf("#/tools/%d", i), d.stepDeclaration)
	ready := &tool{step: s, inputs: d.inputs(), keep: keeping(d.Concise)}
	var err error
	if ready.input, err = compile(d.Input); err != nil {
		found = append(found, schemaFaults(at+".input", err)...)
	}
	var compact bytes.Buffer
	_ = json.Compact(&compact, d.Input) // it has been parsed
	ready.shown = Tool{
		Name: d.Name, Title: d.Title, Description: d.Description, InputSchema: compact.Bytes(), RepositoryText: d.RepositoryText,
		Annotations: Annotations{ReadOnlyHint: true, IdempotentHint: true},
	}
	if t.declared.Envelope {
		ready.shown.OutputSchema = json.RawMessage(envelopeSchema)
	}
	return ready, found
}

// prepareStep compiles schemas within the file, so that they may refer to its $defs.
func prepareStep(c *jsonschema.Compiler, at, pointer string, d stepDeclaration) (step, Faults) {
	ready := step{stepDeclaration: d}
	var found Faults
	for i, o := range d.Outcomes {
		schema, err := c.Compile(fmt.Sprintf("%s%s/outcomes/%d/schema", schemaBase, pointer, i))
		if err != nil {
			found = append(found, schemaFaults(fmt.Sprintf("%s.outcomes[%d].schema", at, i), err)...)
		}
		exit := map[int]bool{}
		for _, code := range o.Exit {
			exit[code] = true
		}
		ready.outcomes = append(ready.outcomes, outcome{exit: exit, schema: schema, decline: o.Error})
	}
	return ready, found
}

// schemaFaults words what is wrong with a schema without the validator's own ids.
func schemaFaults(at string, err error) Faults {
	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		var found Faults
		for _, p := range problems(invalid.Err) {
			found = append(found, at+": it is no JSON Schema: "+p)
		}
		return found
	}
	return Faults{at + ": it cannot be compiled: " + err.Error()}
}
