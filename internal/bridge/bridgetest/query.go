package bridgetest

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// field is a field that a GraphQL query asks for.
type field struct {
	name   string
	args   map[string]any
	fields []field
}

// tokens of GraphQL, as far as queries need them (https://spec.graphql.org/October2021/#sec-Language).
var queryTokens = regexp.MustCompile(`\$?[_A-Za-z][_0-9A-Za-z]*|-?\d+|"[^"]*"|[{}()\[\]:!=]`)

// queryParser reads one query. Fragments, aliases and directives are beyond it.
type queryParser struct {
	tokens    []string
	variables map[string]any
}

func parseQuery(query string, variables map[string]any) ([]field, error) {
	rest := strings.NewReplacer(",", " ", "\n", " ", "\t", " ").Replace(query)
	p := &queryParser{tokens: queryTokens.FindAllString(rest, -1), variables: variables}
	if left := strings.TrimSpace(queryTokens.ReplaceAllString(rest, "")); left != "" {
		return nil, fmt.Errorf("unexpected %q", left)
	}
	if p.peek() == "query" {
		p.next()
		if err := p.declarations(); err != nil {
			return nil, err
		}
	}
	fields, err := p.selection()
	if err == nil && p.peek() != "" {
		err = fmt.Errorf("unexpected %q", p.peek())
	}
	return fields, err
}

func (p *queryParser) peek() string {
	if len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0]
}

func (p *queryParser) next() string {
	t := p.peek()
	if t != "" {
		p.tokens = p.tokens[1:]
	}
	return t
}

func (p *queryParser) expect(want string) error {
	if got := p.next(); got != want {
		return fmt.Errorf("expected %q, got %q", want, got)
	}
	return nil
}

// declarations reads ($name: Type! …), and holds the variables to them.
func (p *queryParser) declarations() error {
	if t := p.peek(); t != "(" && t != "{" {
		p.next() // the query's name
	}
	if p.peek() != "(" {
		return nil
	}
	p.next()
	declared := map[string]bool{}
	for p.peek() != ")" {
		name := strings.TrimPrefix(p.next(), "$")
		if err := p.expect(":"); err != nil {
			return err
		}
		kind := p.next()
		declared[name] = true
		value := p.variables[name]
		required := p.peek() == "!"
		if required {
			p.next()
		}
		if err := fits(name, kind, value, required); err != nil {
			return err
		}
	}
	for name := range p.variables {
		if !declared[name] {
			return fmt.Errorf("variable $%s is not declared", name)
		}
	}
	return p.expect(")")
}

func fits(name, kind string, value any, required bool) error {
	if value == nil {
		if required {
			return fmt.Errorf("variable $%s of type %s! was provided invalid value", name, kind)
		}
		return nil
	}
	_, isString := value.(string)
	n, isNumber := value.(float64)
	if kind == "String" && isString || kind == "ID" && isString || kind == "Int" && isNumber && n == float64(int32(n)) {
		return nil
	}
	return fmt.Errorf("variable $%s of type %s was provided invalid value", name, kind)
}

func (p *queryParser) selection() ([]field, error) {
	if err := p.expect("{"); err != nil {
		return nil, err
	}
	var fields []field
	for p.peek() != "}" {
		f := field{name: p.next(), args: map[string]any{}}
		if f.name == "" {
			return nil, errors.New("the query ends too early")
		}
		if p.peek() == "(" {
			p.next()
			if err := p.arguments(f.args); err != nil {
				return nil, err
			}
		}
		if p.peek() == "{" {
			var err error
			if f.fields, err = p.selection(); err != nil {
				return nil, err
			}
		}
		fields = append(fields, f)
	}
	p.next()
	return fields, nil
}

func (p *queryParser) arguments(into map[string]any) error { return p.values(into, ")") }

// values reads names with values up to the given end.
func (p *queryParser) values(into map[string]any, end string) error {
	for p.peek() != end {
		name := p.next()
		if err := p.expect(":"); err != nil {
			return err
		}
		var err error
		if into[name], err = p.value(); err != nil {
			return err
		}
	}
	p.next()
	return nil
}

func (p *queryParser) value() (any, error) {
	t := p.next()
	if name, ok := strings.CutPrefix(t, "$"); ok {
		return p.variables[name], nil
	}
	switch {
	case strings.HasPrefix(t, `"`):
		return strings.Trim(t, `"`), nil
	case t == "{":
		o := map[string]any{}
		return o, p.values(o, "}")
	case t == "", strings.Trim(t[:1], "-0123456789") != "" && strings.ToUpper(t) != t:
		return nil, fmt.Errorf("unexpected %q", t)
	}
	if n, err := strconv.Atoi(t); err == nil {
		return n, nil
	}
	return t, nil // one of an enumeration
}
