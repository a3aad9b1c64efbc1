package toolset

import (
	"bytes"
	"encoding/json"
	"strings"
)

// fields is a tree of what a concise result keeps. A field without fields of its own is kept whole.
type fields map[string]fields

// keeping makes a tree of paths such as diagnostics.code; nil for none.
func keeping(paths []string) fields {
	if len(paths) == 0 {
		return nil
	}
	root := fields{}
	for _, path := range paths {
		at := root
		for name := range strings.SplitSeq(path, ".") {
			if at[name] == nil {
				at[name] = fields{}
			}
			at = at[name]
		}
	}
	return root
}

// project drops the fields that f does not keep from raw, which is valid JSON, in the elements of
// arrays too. It changes nothing else: not the order, not how a number is written.
func (f fields) project(raw json.RawMessage) json.RawMessage {
	if len(f) == 0 {
		return raw
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	open, err := d.Token()
	if err != nil || open != json.Delim('{') && open != json.Delim('[') {
		return raw
	}
	var out bytes.Buffer
	for d.More() {
		keep, key := f, ""
		if open == json.Delim('{') {
			token, _ := d.Token()
			key, _ = token.(string)
			keep = f[key]
		}
		var value json.RawMessage
		if d.Decode(&value) != nil || keep == nil {
			continue
		}
		if out.Len() > 0 {
			out.WriteByte(',')
		}
		if open == json.Delim('{') {
			name, _ := marshal(key)
			out.Write(name)
			out.WriteByte(':')
		}
		out.Write(keep.project(value))
	}
	if open == json.Delim('{') {
		return []byte("{" + out.String() + "}")
	}
	return []byte("[" + out.String() + "]")
}
