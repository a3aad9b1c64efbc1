package harness

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
)

// roundTrip inserts c into data and holds that to what it must be: nothing but additions, each
// way back gives the data, and whoever reads the file finds c and all that was there.
func roundTrip(t *testing.T, c change, data []byte, read func([]byte) (any, error), strip func(any) any) {
	if got, err := c.find(data); err != nil || got != "" {
		return // no such file, or taken
	}
	before, err := read(data)
	if err != nil {
		return // our parser takes more than others do
	}
	out, added, made, err := c.insert(data)
	if err != nil {
		return
	}
	want, err := c.want()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.find(out); err != nil || got != want {
		t.Fatalf("%q became %q, which has not what was added: %v", data, out, err)
	}
	if back, err := takeOut(out, added); err != nil || !bytes.Equal(back, data) {
		t.Fatalf("%q became %q and then %q, %v", data, out, back, err)
	}
	after, err := read(out)
	if err != nil {
		t.Fatalf("%q became %q: %v", data, out, err)
	}
	if !reflect.DeepEqual(strip(after), strip(before)) {
		t.Fatalf("%q became %q: more than the addition changed", data, out)
	}
	replaced, err := c.replace(out)
	if err != nil {
		t.Fatalf("replace in %q: %v", out, err)
	}
	if got, err := c.find(replaced); err != nil || got != want {
		t.Fatalf("%q became %q by a replacement: %v", out, replaced, err)
	}
	removed, err := c.remove(replaced, made)
	if err != nil {
		t.Fatalf("remove from %q: %v", replaced, err)
	}
	if got, err := c.find(removed); err != nil || got != "" {
		t.Fatalf("%q became %q by a removal: %v", replaced, removed, err)
	}
	if rest, err := read(removed); err != nil || !reflect.DeepEqual(strip(rest), strip(before)) {
		t.Fatalf("%q became %q by a removal, from %q: %v", replaced, removed, data, err)
	}
}

func readJSON(data []byte) (any, error) {
	data, _ = bare(data)
	if len(bytes.TrimSpace(data)) == 0 {
		return map[string]any{}, nil
	}
	plain, err := hujson.Standardize(bytes.Clone(data))
	if err != nil {
		return nil, err
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(plain))
	dec.UseNumber()
	return v, dec.Decode(&v)
}

// stripped removes the change with what may be around it from a tree.
func stripped(path []string, mine any) func(any) any {
	return func(v any) any {
		root, ok := v.(map[string]any)
		if !ok {
			return v
		}
		at := root
		for i, name := range path {
			if i == len(path)-1 {
				list, isList := at[name].([]any)
				if !isList {
					delete(at, name)
					break
				}
				at[name] = dropOne(list, mine)
				if len(at[name].([]any)) == 0 {
					delete(at, name)
				}
				break
			}
			next, ok := at[name].(map[string]any)
			if !ok {
				return v
			}
			at = next
		}
		if outer, ok := root[path[0]].(map[string]any); ok && len(outer) == 0 {
			delete(root, path[0])
		}
		return v
	}
}

func dropOne(list []any, mine any) []any {
	out := []any{}
	for _, v := range list {
		if v != mine {
			out = append(out, v)
		}
	}
	return out
}

func FuzzJSONSplice(f *testing.F) {
	for _, c := range samples() {
		if c.harness != "codex" {
			f.Add([]byte(c.before))
			f.Add([]byte(c.during))
		}
	}
	f.Add([]byte(`{"mcpServers":{/**/}/**/}`))
	f.Add([]byte("{\"p\":{\"allow\":[\n//\n]}}"))
	f.Add([]byte("{\"p\":{\"allow\":[1,/*\n*/]}// x\n}"))
	server := jsonChange{path: []string{"mcpServers", Key}, value: map[string]any{"command": adapter, "args": []string{"a"}}}
	f.Fuzz(func(t *testing.T, data []byte) {
		roundTrip(t, server, data, readJSON, stripped(server.path, nil))
		for _, first := range []bool{false, true} {
			rule := jsonChange{path: []string{"p", "allow"}, value: "mine", element: true, first: first}
			roundTrip(t, rule, data, readJSON, stripped(rule.path, "mine"))
		}
	})
}

func FuzzTOMLSplice(f *testing.F) {
	for _, c := range samples() {
		if c.harness == "codex" {
			f.Add([]byte(c.before))
			f.Add([]byte(c.during))
		}
	}
	f.Add([]byte("mcp_servers.docs.command = 'x'\n[[a]]\n[a.b]\nc = [ # x\n]\n"))
	home := home{dir: "/h", getenv: func(string) string { return "" }}
	changes, err := codex(home, adapter)
	if err != nil {
		f.Fatal(err)
	}
	read := func(data []byte) (any, error) {
		data, _ = bare(data)
		v := map[string]any{}
		return v, toml.Unmarshal(data, &v)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		roundTrip(t, changes[0], data, read, stripped([]string{"mcp_servers", Key}, nil))
	})
}
