package bridge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"fleet/api"
)

// contract is api/openapi.yaml, and what that doesn't describe is forbidden.
type contract struct{ doc *openapi3.T }

func loadContract(t *testing.T) *contract {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromFile("../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	no := false
	for _, s := range doc.Components.Schemas {
		if len(s.Value.Properties) > 0 {
			s.Value.AdditionalProperties.Has = &no
		}
	}
	return &contract{doc}
}

// input is a request as the validator takes it. Where no operation has its address, it belongs to
// none of them.
func (k *contract) input(r *http.Request, body string) *openapi3filter.RequestValidationInput {
	clone := r.Clone(context.Background())
	clone.Body = io.NopCloser(strings.NewReader(body))
	in := &openapi3filter.RequestValidationInput{
		Request: clone, PathParams: map[string]string{}, QueryParams: r.URL.Query(),
		Route: &routers.Route{Spec: k.doc, Operation: &openapi3.Operation{Responses: openapi3.NewResponsesWithCapacity(0)}},
		Options: &openapi3filter.Options{
			SchemaValidationOptions: []openapi3.SchemaValidationOption{openapi3.EnableFormatValidation()},
			AuthenticationFunc: func(context.Context, *openapi3filter.AuthenticationInput) error {
				if bearer(r).IsZero() {
					return errors.New("the ship's credential isn't there")
				}
				return nil
			},
		},
	}
	known := append(routes(), route{"healthz", http.MethodGet, "/v1/healthz"})
	for _, one := range known {
		repo, number, ok := one.match(r.URL.EscapedPath())
		item := k.doc.Paths.Value(one.path)
		if !ok || item == nil {
			continue
		}
		in.PathParams = map[string]string{"repo": repo, "number": number}
		if op := item.GetOperation(r.Method); op != nil {
			in.Route = &routers.Route{Spec: k.doc, Path: one.path, PathItem: item, Method: r.Method, Operation: op}
			return in
		}
		in.Route.Operation.Responses = openapi3.NewResponses(openapi3.WithStatus(405, k.doc.Components.Responses["MethodNotAllowed"]))
		return in
	}
	in.Route.Operation.Responses = openapi3.NewResponses(openapi3.WithStatus(404, k.doc.Components.Responses["NotFound"]),
		openapi3.WithStatus(401, k.doc.Components.Responses["Unauthenticated"]))
	return in
}

// request holds a request to the document.
func (k *contract) request(r *http.Request, body string) error {
	in := k.input(r, body)
	if in.Route.Path == "" {
		return errors.New("the document has nothing at this address")
	}
	for name := range in.QueryParams {
		if in.Route.Operation.Parameters.GetByInAndName("query", name) == nil {
			return errors.New("the document has no parameter " + name)
		}
	}
	return openapi3filter.ValidateRequest(context.Background(), in)
}

// answer holds an answer to the document.
func (k *contract) answer(r *http.Request, status int, header http.Header, body string) error {
	return openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: k.input(r, ""), Status: status, Header: header, Body: io.NopCloser(strings.NewReader(body)),
		Options: &openapi3filter.Options{
			IncludeResponseStatus:   true,
			SchemaValidationOptions: []openapi3.SchemaValidationOption{openapi3.EnableFormatValidation()},
		},
	})
}

// send lets h answer, without a network, and holds the answer to the document.
func (k *contract) send(t *testing.T, h http.Handler, ship Secret, method, target, key, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if !ship.IsZero() {
		r.Header.Set("Authorization", "Bearer "+ship.Reveal())
	}
	if key != "" {
		r.Header.Set(api.HeaderKey, key)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", jsonType)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if err := k.answer(r, w.Code, w.Header(), w.Body.String()); err != nil {
		t.Errorf("%s %s: %d %s\n%v", method, target, w.Code, w.Body, err)
	}
	return w
}

// watch holds what passes through to the document, both ways.
func (k *contract) watch(t *testing.T, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err == nil {
			err = k.request(r, string(raw))
		}
		if err != nil {
			t.Errorf("request %s %s %s: %v", r.Method, r.URL, raw, err)
		}
		r.Body = io.NopCloser(bytes.NewReader(raw))
		seen := httptest.NewRecorder()
		h.ServeHTTP(seen, r)
		if err := k.answer(r, seen.Code, seen.Header(), seen.Body.String()); err != nil {
			t.Errorf("answer to %s %s: %d %s\n%v", r.Method, r.URL, seen.Code, seen.Body, err)
		}
		for name, values := range seen.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(seen.Code)
		_, _ = w.Write(seen.Body.Bytes())
	})
}
