package bridgetest

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

//go:embed testdata/github-openapi.json
var description []byte

// contract is GitHub's description of its API.
type contract struct {
	doc *openapi3.T
}

var loadContract = sync.OnceValues(func() (*contract, error) {
	doc, err := openapi3.NewLoader().LoadFromData(description)
	if err != nil {
		return nil, fmt.Errorf("read GitHub's description of its API: %w", err)
	}
	closeSchemas(doc)
	return &contract{doc}, nil
})

// closeSchemas forbids what GitHub does not describe: an answer of the stand-in with a field of our
// own wishes is a violation.
func closeSchemas(doc *openapi3.T) {
	no := false
	seen := map[*openapi3.Schema]bool{}
	var visit func(*openapi3.SchemaRef)
	visit = func(ref *openapi3.SchemaRef) {
		if ref == nil || ref.Value == nil || seen[ref.Value] {
			return
		}
		s := ref.Value
		seen[s] = true
		if len(s.Properties) > 0 && s.AdditionalProperties.Has == nil && s.AdditionalProperties.Schema == nil && len(s.AllOf) == 0 {
			s.AdditionalProperties.Has = &no
		}
		for _, p := range s.Properties {
			visit(p)
		}
		visit(s.Items)
		for _, more := range [][]*openapi3.SchemaRef{s.OneOf, s.AnyOf} {
			for _, one := range more {
				visit(one)
			}
		}
	}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			for _, r := range op.Responses.Map() {
				for _, content := range r.Value.Content {
					visit(content.Schema)
				}
			}
		}
	}
}

// operation finds what the description says of a route; nil: it lacks it.
func (k *contract) operation(r *route) *routers.Route {
	item := k.doc.Paths.Value(r.path)
	if item == nil || item.GetOperation(r.method) == nil {
		return nil
	}
	return &routers.Route{
		Spec: k.doc, Server: k.doc.Servers[0], Path: r.path, PathItem: item, Method: r.method, Operation: item.GetOperation(r.method),
	}
}

func (c *call) validation(op *routers.Route) *openapi3filter.RequestValidationInput {
	req := c.req.Clone(context.Background())
	req.Body = io.NopCloser(bytes.NewReader(c.body))
	params := map[string]string{"owner": "-", "repo": "-"}
	for name, value := range c.params {
		params[name] = value
	}
	return &openapi3filter.RequestValidationInput{
		Request: req, PathParams: params, QueryParams: c.query, Route: op,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, SkipSettingDefaults: true, MultiError: true},
	}
}

// checkRequest holds a request to the description.
func (c *call) checkRequest() {
	what := c.req.Method + " " + c.req.URL.RequestURI()
	k, err := loadContract()
	if err != nil {
		c.gh.violate("%v", err)
		return
	}
	op := k.operation(c.route)
	if op == nil {
		if err := c.checkByHand(nil); err != nil {
			c.gh.violate("request %s: %v", what, err)
		}
		return
	}
	if err := openapi3filter.ValidateRequest(context.Background(), c.validation(op)); err != nil {
		c.gh.violate("request %s: %v", what, shorten(err))
	}
	known := []string{"after", "before"} // of the addresses that GitHub itself gives in Link
	for _, p := range op.Operation.Parameters {
		known = append(known, p.Value.Name)
	}
	for name := range c.query {
		if !slices.Contains(known, name) {
			c.gh.violate("request %s: GitHub has no parameter %s there", what, name)
		}
	}
}

// checkAnswer holds an answer to the description. What that lacks of refusals is of one form everywhere.
func (c *call) checkAnswer(r *reply) {
	if c.route == nil {
		return
	}
	what := fmt.Sprintf("answer %d to %s %s", r.status, c.req.Method, c.req.URL.RequestURI())
	k, err := loadContract()
	if err != nil {
		return
	}
	op := k.operation(c.route)
	switch {
	case op == nil && r.status < 300:
		err = c.checkByHand(r)
	case r.status >= 300 && (op == nil || op.Operation.Responses.Status(r.status) == nil):
		err = checkRefusal(r)
	default:
		err = openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
			RequestValidationInput: c.validation(op), Status: r.status, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(bytes.NewReader(r.encodeBody())), Options: &openapi3filter.Options{IncludeResponseStatus: true},
		})
	}
	if err == nil && r.status/100 == 3 && r.status != http.StatusNotModified {
		_, err = url.ParseRequestURI(r.header.Get("Location"))
	}
	if err != nil {
		c.gh.violate("%s: %v", what, shorten(err))
	}
}

// shorten leaves out the schemas that the validator quotes.
func shorten(err error) string {
	text := err.Error()
	if before, _, ok := strings.Cut(text, "\nSchema:"); ok {
		text = before
	}
	return text[:min(len(text), 800)]
}
