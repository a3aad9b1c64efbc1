package bridge

import (
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CleanText removes from s what a reader can't see and a model can: zero-width, tag, filler and
// bidirectional control characters, and controls other than tab and the ends of lines. What makes
// an emoji stays: a joiner between two pictures, one variation selector after a character. Nothing
// else changes, except that invalid UTF-8 becomes U+FFFD.
//
// See https://www.unicode.org/reports/tr36/ and https://trojansource.codes.
func CleanText(s string) string {
	if plainASCII(s) {
		return s
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	var b strings.Builder
	b.Grow(len(s))
	var last, picture rune // the last character kept; the last one that was no modifier
	for i, r := range s {
		if !keeps(r, last, picture, s[i:]) {
			continue
		}
		b.WriteRune(r)
		last = r
		if !isSelector(r) && !isSkinTone(r) {
			picture = r
		}
	}
	return b.String()
}

func plainASCII(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || c == 0x7F || c < ' ' && c != '\n' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

// keeps decides on r, which begins rest and follows last.
func keeps(r, last, picture rune, rest string) bool {
	switch {
	case r == 0x200D: // joins pictures, as in a family
		next, _ := utf8.DecodeRuneInString(rest[utf8.RuneLen(r):])
		return last != 0x200D && isPicture(picture) && isPicture(next)
	case r >= 0xFE00 && r <= 0xFE0F:
		// A run of them after one character carries hidden bytes.
		return last > ' ' && last != 0x200D && !isSelector(last)
	case r >= 0xE0100 && r <= 0xE01EF: // chooses among the shapes of a Han character
		return unicode.Is(unicode.Han, last)
	}
	return !invisible(r)
}

// invisible says that r leaves no mark of its own, and is no space.
func invisible(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return false
	case unicode.IsControl(r):
		return true
	case r >= 0xE0000 && r <= 0xE0FFF: // tags, and what is reserved beside them
		return true
	case r == 0x034F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x3164, r == 0xFFA0,
		r >= 0x180B && r <= 0x180F, r >= 0x1D173 && r <= 0x1D17A, r >= 0xFFF0 && r <= 0xFFF8, r == 0x2065:
		return true // fillers, and what the standard sets aside as ignorable
	case prepended(r):
		return false
	}
	return unicode.Is(unicode.Cf, r) // format characters: zero-width, bidirectional, soft hyphen …
}

// prepended says that r, though a format character, is drawn: a number sign of Arabic, Syriac or
// Kaithi.
func prepended(r rune) bool { return unicode.Is(unicode.Prepended_Concatenation_Mark, r) }

func isSelector(r rune) bool { return r >= 0xFE00 && r <= 0xFE0F || r >= 0xE0100 && r <= 0xE01EF }

func isSkinTone(r rune) bool { return r >= 0x1F3FB && r <= 0x1F3FF }

// isPicture says that r may be part of a joined emoji.
func isPicture(r rune) bool {
	return r >= 0x1F000 && r <= 0x1FAFF || r >= 0x2190 && r <= 0x2BFF && unicode.Is(unicode.So, r) ||
		r == 0x2194 || r == 0x2195 || r == 0x27A1 || isSkinTone(r)
}

// cleanAll cleans every text in what a provider answered, in place. Cursors are the provider's own
// business.
func cleanAll(v reflect.Value) {
	eachText(v, func(text string) string {
		if plainASCII(text) {
			return text
		}
		return CleanText(text)
	})
}

// eachText puts another text into the place of each that v holds, but for cursors.
func eachText(v reflect.Value, change func(string) string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			eachText(v.Elem(), change)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "NextCursor" {
				eachText(v.Field(i), change)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachText(v.Index(i), change)
		}
	case reflect.String:
		if v.CanSet() {
			if text := v.String(); text != "" {
				if changed := change(text); changed != text {
					v.SetString(changed)
				}
			}
		}
	}
}
