package atlas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// shape says which keys a part of an atlas.json may have. The zero shape is a plain value.
type shape struct {
	fields map[string]shape // an object of these keys
	each   *shape           // an object of any keys, or a list, of such parts
}

func fileShape() shape {
	var leaf shape
	list := shape{each: &leaf}
	repo := shape{fields: map[string]shape{
		"url": leaf, "forge": leaf, "default_branch": leaf, "api_url": leaf,
		"trusted_authors_only": leaf, "trusted_authors": list, "mass_mentions": leaf, "closing_keywords": leaf,
	}}
	toolset := shape{fields: map[string]shape{"use": leaf, "command": list, "roots": list}}
	return shape{fields: map[string]shape{
		"fleet": leaf, "port": leaf, "repos": {each: &repo}, "env": list, "toolsets": {each: &toolset},
	}}
}

// keyFaults collects what encoding/json lets pass: its DisallowUnknownFields stops at the first,
// gives no path and takes "Port" for "port", of a key that is given twice the last one wins, and
// null counts as absent.
type keyFaults struct{ unknown, twice, null []string }

// checkKeys names every key that Fleet does not know, that is given twice, or that is null. The
// text must be valid JSON.
func checkKeys(raw []byte) error {
	var found keyFaults
	if err := found.scan(json.NewDecoder(bytes.NewReader(raw)), "", fileShape()); err != nil {
		return err
	}
	var faults []string
	for what, keys := range map[string][]string{"unknown keys": found.unknown, "keys given twice": found.twice, "null in": found.null} {
		if len(keys) > 0 {
			slices.Sort(keys)
			faults = append(faults, what+": "+strings.Join(keys, ", "))
		}
	}
	if faults == nil {
		return nil
	}
	slices.Sort(faults)
	return errors.New(strings.Join(faults, "; "))
}

// scan reads the next value of d, whose place in the file is path.
func (k *keyFaults) scan(d *json.Decoder, path string, s shape) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		return k.scanObject(d, path, s)
	case json.Delim('['):
		return k.scanList(d, path, s)
	case nil:
		k.null = append(k.null, path)
	}
	return nil
}

func (k *keyFaults) scanObject(d *json.Decoder, path string, s shape) error {
	if path != "" {
		path += "."
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string) // within an object, Token alternates between key and value
		if seen[key] {
			k.twice = append(k.twice, path+key)
		}
		seen[key] = true
		part, known := s.fields[key]
		if !known && s.each != nil {
			part, known = *s.each, true
		}
		if !known && s.fields != nil {
			k.unknown = append(k.unknown, path+key)
		}
		if err := k.scan(d, path+key, part); err != nil {
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
