package api_test

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"fleet/api"
)

func openAPI(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestTheDocumentIsValidOpenAPI(t *testing.T) {
	doc := openAPI(t)
	if err := doc.Validate(t.Context(), openapi3.EnableSchemaFormatValidation(), openapi3.EnableExamplesValidation()); err != nil {
		t.Error(err)
	}
	if doc.OpenAPI != "3.1.0" {
		t.Errorf("it is OpenAPI %s", doc.OpenAPI)
	}
	for name, s := range doc.Components.Schemas {
		if s.Value.Description == "" {
			t.Errorf("schema %s is not described", name)
		}
	}
}

// onTheWire is what travels by itself; what it is made of is found from here.
func onTheWire() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[api.RepoInfo](), reflect.TypeFor[api.List[api.IssueItem]](), reflect.TypeFor[api.List[api.PullItem]](),
		reflect.TypeFor[api.IssueView](), reflect.TypeFor[api.PullView](), reflect.TypeFor[api.Checks](), reflect.TypeFor[api.FailedLogs](),
		reflect.TypeFor[api.Written](), reflect.TypeFor[api.Contribution](), reflect.TypeFor[api.Problem](),
	}
}

func schemaName(typ reflect.Type) string {
	switch typ {
	case reflect.TypeFor[api.List[api.IssueItem]]():
		return "IssueList"
	case reflect.TypeFor[api.List[api.PullItem]]():
		return "PullList"
	}
	return typ.Name()
}

func TestTypesAndSchemasAreTheSame(t *testing.T) {
	c := &comparison{T: t, schemas: openAPI(t).Components.Schemas, seen: map[string]bool{}}
	for _, typ := range onTheWire() {
		c.object(typ)
	}
	for name, s := range c.schemas {
		if s.Value.Type.Is("object") && !strings.HasSuffix(name, "_input") && !c.seen[name] {
			t.Errorf("schema %s is of nothing that travels", name)
		}
	}
}

// comparison holds Go types to the schemas of their names.
type comparison struct {
	*testing.T
	schemas openapi3.Schemas
	seen    map[string]bool
}

func (c *comparison) object(typ reflect.Type) {
	name := schemaName(typ)
	if c.seen[name] {
		return
	}
	c.seen[name] = true
	schema := c.schemas[name]
	if schema == nil {
		c.Errorf("there is no schema %s", name)
		return
	}
	fields := c.fields(typ)
	var required []string
	for field, f := range fields {
		if !f.optional {
			required = append(required, field)
		}
		if p := schema.Value.Properties[field]; p == nil {
			c.Errorf("%s: the schema lacks %s", name, field)
		} else {
			c.value(name+"."+field, f.typ, p)
		}
	}
	for property := range schema.Value.Properties {
		if _, ok := fields[property]; !ok {
			c.Errorf("%s: the type lacks %s", name, property)
		}
	}
	want := slices.Sorted(slices.Values(schema.Value.Required))
	if slices.Sort(required); !slices.Equal(required, want) {
		c.Errorf("%s: always there are %q, required are %q", name, required, want)
	}
}

type field struct {
	typ      reflect.Type
	optional bool
}

// fields gives what encoding/json makes of typ, with what is embedded.
func (c *comparison) fields(typ reflect.Type) map[string]field {
	all := map[string]field{}
	add := func(name string, f field) {
		if _, twice := all[name]; twice {
			c.Errorf("%s has two fields %s", typ, name)
		}
		all[name] = f
	}
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Anonymous && f.Tag.Get("json") == "" {
			for name, inner := range c.fields(f.Type) {
				add(name, inner)
			}
			continue
		}
		if f.Tag.Get("json") == "-" { // stays within the process
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		one := field{f.Type, options == "omitempty"}
		if name == "" || options != "" && !one.optional {
			c.Errorf("%s.%s is tagged %q", typ, f.Name, f.Tag)
		}
		if f.Type.Kind() == reflect.Pointer {
			one.typ = f.Type.Elem()
			if !one.optional {
				c.Errorf("%s.%s may be null", typ, f.Name)
			}
		}
		add(name, one)
	}
	return all
}

