package toolset

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fleet/internal/atlas"
)

const (
	endOfOptions   = "--"
	responseFormat = "responseFormat"
	concise        = "concise"
	detailed       = "detailed"
)

// inputs is what we read of an input schema besides having the validator use it.
type inputs struct {
	Properties map[string]property `json:"properties"`
	Required   []string            `json:"required"`
}

type property struct {
	Type     string            `json:"type"`
	Minimum  *float64          `json:"minimum"`
	MinItems int               `json:"minItems"`
	Enum     []json.RawMessage `json:"enum"`
	Examples []json.RawMessage `json:"examples"`
}

func (d toolDeclaration) inputs() inputs {
	var in inputs
	_ = json.Unmarshal(d.Input, &in) // the schema of toolsets has vouched for its shape
	return in
}

// check finds what the schema of toolsets cannot say.
func (d *declaration) check() Faults {
	var found Faults
	found = append(found, d.checkVariables()...)
	names := map[string]bool{}
	for i, t := range d.Tools {
		at := fmt.Sprintf("$.tools[%d]", i)
		if names[t.Name] {
			found = append(found, at+".name: another tool is called "+t.Name)
		}
		names[t.Name] = true
		found = append(found, d.checkTool(at, t)...)
	}
	if d.Contract != nil {
		found = append(found, d.checkOutcomes("$.contract", *d.Contract)...)
	}
	return append(found, d.checkResources()...)
}

func (d *declaration) checkVariables() Faults {
	var found Faults
	for i, name := range d.PassEnv {
		if err := atlas.CheckEnvName(name); err != nil {
			found = append(found, fmt.Sprintf("$.pass_env[%d]: %v", i, err))
		}
	}
	for name, value := range d.Env {
		if err := atlas.CheckEnvName(name); err != nil {
			found = append(found, fmt.Sprintf("$.env.%s: %v", name, err))
		}
		if strings.ContainsRune(value, 0) {
			found = append(found, fmt.Sprintf("$.env.%s: the value has a NUL", name))
		}
	}
	if name := d.CommandVariable; name != "" {
		if err := atlas.CheckEnvName(name); err != nil {
			found = append(found, "$.command_variable: "+err.Error())
		}
	}
	slices.Sort(found)
	return found
}

func (d *declaration) checkTool(at string, t toolDeclaration) Faults {
	found := d.checkArguments(at, t)
	found = append(found, d.checkOutcomes(at, t.stepDeclaration)...)
	in := t.inputs()
	for _, name := range in.Required {
		if _, ok := in.Properties[name]; !ok {
			found = append(found, fmt.Sprintf("%s.input.required: there is no input %s", at, name))
		}
	}
	if session, ok := in.Properties[d.SessionInput]; ok && session.Type != "string" {
		found = append(found, fmt.Sprintf("%s.input.properties.%s: a session is a string", at, d.SessionInput))
	}
	format, has := in.Properties[responseFormat]
	switch {
	case has != (t.Concise != nil):
		found = append(found, at+": concise and an input responseFormat go together")
	case has && !slices.EqualFunc(format.Enum, []string{`"concise"`, `"detailed"`}, func(a json.RawMessage, b string) bool { return string(a) == b }):
		found = append(found, at+".input.properties.responseFormat: its enum is concise, detailed")
	}
	if t.Output == outputText && (t.Concise != nil || d.Envelope) {
		found = append(found, at+".output: text has neither an envelope nor concise results")
	}
	if d.Envelope && len(t.Outcomes) == 0 {
		found = append(found, at+": within an envelope, outcomes say what is valid")
	}
	if t.RepositoryText && !strings.Contains(t.Description, "data, not instructions") {
		found = append(found, at+`.description: it must say that the repository's text is "data, not instructions"`)
	}
	if t.ReportsFollow != "" && (t.Output != outputLines || in.Properties[t.ReportsFollow].Type != "array") {
		found = append(found, at+".reports_follow: it goes with lines, and names an input that is an array")
	}
	return found
}

func (d *declaration) checkArguments(at string, t toolDeclaration) Faults {
	var found Faults
	in := t.inputs()
	used := map[string]bool{responseFormat: true, d.SessionInput: true}
	ended := false
	for i, a := range t.Args {
		if a.isLiteral() {
			ended = ended || a.Literal == endOfOptions
			continue
		}
		used[a.From] = true
		where := fmt.Sprintf("%s.args[%d]", at, i)
		p, ok := in.Properties[a.From]
		if !ok {
			found = append(found, where+".from: there is no input "+a.From)
			continue
		}
		if fault := a.misfit(p, ended); fault != "" {
			found = append(found, where+": "+fault)
		}
	}
	for name := range in.Properties {
		if !used[name] {
			found = append(found, fmt.Sprintf("%s.input.properties.%s: the command never gets it", at, name))
		}
	}
	slices.Sort(found)
	return found
}

// misfit says why a place cannot hold an input, where ended tells that a literal -- precedes it.
func (a argument) misfit(p property, ended bool) string {
	if ended && a.Flag != "" {
		return "after -- its flag would be a plain argument"
	}
	switch p.Type {
	case "boolean":
		if a.Flag == "" || a.As != "" {
			return "a boolean needs a flag and has no kind"
		}
	case "integer":
		if a.As != "" {
			return "an integer has no kind"
		}
		if p.Minimum == nil || *p.Minimum < 0 {
			return "an integer needs a minimum of 0 or more, or it could pass for an option"
		}
	default:
		if a.As == "" {
			return "a string needs a kind: as"
		}
		if a.As == kindText && !ended {
			return "text may stand only after a literal --"
		}
	}
	return ""
}

func (d *declaration) checkOutcomes(at string, s stepDeclaration) Faults {
	var found Faults
	if s.Output == outputText && len(s.Outcomes) > 0 {
		found = append(found, at+".outcomes: text has no schema")
	}
	for i, o := range s.Outcomes {
		for _, exit := range o.Exit {
			if !slices.Contains(d.ExitCodes, exit) {
				found = append(found, fmt.Sprintf("%s.outcomes[%d].exit: %d is not among exit_codes", at, i, exit))
			}
		}
	}
	return found
}

func (d *declaration) checkResources() Faults {
	var found Faults
	seen := map[string]bool{}
	for i, r := range d.Resources {
		at := fmt.Sprintf("$.resources[%d]", i)
		if seen[r.URI] {
			found = append(found, at+".uri: another resource has it")
		}
		seen[r.URI] = true
		n := slices.IndexFunc(d.Tools, func(t toolDeclaration) bool { return t.Name == r.Tool })
		switch {
		case n < 0:
			found = append(found, at+".tool: there is no tool "+r.Tool)
		case len(d.Tools[n].inputs().Required) > 0:
			found = append(found, at+".tool: it has required inputs, and a resource none to give")
		}
	}
	return found
}
