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

// prepare compiles every schema. Its error is a Faults.
func (t *Toolset) prepare() error {
	var found Faults
	t.tools = map[string]*tool{}
	for i, d := range t.declared.Tools {
		at := fmt.Sprintf("$.tools[%d]", i)
		ready, faults := t.prepareTool(at, d)
		found = append(found, faults...)
		t.tools[d.Name] = ready
	}
	if c := t.declared.Contract; c != nil {
		ready, faults := t.prepareStep("$.contract", *c)
		found = append(found, faults...)
		t.contract = &ready
	}
	if found != nil {
		return found
	}
	return nil
}

func (t *Toolset) prepareTool(at string, d toolDeclaration) (*tool, Faults) {
	s, found := t.prepareStep(at, d.stepDeclaration)
	ready := &tool{step: s, inputs: d.inputs(), keep: keeping(d.Concise)}
	var err error
	if ready.input, err = compile(d.Input, ""); err != nil {
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

func (t *Toolset) prepareStep(at string, d stepDeclaration) (step, Faults) {
	ready := step{stepDeclaration: d}
	var found Faults
	for i, o := range d.Outcomes {
		schema, err := t.compile(o.Schema)
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

// compile makes a schema that may refer to the file's own $defs.
func (t *Toolset) compile(schema json.RawMessage) (*jsonschema.Schema, error) {
	whole := map[string]any{"schema": schema}
	if t.declared.Defs != nil {
		whole["$defs"] = t.declared.Defs
	}
	doc, err := json.Marshal(whole)
	if err != nil {
		return nil, err
	}
	return compile(doc, "#/schema")
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
