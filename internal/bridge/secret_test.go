package bridge

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
)

// The newest of GitHub's installation tokens are 520 characters with dots, dashes and underscores.
func longSecret() string {
	return "ghs_" + strings.Repeat("aB3.d-F_9", 57) + "end"
}

func TestASecretCannotBePrinted(t *testing.T) {
	text := longSecret()
	if len(text) != 520 {
		t.Fatalf("the sentinel has %d characters, want 520", len(text))
	}
	s := NewSecret(text)
	holder := struct {
		Secret  Secret
		Pointer *Secret
		List    []Secret
		Map     map[string]Secret
		hidden  Secret
		inner   struct{ deep []Secret }
	}{s, &s, []Secret{s}, map[string]Secret{"k": s}, s, struct{ deep []Secret }{[]Secret{s}}}

	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%p", "%10s", "%T"} {
		fmt.Fprintf(&out, verb+"\n", s)
		fmt.Fprintf(&out, verb+"\n", holder)
		fmt.Fprintf(&out, verb+"\n", holder.List)
	}
	fmt.Fprintln(&out, s, s.String(), s.GoString(), fmt.Errorf("wrapped %v", s))
	var logged bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&logged, nil), slog.NewJSONHandler(&logged, nil)} {
		slog.New(h).Info("x", "secret", s, "holder", holder, "list", holder.List, "pointer", &s)
	}
	encoded, err := json.Marshal(map[string]any{"secret": s, "holder": holder})
	if err != nil {
		t.Fatal(err)
	}
	for name, shown := range map[string]string{"fmt": out.String(), "slog": logged.String(), "json": string(encoded)} {
		for form, want := range map[string]string{
			"text": text[4:40], "tail": text[480:], "hex": fmt.Sprintf("%x", text[:20]),
			"base64": base64.StdEncoding.EncodeToString([]byte(text))[:30],
		} {
			if strings.Contains(shown, want) {
				t.Errorf("%s shows the secret's %s", name, form)
			}
		}
		if !strings.Contains(shown, redacted) {
			t.Errorf("%s does not say that something was redacted", name)
		}
	}
}

// Printers of tests and debuggers follow every pointer that reflection shows them.
func TestReflectionFindsNoText(t *testing.T) {
	var walk func(v reflect.Value) bool
	walk = func(v reflect.Value) bool {
		switch v.Kind() {
		case reflect.String:
			return strings.Contains(v.String(), "ghs_")
		case reflect.Pointer, reflect.Interface:
			return !v.IsNil() && walk(v.Elem())
		case reflect.Struct:
			for i := range v.NumField() {
				if walk(v.Field(i)) {
					return true
				}
			}
		}
		return false
	}
	text := longSecret()
	if !walk(reflect.ValueOf(struct{ s *string }{&text})) {
		t.Fatal("the walk does not even find a plain string")
	}
	if walk(reflect.ValueOf(NewSecret(text))) {
		t.Error("reflection finds the secret's text")
	}
}

func TestAFingerprintTellsSecretsApart(t *testing.T) {
	a, b := NewSecret("one"), NewSecret("two")
	if len(a.Fingerprint()) != 12 || a.Fingerprint() == b.Fingerprint() {
		t.Errorf("Fingerprint() = %q and %q, want 12 digits that differ", a.Fingerprint(), b.Fingerprint())
	}
	if !a.Equal(NewSecret("one")) || a.Equal(b) || a.Equal(Secret{}) || !(Secret{}).Equal(NewSecret("")) {
		t.Error("Equal does not compare by the text")
	}
	if f := (Secret{}).Fingerprint(); f != "" {
		t.Errorf("the zero Secret has the fingerprint %q", f)
	}
}