// value holds a field's type to its schema.
func (c *comparison) value(where string, typ reflect.Type, s *openapi3.SchemaRef) {
	is := func(schemaType, format string) {
		if !s.Value.Type.Is(schemaType) || s.Value.Format != format {
			c.Errorf("%s is a %s, and in the schema %v %s", where, typ, s.Value.Type, s.Value.Format)
		}
	}
	switch {
	case typ == reflect.TypeFor[time.Time]():
		is("string", "date-time")
	case typ.Kind() == reflect.Struct:
		if want := "#/components/schemas/" + schemaName(typ); s.Ref != want {
			c.Errorf("%s refers to %q, want %s", where, s.Ref, want)
		}
		c.object(typ)
	case typ.Kind() == reflect.Slice:
		if is("array", ""); s.Value.Items != nil {
			c.value(where+"[]", typ.Elem(), s.Value.Items)
		} else {
			c.Errorf("%s: the schema does not say of what", where)
		}
	case typ.Kind() == reflect.Map:
		if is("object", ""); s.Value.AdditionalProperties.Schema != nil {
			c.value(where+"{}", typ.Elem(), s.Value.AdditionalProperties.Schema)
		} else {
			c.Errorf("%s: the schema does not say of what", where)
		}
	case typ.Kind() == reflect.String:
		is("string", "")
	case typ.Kind() == reflect.Bool:
		is("boolean", "")
	case typ.Kind() == reflect.Int:
		is("integer", "")
	case typ.Kind() == reflect.Int64:
		is("integer", "int64")
	default:
		c.Errorf("%s is a %s, of which this test knows nothing", where, typ)
	}
}

// An agent that has seen a name once takes it for the same thing elsewhere: stale was an object on
// answers and a boolean on reviews.
func TestANameHasOneTypeEverywhere(t *testing.T) {
	first := map[string]string{}
	for schema, s := range openAPI(t).Components.Schemas {
		for name, property := range s.Value.Properties {
			here := schema + "." + name
			there, known := first[name]
			if !known {
				first[name] = here + " " + strings.Join(property.Value.Type.Slice(), " ")
				continue
			}
			if typ := strings.Join(property.Value.Type.Slice(), " "); !strings.HasSuffix(there, " "+typ) {
				t.Errorf("%s is a %s, and there is %s", here, typ, there)
			}
		}
	}
}

func TestEachCodeHasItsStatusInEveryOperation(t *testing.T) {
	doc := openAPI(t)
	codes := []api.Code{
		api.Invalid, api.Unauthenticated, api.Forbidden, api.NotFound, api.Conflict, api.RateLimited, api.Unsupported,
		api.Unavailable, api.OutcomeUnknown, api.Internal,
	}
	expectEnum(t, doc.Components.Schemas["Code"].Value, codes...)
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			want := []string{"200"}
			for _, code := range codes {
				if path == "/v1/healthz" && code != api.Unauthenticated {
					continue
				}
				if code != api.OutcomeUnknown || method == http.MethodPost {
					want = append(want, strconv.Itoa(code.HTTPStatus()))
				}
			}
			slices.Sort(want)
			if got := slices.Sorted(slices.Values(op.Responses.Keys())); !slices.Equal(got, want) {
				t.Errorf("%s %s answers %q, want %q", method, path, got, want)
			}
			for status, r := range op.Responses.Map() {
				if content := r.Value.Content[api.ProblemType]; status != "200" && (content == nil || content.Schema.Ref != "#/components/schemas/Problem") {
					t.Errorf("%s %s answers %s with something else than a problem", method, path, status)
				}
			}
		}
	}
}

func TestWordsOfTheDocumentAreThoseOfTheCode(t *testing.T) {
	c := openAPI(t).Components
	property := func(schema, name string) *openapi3.Schema { return c.Schemas[schema].Value.Properties[name].Value }
	buckets := []string{api.BucketPass, api.BucketFail, api.BucketPending, api.BucketSkipped, api.BucketCancelled}
	expectEnum(t, property("Check", "bucket"), buckets...)
	expectEnum(t, property("Checks", "counts").PropertyNames.Value, buckets...)
	expectEnum(t, property("Checks", "overall"), append(buckets, api.BucketNone, api.BucketUnknown)...)
	expectEnum(t, property("Comment", "kind"), api.KindComment, api.KindReview, api.KindReviewComment)
	expectEnum(t, c.Schemas["agent_status_input"].Value.Properties["state"].Value, api.States()...)
	for _, name := range []string{api.HeaderKey, api.HeaderWorkspace} {
		if p := c.Parameters[name]; p == nil || p.Value.In != "header" || p.Value.Name != name {
			t.Errorf("there is no header %s", name)
		}
	}
	if c.Headers[api.HeaderRequestID] == nil {
		t.Errorf("there is no header %s", api.HeaderRequestID)
	}
}

func expectEnum[S ~string](t *testing.T, s *openapi3.Schema, want ...S) {
	t.Helper()
	var got []S
	for _, v := range s.Enum {
		word, _ := v.(string)
		got = append(got, S(word))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the document has %q, want %q", got, want)
	}
}
