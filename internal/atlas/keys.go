package atlas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Kinds of a JSON value, as people are told of them.
const (
	anObject = "an object"
	anArray  = "an array"
	aString  = "a string"
	aNumber  = "a number"
	aBoolean = "a boolean"
)

// shape says what a part of an atlas.json may be. The zero shape is any value.
type shape struct {
	kind   string
	right  string           // what the value must be, in words; "": kind says it
	fields map[string]shape // an object of these keys
	each   *shape           // an object of any keys, or an array, of such parts
}

func fileShape() shape {
	text := shape{kind: aString}
	texts := shape{kind: anArray, right: "an array of strings", each: &text}
	repo := shape{kind: anObject, right: "an object with url and forge", fields: map[string]shape{
		"url": text, "forge": oneOf(Forges()...), "default_branch": text, "api_url": text,
		"trusted_authors_only": {kind: aBoolean, right: "true or false"}, "trusted_authors": texts,
		"mass_mentions": oneOf(Refuse, Allow), "closing_keywords": oneOf(Refuse, Allow),
	}}
	toolset := shape{kind: anObject, right: "an object with use", fields: map[string]shape{"use": text, "command": texts, "roots": texts}}
	return shape{kind: anObject, fields: map[string]shape{
		// What these two hold is probe's to judge.
		"fleet": {}, "port": {},
		"repos":    {kind: anObject, right: "an object of repositories by name", each: &repo},
		"env":      texts,
		"toolsets": {kind: anArray, right: "an array of objects", each: &toolset},
	}}
}

func oneOf(values ...string) shape {
	return shape{kind: aString, right: "one of " + strings.Join(values, ", ")}
}

// keyFaults collects, with its path, all that encoding/json lets pass or stops at: its
// DisallowUnknownFields stops at the first, gives no path and takes "Port" for "port", of a key
// that is given twice the last one wins, null counts as absent, and of a value of another type it
// names Go's.
type keyFaults struct {
	unknown, twice []string
	wrong          []error
	at             map[string]bool // the paths of what is wrong or missing
}

// scanKeys looks through the text of an atlas.json, which must be valid JSON.
func scanKeys(raw []byte) (*keyFaults, error) {
	found := &keyFaults{at: map[string]bool{}}
	return found, found.scan(json.NewDecoder(bytes.NewReader(raw)), "", fileShape())
}

// add keeps a fault of the value at path.
func (k *keyFaults) add(path string, err error) {
	k.at[path] = true
	k.wrong = append(k.wrong, err)
}

// tells says that the value at path, or one that it is a part of, has a fault already, so that
// what was read of it says nothing.
func (k *keyFaults) tells(path string) bool {
	for i := range len(path) {
		if (path[i] == '.' || path[i] == '[') && k.at[path[:i]] {
			return true
		}
	}
	return k.at[path]
}

func (k *keyFaults) all() faults {
	var found faults
	for _, keys := range []struct {
		what  string
		paths []string
	}{{"keys given twice: ", k.twice}, {"unknown keys: ", k.unknown}} {
		if len(keys.paths) > 0 {
			slices.Sort(keys.paths)
			found = append(found, fmt.Errorf("%s%s", keys.what, some(keys.paths, ", ")))
		}
	}
	return append(found, k.wrong...)
}

// scan reads the next value of d, whose place in the file is path.
func (k *keyFaults) scan(d *json.Decoder, path string, s shape) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	if is := kindOf(token); s.kind != "" && is != s.kind {
		right := s.right
		if right == "" {
			right = s.kind
		}
		k.add(path, fmt.Errorf("%s must be %s, not %s", path, right, is))
		s = shape{}
	}
	switch token {
	case json.Delim('{'):
		return k.scanObject(d, path, s)
	case json.Delim('['):
		return k.scanList(d, path, s)
	}
	return nil
}

func kindOf(token json.Token) string {
	switch value := token.(type) {
	case json.Delim:
		if value == '{' {
			return anObject
		}
		return anArray
	case string:
		return aString
	case float64:
		return aNumber
	case bool:
		return aBoolean
	}
	return "null"
}

func (k *keyFaults) scanObject(d *json.Decoder, path string, s shape) error {
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string) // within an object, Token alternates between key and value
		at := pathTo(path, key)
		if seen[key] {
			k.twice = append(k.twice, at)
		}
		seen[key] = true
		part, known := s.fields[key]
		if !known && s.each != nil {
			part, known = *s.each, true
		}
		if !known && s.fields != nil {
			k.unknown = append(k.unknown, at)
		}
		if err := k.scan(d, at, part); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

func (k *keyFaults) scanList(d *json.Decoder, path string, s shape) error {
	var part shape
	if s.each != nil {
		part = *s.each
	}
	for i := 0; d.More(); i++ {
		if err := k.scan(d, fmt.Sprintf("%s[%d]", path, i), part); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// pathTo is the path of key in the object at path. One that has blanks, points or worse in it
// stands in quotation marks, so that a path names one value and stays in its line.
func pathTo(path, key string) string {
	odd := func(r rune) bool { return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	if key == "" || strings.ContainsFunc(key, odd) {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// some joins texts, and of a great many only counts the last.
func some(texts []string, sep string) string {
	const most = 50
	if len(texts) <= most {
		return strings.Join(texts, sep)
	}
	return fmt.Sprintf("%s%sand %d more", strings.Join(texts[:most], sep), sep, len(texts)-most)
}
