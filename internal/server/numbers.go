package server

import (
	"bytes"
	"strconv"
	"strings"
)

// integral says that a number of JSON's grammar is whole, as JSON Schema counts it: 7, 7.0 and
// 7e2 are, 7.5 is not. It reads the text, since a float would round and a big number could be
// made to have a billion digits.
func integral(number string) bool {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	fraction = strings.TrimRight(fraction, "0")
	if strings.Trim(whole+fraction, "-0") == "" {
		return true // zero, whatever its exponent
	}
	shift := 0
	if exponent != "" {
		var err error
		if shift, err = strconv.Atoi(exponent); err != nil {
			return !strings.HasPrefix(exponent, "-")
		}
	}
	if fraction != "" {
		return shift >= len(fraction)
	}
	return shift >= 0 || len(whole)-len(strings.TrimRight(whole, "0")) >= -shift
}

// loneSurrogate finds a \u escape that names half of a UTF-16 pair. It is legal JSON, but no
// text: encoding/json would silently put U+FFFD in its place. raw must be valid JSON.
func loneSurrogate(raw []byte) bool {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 || i+1 >= len(raw) {
			return false
		}
		if raw[i+1] != 'u' {
			raw = raw[i+2:]
			continue
		}
		unit := escaped(raw[i:])
		raw = raw[i+6:]
		switch {
		case unit>>10 == 0xdc00>>10:
			return true
		case unit>>10 != 0xd800>>10:
			continue
		}
		if low := escaped(raw); low>>10 != 0xdc00>>10 {
			return true
		}
		raw = raw[6:]
	}
}

// escaped reads the \uXXXX that raw starts with, or gives 0.
func escaped(raw []byte) uint64 {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0
	}
	unit, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	if err != nil {
		return 0
	}
	return unit
}
